// SPDX-License-Identifier: MIT OR Apache-2.0
// Carriers: threads that stand for virtual CPUs. Each is bound to a CPU and runs its share of the reader fibers.
//
// One iteration of a fiber: begin a section, read the record, yield inside the section, read it again, end the
// section.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "blocked/exchange.h"

namespace lab::blocked
{

// Published by a pointer.  Every word holds the same number, and is overwritten after the grace period that retires the
// record.
struct Record {
    std::atomic<uint64_t> words[8];

    explicit Record(uint64_t generation)
    {
        for (auto &word : words)
            word.store(generation, std::memory_order_relaxed);
    }
    void poison()
    {
        for (auto &word : words)
            word.store(poisoned, std::memory_order_relaxed);
    }
    bool holds(uint64_t generation) const
    {
        bool all = generation != poisoned;
        for (const auto &word : words)
            all &= word.load(std::memory_order_relaxed) == generation;
        return all;
    }
    static constexpr uint64_t poisoned = ~uint64_t{0};
};

class Carriers
{
  public:
    explicit Carriers(const RunRequest &request);
    ~Carriers();
    Carriers(const Carriers &) = delete;
    Carriers &operator=(const Carriers &) = delete;

    void stop(); // stops the threads and joins them
    uint64_t iterations() const;
    uint64_t errors() const
    {
        return errors_.load();
    }
    // Replaces the record, and returns the old record, which the caller then owns.
    Record *replace(uint64_t generation)
    {
        return current_.exchange(new Record(generation), std::memory_order_acq_rel);
    }

  private:
    struct alignas(64) Count {
        std::atomic<uint64_t> iterations{0}; // written by its carrier
    };
    void carry(const RunRequest &request, unsigned carrier);
    void read_inside(Count &count);
    void only_yield(Count &count);

    std::atomic<bool> stop_{false};
    std::atomic<Record *> current_;
    std::atomic<uint64_t> errors_{0};
    std::atomic<unsigned> ready_{0};
    std::vector<Count> counts_;
    std::vector<std::thread> threads_;
};

} // namespace lab::blocked
