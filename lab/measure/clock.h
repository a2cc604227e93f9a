// SPDX-License-Identifier: MIT OR Apache-2.0
// Clocks of the lab: nanoseconds of the monotonic clock, thread CPU time, and a cycle counter for stamps that must be
// cheap.
#pragma once

#include <time.h>

#include <cstdint>

namespace lab
{

inline int64_t clock_ns(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

inline int64_t now_ns()
{
    return clock_ns(CLOCK_MONOTONIC);
}

inline int64_t thread_cpu_ns()
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

inline int64_t process_cpu_ns()
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

// Returns a counter of constant rate.  The CPU may read it a little early or late, so it must not order events.
inline uint64_t cycles_now()
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return static_cast<uint64_t>(now_ns());
#endif
}

// Returns the cycles per nanosecond, found once by reading both clocks for two milliseconds.
double cycles_per_ns();

inline timespec to_timespec(int64_t ns)
{
    return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

// Sleeps for `ns`.  For threads that accompany a measurement and for parents of child processes; not a means of
// synchronisation.
inline void pause_ns(int64_t ns)
{
    timespec duration = to_timespec(ns);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
}

} // namespace lab
