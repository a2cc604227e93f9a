// SPDX-License-Identifier: MIT OR Apache-2.0
// CPU time of this process's threads, one by one: those that a library makes have no other name.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <vector>

namespace lab
{

// The threads that the process has now, without those that are named.
std::vector<pid_t> threads_but(const std::vector<pid_t> &left_out);

// CPU time of a thread of this process so far; 0 where it has ended.  Exact also while it runs on another CPU, unlike
// the clock of the process, which lags by up to a tick for each such thread.
int64_t thread_cpu_ns_of(pid_t thread);

} // namespace lab
