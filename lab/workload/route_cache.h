// SPDX-License-Identifier: MIT OR Apache-2.0
// A route cache: recently used destinations in hash chains. A miss adds an entry from a static table; garbage
// collection
// removes old entries.
//
// The template parameter Sync synchronizes readers and updaters, so that the same cache runs under RCU and under locks:
//     void read_lock(bucket), read_unlock(bucket)      around a lookup in one chain
//     void update_lock(bucket), update_unlock(bucket)  around a change of one chain; not nested with the former
//     void retire(RouteEntry *)                        the entry is unlinked; called under the update lock
//     void visits(RouteEntry *)                        optional: the walk of a lookup has reached the entry
//     void hold(RouteEntry *), release(RouteEntry *)   optional: a packet's reference, from inside the lookup's section
//                                                      until the packet is sent
#pragma once

#include <rtrcu/rcu.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "peer/peer.h"
#include "workload/prefixes.h"

namespace lab
{

struct RouteEntry {
    union {
        RetiredHead head;    // retire() queues the entry by this head
        uint64_t references; // references of packets, if the Sync counts them
    };
    RouteEntry *next; // written under the update lock, read by all
    uint32_t destination;
    uint32_t network; // constant after publication, as all fields except last_used
    uint16_t next_hop;
    uint8_t prefix_length;
    uint32_t last_used; // a hint for the collector; any reader writes it by relaxed stores
};

struct RouteStatistics {
    uint64_t hits = 0, misses = 0, unroutable = 0, expired = 0;
};

template <class Sync>
concept CountsReferences = requires(Sync sync, RouteEntry *entry)
{
    sync.hold(entry);
    sync.release(entry);
};

template <class Sync> class RouteCache
{
  public:
    RouteCache(const PrefixTable &table, std::size_t buckets, std::size_t gc_threshold, Sync &sync)
        : table_(table), chains_(std::bit_ceil(buckets), nullptr), gc_threshold_(gc_threshold), sync_(sync)
    {
    }
    // Frees all linked entries.  The caller must ensure that no thread reads the cache any more.
    ~RouteCache()
    {
        for (RouteEntry *entry : chains_) {
            while (entry != nullptr) {
                RouteEntry *next = entry->next;
                std::free(entry);
                entry = next;
            }
        }
    }
    RouteCache(const RouteCache &) = delete;
    RouteCache &operator=(const RouteCache &) = delete;

    // Returns the next hop for a destination, or -1 if no prefix contains it.  `now` is any growing number in the
    // caller's unit; entries age by it.  `statistics` belong to the calling thread.
    int route(uint32_t destination, uint32_t now, RouteStatistics &statistics)
    {
        const std::size_t bucket = bucket_of(destination);
        sync_.read_lock(bucket);
        int next_hop = -1;
        [[maybe_unused]] RouteEntry *held = nullptr;
        for (RouteEntry *entry = rcu_dereference(chains_[bucket]); entry != nullptr;
             entry = rcu_dereference(entry->next)) {
            if constexpr (requires { sync_.visits(entry); })
                sync_.visits(entry);
            if (entry->destination == destination) {
                if (rtrcu_load_relaxed(&entry->last_used) != now)
                    rtrcu_store_relaxed(&entry->last_used, now);
                next_hop = entry->next_hop;
                if constexpr (CountsReferences<Sync>)
                    sync_.hold(held = entry);
                break;
            }
        }
        sync_.read_unlock(bucket);
        if constexpr (CountsReferences<Sync>)
            if (held != nullptr)
                sync_.release(held);
        if (next_hop >= 0) {
            statistics.hits++;
            return next_hop;
        }
        return miss(bucket, destination, now, statistics);
    }

    // Removes entries that were not used for a while, from at most `chains` chains.  Returns the number removed.
    std::size_t collect(std::size_t chains, uint32_t now)
    {
        std::size_t removed = 0;
        const uint32_t oldest = max_age_.load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < chains; i++) {
            std::size_t bucket = rover_.fetch_add(1, std::memory_order_relaxed) & (chains_.size() - 1);
            removed += collect_chain(bucket, now, oldest);
        }
        // Lower the age at which entries are removed while the cache is above the threshold, and raise the age while
        // the cache is well below the threshold.
        if (size() > gc_threshold_ && removed < chains && oldest > 1)
            max_age_.store(oldest - (oldest + 15) / 16, std::memory_order_relaxed);
        else if (size() < gc_threshold_ - gc_threshold_ / 8 && oldest < longest_age)
            max_age_.store(oldest + oldest / 16 + 1, std::memory_order_relaxed);
        return removed;
    }

