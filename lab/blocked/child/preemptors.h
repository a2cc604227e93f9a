// SPDX-License-Identifier: MIT OR Apache-2.0
// Preemptors: SCHED_FIFO threads that take the CPUs away from the carriers in bounded bursts.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "blocked/exchange.h"

namespace lab::blocked
{

constexpr int preemptor_priority = 5;

class Preemptors
{
  public:
    // Starts threads, bound to the CPUs in turn, that sleep until switch_on().  Throws if SCHED_FIFO is refused.
    explicit Preemptors(const RunRequest &request);
    ~Preemptors(); // stops the threads and joins them
    Preemptors(const Preemptors &) = delete;
    Preemptors &operator=(const Preemptors &) = delete;

    void switch_on(bool on)
    {
        on_ = on;
    }
    // CPU time of all preemptors together.
    double cpu_s() const
    {
        return static_cast<double>(busy_ns_.load()) / 1e9;
    }

  private:
    void preempt(const RunRequest &request, unsigned index);

    std::atomic<bool> stop_{false}, on_{false}, refused_{false};
    std::atomic<unsigned> ready_{0};
    std::atomic<int64_t> busy_ns_{0};
    std::vector<std::thread> threads_;
};

} // namespace lab::blocked
