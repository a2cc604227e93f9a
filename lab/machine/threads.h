// SPDX-License-Identifier: MIT OR Apache-2.0
// The CPU time of single threads of this process, by their kernel ids: a library's threads have no other handle; and of
// the whole machine.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <vector>

namespace lab
{

// Returns the threads that the process has now, except those listed.
std::vector<pid_t> threads_but(const std::vector<pid_t> &left_out);

// Returns the CPU time so far of a thread of this process; 0 if it has ended.  Exact even while the thread runs on
// another CPU, unlike the process's clock, which can lag by a tick for each such thread.
int64_t thread_cpu_ns_of(pid_t thread);

// Returns the total time since boot in which the machine's CPUs were busy or stolen, as the kernel's ticks count; 0 if
// that is not known.
int64_t machine_busy_ns();

} // namespace lab
