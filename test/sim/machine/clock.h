// SPDX-License-Identifier: MIT OR Apache-2.0
// Vector clocks: which steps of the other threads happened before a simulated thread's current one.
#pragma once

#include <array>
#include <cstdint>

namespace sim
{

constexpr int kMaxThreads = 8;
constexpr int kNoThread = kMaxThreads; // the setup, which is no thread

struct Clock {
    std::array<uint16_t, kNoThread + 1> at{};

    void join(const Clock &other)
    {
        for (int i = 0; i <= kNoThread; i++)
            at[i] = at[i] < other.at[i] ? other.at[i] : at[i];
    }

    bool covers(int thread, uint16_t time) const
    {
        return at[thread] >= time;
    }
};

} // namespace sim
