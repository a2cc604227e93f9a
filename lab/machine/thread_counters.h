// SPDX-License-Identifier: MIT OR Apache-2.0
// What the kernel counts of one thread: CPU time, stolen time, waiting for a CPU, switches, page faults.
#pragma once

#include <cstdint>

namespace lab
{

// Totals of a thread at one moment.
struct ThreadCounts {
    int64_t at_ns = 0;       // CLOCK_MONOTONIC
    int64_t cpu_ns = 0;      // CPU time as the scheduler has it, without what the host took
    int64_t occupied_ns = 0; // perf's task-clock: time on a CPU, with what the host took meanwhile
    int64_t waited_ns = 0;   // runnable without running
    uint64_t faults = 0, major_faults = 0;
    uint64_t voluntary = 0, involuntary = 0; // switches
};

// Of the thread that makes it, which alone may read.
class ThreadCounters
{
  public:
    ThreadCounters();
    ~ThreadCounters();
    ThreadCounters(const ThreadCounters &) = delete;
    ThreadCounters &operator=(const ThreadCounters &) = delete;

    // Without them occupied_ns equals cpu_ns, and waited_ns is 0.
    bool has_task_clock() const
    {
        return task_clock_ >= 0;
    }
    bool has_waiting() const
    {
        return schedstat_ >= 0;
    }
    // Four system calls, together about 2 µs.
    ThreadCounts read() const;

  private:
    int task_clock_, schedstat_;
};

// Median time of a page fault that needs no I/O, nanoseconds: first writes to fresh pages.
int64_t minor_fault_ns();

} // namespace lab
