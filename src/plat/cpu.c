/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CPU numbers and affinity of the calling thread.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <sched.h>
#include <stddef.h>
#include <sys/rseq.h>
#include <unistd.h>

#include "plat/plat.h"
#include "plat/syscall.h"

int plat_cpu_count(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (plat_syscall(SYS_sched_getaffinity, 0, sizeof(set), (long)&set, 0, 0, 0) < 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}

int plat_cpu_highest(void)
{
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    if (configured < 1)
        return 1;
    return configured > PLAT_CPU_MAX ? PLAT_CPU_MAX : (int)configured;
}

int plat_cpu_current(void)
{
    unsigned int cpu = 0;
    if (plat_syscall(SYS_getcpu, (long)&cpu, 0, 0, 0, 0, 0) < 0)
        return 0;
    return (int)cpu;
}

const uint32_t *plat_cpu_address(void)
{
    if (__rseq_size == 0)
        return NULL; /* the C library did not register restartable sequences */
    const char *area = (const char *)__builtin_thread_pointer() + __rseq_offset;
    return &((const struct rseq *)area)->cpu_id;
}

int plat_cpu_bind(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return (int)plat_syscall(SYS_sched_setaffinity, 0, sizeof(one), (long)&one, 0, 0, 0);
}

bool plat_cpu_allowed(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (plat_syscall(SYS_sched_getaffinity, 0, sizeof(set), (long)&set, 0, 0, 0) < 0)
        return false;
    return CPU_ISSET(cpu, &set);
}
