/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Clocks, and sleeping until a time.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <time.h>

#include "plat/plat.h"
#include "plat/syscall.h"

int64_t plat_clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Reads the thread's CPU clock.  The clock's id is the inverted thread id, shifted by three bits that mean "of one
 * thread" and "CPU time". */
int64_t plat_clock_of_thread(struct plat_tid thread)
{
    struct timespec used;
    long error = plat_syscall(SYS_clock_gettime, (long)~thread.number << 3 | 6, (long)&used, 0, 0, 0, 0);
    return error ? -1 : used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

void plat_clock_sleep(int64_t ns)
{
    struct timespec rest = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    plat_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&rest, 0, 0, 0);
}
