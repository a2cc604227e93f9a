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

// Returns true for a PREEMPT_RT kernel.  `realtime_file`: the text of /sys/kernel/realtime, which only older kernels
// have; `version`: the version string of uname(2).
bool is_preempt_rt(const std::string &realtime_file, const std::string &version);

// Measures how late sleeps to absolute times end, in nanoseconds: the floor of all latencies here.  Runs on
// `cpu` for `seconds`, as SCHED_FIFO if `fifo_priority` is not 0 and the kernel permits it.
std::vector<uint64_t> timer_floor(int cpu, double seconds, int64_t period_ns, int fifo_priority);

// Measures how long timer interrupts keep a running thread from its code, in nanoseconds.  A thread that spins on `cpu`
// measures the gaps in its own time.  The kernel counts these gaps as CPU time of the thread.
std::vector<uint64_t> interrupt_cost(int cpu, double seconds, int fifo_priority);

} // namespace lab
