// SPDX-License-Identifier: MIT OR Apache-2.0
// The times at which callbacks began on threads other than the loop, for the timeline of a round.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lab
{

// A log of stamps of cycles_now(), in any order.  Any thread can add stamps; only one thread reads and empties the log.
class StampLog
{
  public:
    static constexpr std::size_t capacity = std::size_t{1} << 17;

    void note(uint64_t cycles)
    {
        const std::size_t at = noted_.fetch_add(1, std::memory_order_relaxed);
        if (at < capacity)
            stamps_[at].store(cycles, std::memory_order_relaxed);
    }
    void clear()
    {
        noted_.store(0, std::memory_order_relaxed);
    }
    // Returns true if stamps were dropped.
    bool overflowed() const
    {
        return noted_.load(std::memory_order_relaxed) > capacity;
    }
    std::size_t count() const
    {
        return overflowed() ? capacity : noted_.load(std::memory_order_relaxed);
    }
    // A stamp that another thread is adding now may still have its previous value.
    uint64_t operator[](std::size_t at) const
    {
        return stamps_[at].load(std::memory_order_relaxed);
    }

  private:
    std::atomic<std::size_t> noted_{0};
    std::array<std::atomic<uint64_t>, capacity> stamps_{};
};

} // namespace lab
