/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Clocks, and sleeping by one.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <time.h>

#include "plat/plat.h"
#include "plat/syscall.h"

static int64_t clock_read(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t plat_clock_now(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

int64_t plat_clock_thread_cpu(void)
{
    return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

void plat_clock_sleep(int64_t ns)
{
    struct timespec rest = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    plat_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&rest, 0, 0, 0);
}