    // Removes the entry of one destination.  Returns false if there is none.
    bool remove(uint32_t destination)
    {
        const std::size_t bucket = bucket_of(destination);
        sync_.update_lock(bucket);
        RouteEntry **slot = &chains_[bucket];
        while (*slot != nullptr && (*slot)->destination != destination)
            slot = &(*slot)->next;
        RouteEntry *entry = *slot;
        if (entry != nullptr) {
            rcu_assign_pointer(*slot, entry->next);
            sync_.retire(entry);
            size_.fetch_sub(1, std::memory_order_relaxed);
        }
        sync_.update_unlock(bucket);
        return entry != nullptr;
    }

    // Reads every entry.  `reader` is the calling thread's Sync, which may differ from the Sync of the packets.
    template <class ReaderSync> uint64_t dump(const std::atomic<bool> &stop, ReaderSync &reader)
    {
        uint64_t sum = 0;
        for (std::size_t bucket = 0; bucket < chains_.size() && !stop.load(std::memory_order_relaxed); bucket++) {
            reader.read_lock(bucket);
            for (RouteEntry *entry = rcu_dereference(chains_[bucket]); entry != nullptr;
                 entry = rcu_dereference(entry->next))
                sum += entry->next_hop;
            reader.read_unlock(bucket);
        }
        return sum;
    }
    std::size_t size() const
    {
        return static_cast<std::size_t>(size_.load(std::memory_order_relaxed));
    }

  private:
    static constexpr uint32_t longest_age = 1u << 24;
    static constexpr std::size_t chains_a_miss = 4;

    std::size_t bucket_of(uint32_t destination) const
    {
        return (destination * uint64_t{0x9e3779b97f4a7c15} >> 40) & (chains_.size() - 1);
    }

    // Adds an entry for the destination, and collects garbage if the cache is too large.  A function of its own, so
    // that profiles distinguish it from the lookup.
    [[gnu::noinline]] int miss(std::size_t bucket, uint32_t destination, uint32_t now, RouteStatistics &statistics)
    {
        const Prefix *prefix = table_.find(destination);
        if (prefix == nullptr) {
            statistics.unroutable++;
            return -1;
        }
        statistics.misses++;
        insert(bucket, destination, *prefix, now);
        if (size() > gc_threshold_)
            statistics.expired += collect(chains_a_miss, now);
        return prefix->next_hop;
    }

    void insert(std::size_t bucket, uint32_t destination, const Prefix &prefix, uint32_t now)
    {
        void *memory = std::malloc(sizeof(RouteEntry));
        if (memory == nullptr)
            throw std::bad_alloc();
        auto *entry =
            new (memory) RouteEntry{{}, nullptr, destination, prefix.address, prefix.next_hop, prefix.length, now};
        sync_.update_lock(bucket);
        // another thread may have added the entry first
        bool present = false;
        for (RouteEntry *other = chains_[bucket]; other != nullptr && !present; other = other->next)
            present = other->destination == destination;
        if (!present) {
            entry->next = chains_[bucket];
            rcu_assign_pointer(chains_[bucket], entry);
        }
        sync_.update_unlock(bucket);
        if (present)
            std::free(entry);
        else
            size_.fetch_add(1, std::memory_order_relaxed);
    }

    std::size_t collect_chain(std::size_t bucket, uint32_t now, uint32_t oldest)
    {
        std::size_t removed = 0;
        sync_.update_lock(bucket);
        for (RouteEntry **slot = &chains_[bucket]; *slot != nullptr;) {
            RouteEntry *entry = *slot;
            // The age is negative if the clock of the thread that last used the entry is slightly ahead.
            const auto age = static_cast<int32_t>(now - rtrcu_load_relaxed(&entry->last_used));
            if (age <= static_cast<int32_t>(oldest)) {
                slot = &entry->next;
                continue;
            }
            rcu_assign_pointer(*slot, entry->next);
            sync_.retire(entry);
            removed++;
        }
        sync_.update_unlock(bucket);
        size_.fetch_sub(static_cast<int64_t>(removed), std::memory_order_relaxed);
        return removed;
    }

    const PrefixTable &table_;
    std::vector<RouteEntry *> chains_;
    const std::size_t gc_threshold_;
    Sync &sync_;
    std::atomic<int64_t> size_{0};
    std::atomic<uint32_t> max_age_{longest_age};
    std::atomic<std::size_t> rover_{0};
};

} // namespace lab
