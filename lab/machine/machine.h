// SPDX-License-Identifier: MIT OR Apache-2.0
// What can be known of the machine: CPUs, kernel, what it permits, and how noisy its timers are.
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
    std::string hypervisor; // "none" where the CPU says nothing
    std::string clock_source;
    std::vector<int> cpus_allowed;
    int64_t memory_mb = 0;
    bool membarrier_expedited = false;
    bool rseq = false;
    bool realtime_permitted = false;
    std::string realtime_limits; // throttling, as the kernel states it
    int64_t clock_resolution_ns = 0;
    int64_t clock_read_ns = 0;
    int64_t thread_cpu_read_ns = 0;
};

Machine read_machine();

// Is it a PREEMPT_RT kernel?  By the text of /sys/kernel/realtime, which older ones have, and the version of uname(2).
bool is_preempt_rt(const std::string &realtime_file, const std::string &version);

// Lateness of a sleep to an absolute time, in nanoseconds: the floor under every latency measured on this machine.
// Runs on `cpu` for `seconds`; as SCHED_FIFO where permitted and asked for.
std::vector<uint64_t> timer_floor(int cpu, double seconds, int64_t period_ns, int fifo_priority);

// What a timer interrupt takes from a thread that runs, nanoseconds: gaps in the time of a spinning thread on `cpu`.
// The kernel adds it to that thread's CPU time.
std::vector<uint64_t> interrupt_cost(int cpu, double seconds, int fifo_priority);

} // namespace lab
