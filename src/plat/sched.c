/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scheduling class of the calling thread.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <sched.h>
#include <sys/resource.h>

#include "plat/plat.h"
#include "plat/syscall.h"

int plat_sched_set(int priority, int nice)
{
    struct sched_param parameter = {.sched_priority = priority};
    int policy = priority > 0 ? SCHED_FIFO : SCHED_OTHER;
    long error = plat_syscall(SYS_sched_setscheduler, 0, policy, (long)&parameter, 0, 0, 0);
    if (!error && priority == 0)
        error = plat_syscall(SYS_setpriority, PRIO_PROCESS, 0, nice, 0, 0, 0);
    return (int)error;
}

int32_t plat_sched_nice(struct plat_tid thread)
{
    long policy = plat_syscall(SYS_sched_getscheduler, (long)thread.number, 0, 0, 0, 0, 0);
    if (policy != SCHED_OTHER && policy != SCHED_BATCH)
        return policy == SCHED_IDLE ? INT32_MAX : INT32_MIN;

    long nice =
        plat_syscall(SYS_getpriority, PRIO_PROCESS, (long)thread.number, 0, 0, 0, 0); /* the kernel says 20 less it */
    return nice > 0 ? 20 - (int32_t)nice : 0;
}

int plat_sched_rt_priority(void)
{
    struct sched_param parameter = {0};
    long policy = plat_syscall(SYS_sched_getscheduler, 0, 0, 0, 0, 0, 0);

    if (policy != SCHED_FIFO && policy != SCHED_RR)
        return 0;

    if (plat_syscall(SYS_sched_getparam, 0, (long)&parameter, 0, 0, 0, 0) < 0)
        return 0;
    return parameter.sched_priority;
}

int plat_sched_lift(struct plat_tid thread, int priority)
{
    struct sched_param parameter = {.sched_priority = priority};
    return (int)plat_syscall(SYS_sched_setscheduler, (long)thread.number, SCHED_FIFO, (long)&parameter, 0, 0, 0);
}
