/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Futexes, plain and priority-inheriting; private to the process unless the name says shared.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <linux/futex.h>
#include <time.h>

#include "plat/plat.h"
#include "plat/syscall.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

#define LOOK_AGAIN_NS 250000000

static struct timespec to_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static int wait_on(uint32_t *word, int operation, uint32_t expected, int64_t timeout_ns)
{
    struct timespec timeout = to_timespec(timeout_ns < 0 ? 0 : timeout_ns);
    return (int)plat_syscall(SYS_futex, (long)word, operation, expected,
                             timeout_ns == PLAT_FOREVER ? 0 : (long)&timeout, 0, 0);
}

int plat_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    return wait_on(word, FUTEX_WAIT_PRIVATE, expected, timeout_ns);
}

int plat_futex_wait_shared(uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    return wait_on(word, FUTEX_WAIT, expected, timeout_ns);
}

int plat_futex_wake_shared(uint32_t *word, int count)
{
    return (int)plat_syscall(SYS_futex, (long)word, FUTEX_WAKE, count, 0, 0, 0);
}

int plat_futex_wake(uint32_t *word, int count)
{
    return (int)plat_syscall(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, count, 0, 0, 0);
}

static int lock_pi(uint32_t *word, int operation, clockid_t clock, int64_t timeout_ns)
{
    struct timespec now;
    clock_gettime(clock, &now);
    struct timespec until = to_timespec(now.tv_sec * 1000000000 + now.tv_nsec + timeout_ns);
    return (int)plat_syscall(SYS_futex, (long)word, operation | FUTEX_PRIVATE_FLAG, 0, (long)&until, 0, 0);
}

/* Converts the timeout to an absolute time, of CLOCK_MONOTONIC where the kernel accepts that.  FUTEX_LOCK_PI, the only
 * operation before Linux 5.14, uses the clock that an administrator may set. */
int plat_futex_lock_pi(uint32_t *word, int64_t timeout_ns)
{
    int64_t slice_ns = timeout_ns == PLAT_FOREVER ? LOOK_AGAIN_NS : timeout_ns;
    int error = lock_pi(word, FUTEX_LOCK_PI2, CLOCK_MONOTONIC, slice_ns);
    if (error == -ENOSYS)
        error = lock_pi(word, FUTEX_LOCK_PI, CLOCK_REALTIME, slice_ns);

    return error == -ETIMEDOUT && timeout_ns == PLAT_FOREVER ? -EAGAIN : error;
}

int plat_futex_unlock_pi(uint32_t *word)
{
    return (int)plat_syscall(SYS_futex, (long)word, FUTEX_UNLOCK_PI_PRIVATE, 0, 0, 0, 0);
}
