/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scheduling policy, priority and nice value of threads.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <sched.h>
#include <sys/resource.h>

#include "plat/plat.h"
#include "plat/syscall.h"

#ifndef SCHED_DEADLINE /* the C library has it with _GNU_SOURCE since 2.41 */
#define SCHED_DEADLINE 6
#endif

/* Set SCHED_FIFO at @priority, or SCHED_OTHER if that is 0, with SCHED_RESET_ON_FORK: threads and processes that a
 * callback starts run under SCHED_OTHER.  SCHED_OTHER has the flag too, since clearing it needs privileges. */
static int set_class(struct plat_tid thread, int priority)
{
    struct sched_param parameter = {.sched_priority = priority};
    int policy = (priority > 0 ? SCHED_FIFO : SCHED_OTHER) | SCHED_RESET_ON_FORK;
    return (int)plat_syscall(SYS_sched_setscheduler, (long)thread.number, policy, (long)&parameter, 0, 0, 0);
}

int plat_sched_set(int priority, int nice)
{
    int error = set_class(PLAT_NOBODY, priority);
    return error || priority > 0 ? error : plat_sched_set_nice(nice);
}

int plat_sched_set_nice(int nice)
{
    return (int)plat_syscall(SYS_setpriority, PRIO_PROCESS, 0, nice, 0, 0, 0);
}

/* The policy of @thread (PLAT_NOBODY: the caller), without SCHED_RESET_ON_FORK, which rtkit, PipeWire and JACK set; or
 * -errno. */
static long class_of(struct plat_tid thread)
{
    long policy = plat_syscall(SYS_sched_getscheduler, (long)thread.number, 0, 0, 0, 0, 0);
    return policy < 0 ? policy : policy & ~(long)SCHED_RESET_ON_FORK;
}

int32_t plat_sched_nice(struct plat_tid thread)
{
    long policy = class_of(thread);
    if (policy != SCHED_OTHER && policy != SCHED_BATCH)
        return policy == SCHED_IDLE ? INT32_MAX : INT32_MIN;

    long nice =
        /* The kernel returns 20 minus the nice value. */
        plat_syscall(SYS_getpriority, PRIO_PROCESS, (long)thread.number, 0, 0, 0, 0);
    return nice > 0 ? 20 - (int32_t)nice : 0;
}

int plat_sched_rt_priority(void)
{
    struct sched_param parameter = {0};
    long policy = class_of(PLAT_NOBODY);

    if (policy == SCHED_DEADLINE)
        return PLAT_RT_HIGHEST;
    if (policy != SCHED_FIFO && policy != SCHED_RR)
        return 0;

    if (plat_syscall(SYS_sched_getparam, 0, (long)&parameter, 0, 0, 0, 0) < 0)
        return 0;
    return parameter.sched_priority;
}

int plat_sched_lift(struct plat_tid thread, int priority)
{
    return set_class(thread, priority);
}

void plat_sched_keep_class(void)
{
    struct sched_param parameter = {0};
    long policy = class_of(PLAT_NOBODY);
    if (policy != SCHED_FIFO || plat_syscall(SYS_sched_getparam, 0, (long)&parameter, 0, 0, 0, 0) < 0)
        return;
    (void)set_class(PLAT_NOBODY, parameter.sched_priority);
}
