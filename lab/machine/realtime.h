// SPDX-License-Identifier: MIT OR Apache-2.0
// Scheduling of the lab's own threads: CPUs, SCHED_FIFO at low priorities, and limits, so that a mistake does not block
// the machine.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace lab
{

constexpr int loop_priority = 10;         // the event loop
constexpr int thread_probe_priority = 20; // ThreadProbe, which runs beside the event loop

std::vector<int> cpus_allowed();
// Binds a thread to `cpus`.  `thread`: its kernel id; 0: the caller.  Does nothing if `cpus` is empty or the kernel
// refuses.
void pin_to_cpus(const std::vector<int> &cpus, pid_t thread = 0);

// Returns true if this process may use SCHED_FIFO.  Tests this in a temporary thread, so the caller's class stays.
bool realtime_permitted();
// Returns the reason why this process may not use SCHED_FIFO, with advice, in one sentence.
std::string realtime_refusal();

// Set the scheduling class of the calling thread.  enter_fifo() returns false if the kernel refuses.
bool enter_fifo(int priority);
void enter_other();
void enter_idle();
// Moves another thread from SCHED_IDLE to the lowest real-time priority, or to SCHED_OTHER if that is refused.
void raise_above_idle(pthread_t thread);

// The kernel kills this process if one of its real-time threads runs for `ms` without sleeping.
void limit_realtime_ms(int ms);

} // namespace lab
