/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heavy fences: membarrier(2), and the visit to every CPU that replaces it when the kernel begins to refuse it.
 *
 * tested by: test/unit/plat/membarrier.cc
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plat/plat.h"
#include "plat/syscall.h"

int plat_fence_prepare(void)
{
    long commands = plat_syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0, 0, 0, 0);

    if (commands < 0)
        return (int)commands;
    if (!(commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        return -ENOSYS;

    int error = (int)plat_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
    return error ? error : plat_fence_heavy();
}

int plat_fence_heavy(void)
{
    return (int)plat_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
}

static int affinity_get(int thread_id, cpu_set_t *set)
{
    CPU_ZERO(set);
    long bytes = plat_syscall(SYS_sched_getaffinity, thread_id, sizeof(*set), (long)set, 0, 0, 0);
    return bytes < 0 ? (int)bytes : 0;
}

static int affinity_set(const cpu_set_t *set)
{
    return (int)plat_syscall(SYS_sched_setaffinity, 0, sizeof(*set), (long)set, 0, 0, 0);
}

/* The union of the CPUs that the threads of this process may run on.  -errno if a thread cannot be queried. */
static int affinity_of_process(cpu_set_t *all)
{
    CPU_ZERO(all);
    int error = 0, saved = errno;

    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) {
        error = -errno;
        errno = saved;
        return error;
    }

    struct dirent *entry;
    while (!error && (entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;

        cpu_set_t one;
        error = affinity_get(atoi(entry->d_name), &one);
        if (error == -ESRCH)
            error = 0; /* the thread has exited: none of its code runs any more */
        else
            CPU_OR(all, all, &one);
    }

    closedir(tasks);
    errno = saved;
    return error;
}

/* Move the calling thread to each CPU of @wanted.  Once it runs on a CPU, the thread that ran there was switched out,
 * which is a full fence of that thread.  A thread that migrated between two visits was switched out too. */
static int visit_each(const cpu_set_t *wanted, uint32_t *next)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, wanted))
            continue;

        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (next)
            rtrcu_store_relaxed(next, (uint32_t)cpu);

        int error = affinity_set(&one);
        if (error)
            return error == -EINVAL ? -EXDEV : error;
        if (plat_cpu_current() != cpu)
            return -EXDEV;
    }
    return 0;
}

int plat_fence_by_visit(uint32_t *next)
{
    cpu_set_t own, wanted;
    int error = affinity_get(0, &own);
    if (!error)
        error = affinity_of_process(&wanted);
    if (error)
        return error;

    error = visit_each(&wanted, next);
    int restored = affinity_set(&own);
    return error ? error : restored;
}
