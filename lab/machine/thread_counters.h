// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernel's counts for one thread: CPU time, stolen time, waiting for a CPU, context switches, page faults.
#pragma once

#include <cstdint>

namespace lab
{

// Totals of a thread at one moment.
struct ThreadCounts {
    int64_t at_ns = 0;       // CLOCK_MONOTONIC
    int64_t cpu_ns = 0;      // CPU time as the scheduler counts it, without time that the host stole
    int64_t occupied_ns = 0; // perf's task-clock: time on a CPU, with time that the host stole
    int64_t waited_ns = 0;   // time in which the thread was runnable but did not run
    uint64_t faults = 0, major_faults = 0;
    uint64_t voluntary = 0, involuntary = 0; // switches
};

// The counters of the thread that creates the object; only that thread may read them.
class ThreadCounters
{
  public:
    ThreadCounters();
    ~ThreadCounters();
    ThreadCounters(const ThreadCounters &) = delete;
    ThreadCounters &operator=(const ThreadCounters &) = delete;

    // If has_task_clock() is false, occupied_ns equals cpu_ns; if has_waiting() is false, waited_ns is 0.
    bool has_task_clock() const
    {
        return task_clock_ >= 0;
    }
    bool has_waiting() const
    {
        return schedstat_ >= 0;
    }
    // Makes four system calls, together about 2 µs.
    ThreadCounts read() const;

  private:
    int task_clock_, schedstat_;
};

// Returns the median time in nanoseconds of a page fault without I/O, the first write to a new page.
int64_t minor_fault_ns();

} // namespace lab
