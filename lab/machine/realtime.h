// SPDX-License-Identifier: MIT OR Apache-2.0
// Scheduling of the lab's own threads: CPUs, SCHED_FIFO at low priorities, and the limits that keep a mistake from
// taking the machine away.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace lab
{

constexpr int loop_priority = 10;         // the event loop
constexpr int thread_probe_priority = 20; // the control beside it

std::vector<int> cpus_allowed();
// A thread by its kernel number, the caller if 0.  Nothing changes where there are no CPUs, or the kernel refuses.
void pin_to_cpus(const std::vector<int> &cpus, pid_t thread = 0);

// May this process use SCHED_FIFO?  Tried on a thread of its own; leaves nothing behind.
bool realtime_permitted();
// Why not, and what to do, in one sentence.
std::string realtime_refusal();

// The calling thread's class.  enter_fifo() says whether the kernel agreed.
bool enter_fifo(int priority);
void enter_other();
void enter_idle();
// Another thread, from SCHED_IDLE to the lowest real-time priority, or to SCHED_OTHER where that is refused.
void raise_above_idle(pthread_t thread);

// A real-time thread of this process that runs for `ms` without once sleeping is killed by the kernel.
void limit_realtime_ms(int ms);

} // namespace lab
