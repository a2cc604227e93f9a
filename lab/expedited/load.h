// SPDX-License-Identifier: MIT OR Apache-2.0
// The load of the expedited experiment: CPU hogs, readers that check the record that they read, and that record.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "peer/peer.h"

namespace lab::expedited
{

// A record that is published by pointer; every word holds the same generation number.  Once retired it is overwritten,
// so a reader that still sees it after the grace period finds words that differ.
struct Settings {
    std::array<std::atomic<uint64_t>, 32> words;

    explicit Settings(uint64_t generation)
    {
        for (auto &word : words)
            word.store(generation, std::memory_order_relaxed);
    }
    void poison()
    {
        for (std::size_t i = 0; i < words.size(); i++)
            words[i].store(~uint64_t{i}, std::memory_order_relaxed);
    }
    // Reads all words `passes` times.  Returns false if they are not all equal.
    bool is_whole(unsigned passes) const
    {
        const uint64_t generation = words[0].load(std::memory_order_relaxed);
        bool whole = true;
        for (unsigned pass = 0; pass < passes; pass++)
            for (const auto &word : words)
                whole &= word.load(std::memory_order_relaxed) == generation;
        return whole;
    }
};

struct ReaderShape {
    unsigned passes_inside = 40; // about 0.5 us
    unsigned passes_outside = 0; // passes over a private record, outside sections
};

class Load
{
  public:
    // Hogs are bound to CPUs, `hogs_a_cpu` on each; the kernel places the readers.  All threads are SCHED_OTHER.
    Load(const Peer &peer, const std::vector<int> &cpus, unsigned hogs_a_cpu, unsigned readers, ReaderShape shape);
    ~Load(); // stops the threads and joins them
    Load(const Load &) = delete;
    Load &operator=(const Load &) = delete;

    void stop()
    {
        stop_ = true;
    }
    // Replaces the record and returns the old record, which the caller overwrites and frees after a grace period.
    Settings *replace(uint64_t generation)
    {
        return current_.exchange(new Settings(generation), std::memory_order_acq_rel);
    }
    // Keeps an old record until the readers have exited; for a caller that waits for no grace period.
    void keep(Settings *old)
    {
        kept_.emplace_back(old);
    }
    uint64_t sections() const;
    // Counts reads of a record after the grace period that followed its removal.
    uint64_t errors() const
    {
        return errors_.load();
    }

  private:
    struct alignas(64) Count {
        std::atomic<uint64_t> sections{0}; // written by one reader only
    };
    void begin();
    void read(const Peer &peer, ReaderShape shape, Count &count);

    std::atomic<bool> stop_{false};
    std::atomic<Settings *> current_;
    std::atomic<uint64_t> errors_{0};
    std::atomic<unsigned> ready_{0};
    std::atomic<bool> go_{false};
    std::vector<Count> counts_;
    std::vector<std::unique_ptr<Settings>> kept_;
    std::vector<std::thread> threads_;
};

} // namespace lab::expedited
