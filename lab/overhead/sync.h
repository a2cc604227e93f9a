// SPDX-License-Identifier: MIT OR Apache-2.0
// How the readers and the updaters of the route cache keep out of each other's way: four answers, as the cache's Sync.
#pragma once

#include <rtrcu/rcu.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "overhead/spin_lock.h"
#include "workload/route_cache.h"

namespace lab::overhead
{

// base, as in Linux 2.5.3: a reader-writer lock for each chain, and a reference count in each entry, which a packet
// holds while it uses the entry after the lookup.
class CountedChainSync
{
  public:
    explicit CountedChainSync(std::size_t buckets) : locks_(buckets)
    {
    }
    void read_lock(std::size_t bucket)
    {
        locks_[bucket].read_lock();
    }
    void read_unlock(std::size_t bucket)
    {
        locks_[bucket].read_unlock();
    }
    void update_lock(std::size_t bucket)
    {
        locks_[bucket].write_lock();
    }
    void update_unlock(std::size_t bucket)
    {
        locks_[bucket].write_unlock();
    }
    // Under the lookup's read lock, so the chain's own reference is still there.
    void hold(RouteEntry *entry)
    {
        std::atomic_ref(entry->references).fetch_add(1, std::memory_order_relaxed);
    }
    // The count is one less than the references: the last one finds 0.
    void release(RouteEntry *entry)
    {
        if (std::atomic_ref(entry->references).fetch_sub(1, std::memory_order_acq_rel) == 0)
            std::free(entry);
    }
    // The chain's own reference.
    void retire(RouteEntry *entry)
    {
        release(entry);
    }

  private:
    std::vector<ReadWriteLock> locks_;
};

// base, cruder: one reader-writer lock around everything.
class OneLockSync
{
  public:
    explicit OneLockSync(std::size_t)
    {
    }
    void read_lock(std::size_t)
    {
        lock_.read_lock();
    }
    void read_unlock(std::size_t)
    {
        lock_.read_unlock();
    }
    void update_lock(std::size_t)
    {
        lock_.write_lock();
    }
    void update_unlock(std::size_t)
    {
        lock_.write_unlock();
    }
    // No thread reads while we hold the lock, and later readers cannot find it.
    void retire(RouteEntry *entry)
    {
        std::free(entry);
    }

  private:
    ReadWriteLock lock_;
};

// base, finer: a spinning lock for each chain, which readers take too, and no count.
class ChainLockSync
{
  public:
    explicit ChainLockSync(std::size_t buckets) : locks_(buckets)
    {
    }
    void read_lock(std::size_t bucket)
    {
        locks_[bucket].lock();
    }
    void read_unlock(std::size_t bucket)
    {
        locks_[bucket].unlock();
    }
    void update_lock(std::size_t bucket)
    {
        locks_[bucket].lock();
    }
    void update_unlock(std::size_t bucket)
    {
        locks_[bucket].unlock();
    }
    void retire(RouteEntry *entry)
    {
        std::free(entry);
    }

  private:
    std::vector<SpinLock> locks_;
};

// The engines: readers are quiescent-state threads and take nothing; updaters lock the chain.
class RcuSync
{
  public:
    using Retire = void (*)(RetiredHead *);
    RcuSync(std::size_t buckets, Retire retire_entry) : locks_(buckets), retire_entry_(retire_entry)
    {
    }
    void read_lock(std::size_t)
    {
        rcu_read_lock_qs();
    }
    void read_unlock(std::size_t)
    {
        rcu_read_unlock_qs();
    }
    void update_lock(std::size_t bucket)
    {
        locks_[bucket].lock();
    }
    void update_unlock(std::size_t bucket)
    {
        locks_[bucket].unlock();
    }
    void retire(RouteEntry *entry)
    {
        retire_entry_(&entry->head);
    }

  private:
    std::vector<SpinLock> locks_;
    const Retire retire_entry_;
};

} // namespace lab::overhead
