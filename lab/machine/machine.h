// SPDX-License-Identifier: MIT OR Apache-2.0
// Facts about the machine: CPUs, kernel, permissions, and the noise of its timers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab
{

struct Machine {
    std::string cpu_model;
    std::string architecture;
    std::string kernel;
    bool preempt_rt = false;
    std::string hypervisor; // "none" if the CPU names none
    std::string clock_source;
    std::vector<int> cpus_allowed;
    int64_t memory_mb = 0;
    bool membarrier_expedited = false;
    bool rseq = false;
    bool realtime_permitted = false;
    std::string realtime_limits; // the kernel's settings of real-time throttling
    int64_t clock_resolution_ns = 0;
    int64_t clock_read_ns = 0;
    int64_t thread_cpu_read_ns = 0;
};

Machine read_machine();

// Returns true on a PREEMPT_RT kernel, judged by the text of /sys/kernel/realtime, which older kernels have, and by the
// version from uname(2).
bool is_preempt_rt(const std::string &realtime_file, const std::string &version);

// Measures the lateness of sleeps to absolute times, in nanoseconds: the floor of all latencies on this machine.  Runs
// on `cpu` for `seconds`; as SCHED_FIFO if requested and permitted.
std::vector<uint64_t> timer_floor(int cpu, double seconds, int64_t period_ns, int fifo_priority);

// Measures the time that a timer interrupt takes from a running thread, in nanoseconds: the gaps that a spinning thread
// on `cpu` sees.  The kernel adds this time to the thread's CPU time.
std::vector<uint64_t> interrupt_cost(int cpu, double seconds, int fifo_priority);

} // namespace lab
