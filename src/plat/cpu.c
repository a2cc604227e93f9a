/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CPU numbers, affinity of the calling thread, sets of CPUs.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <unistd.h>

#include <rtrcu/detail/atomic.h>
#include <rtrcu/detail/cpu.h>

#include "plat/plat.h"
#include "plat/syscall.h"

/* Reads the number from the thread's own memory, where the kernel keeps it up to date if the C library has registered
 * that memory; else calls getcpu(). */
int plat_cpu_current(void)
{
    const uint32_t *address = plat_cpu_address();
    unsigned int cpu = address ? rtrcu_load_relaxed(address) : UINT32_MAX;
    if (cpu <= INT32_MAX)
        return (int)cpu;

    if (plat_syscall(SYS_getcpu, (long)&cpu, 0, 0, 0, 0, 0) < 0)
        return 0;
    return (int)cpu;
}

/* The C library's variable: size of the registered memory of restartable sequences, 0 = not registered. */
extern const unsigned int rtrcu_rseq_size __asm__("__rseq_size") __attribute__((weak));

const uint32_t *plat_cpu_address(void)
{
    if (!&rtrcu_rseq_size || rtrcu_rseq_size == 0)
        return NULL;
    return (const uint32_t *)(rtrcu_thread_pointer() + (uintptr_t)rtrcu_rseq_offset + RTRCU_RSEQ_CPU_ID);
}

int plat_cpu_bind(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return (int)plat_syscall(SYS_sched_setaffinity, 0, sizeof(one), (long)&one, 0, 0, 0);
}

/* Parse the number at *text, and advance *text; a number that is too high becomes PLAT_CPU_MAX.  False: no digit is at
 * *text. */
static bool parse_number(const char **text, uint32_t *number)
{
    const char *at = *text;
    for (*number = 0; *at >= '0' && *at <= '9'; at++) {
        uint32_t next = *number * 10 + (uint32_t)(*at - '0');
        *number = next < PLAT_CPU_MAX ? next : PLAT_CPU_MAX;
    }

    bool any = at != *text;
    *text = at;
    return any;
}

/* Parse "3" or "3-5" at *text, and advance *text.  False: no valid range is at *text. */
static bool parse_range(const char **text, uint32_t *first, uint32_t *last)
{
    if (!parse_number(text, first))
        return false;

    *last = *first;
    if (**text == '-') {
        ++*text;
        if (!parse_number(text, last))
            return false;
    }

    return *first <= *last && *last < PLAT_CPU_MAX;
}

int plat_cpus_parse(const char *text, struct plat_cpus *cpus)
{
    struct plat_cpus set = {{0}};

    for (;;) { /* bounded by the length of the text */
        uint32_t first, last;
        if (!parse_range(&text, &first, &last))
            return -EINVAL;

        for (uint32_t cpu = first; cpu <= last; cpu++)
            set.bits[cpu / 64] |= UINT64_C(1) << cpu % 64;

        if (*text == '\0')
            break;
        if (*text++ != ',')
            return -EINVAL;
    }

    *cpus = set;
    return 0;
}

int plat_cpus_configured(void)
{
    int saved = errno;
    long configured = sysconf(_SC_NPROCESSORS_CONF); /* reads files */
    errno = saved;

    if (configured > PLAT_CPU_MAX)
        return PLAT_CPU_MAX;
    return configured < 1 ? 1 : (int)configured;
}

bool plat_cpus_exist(const struct plat_cpus *cpus)
{
    uint32_t configured = (uint32_t)plat_cpus_configured();
    for (uint32_t cpu = 0; cpu < configured; cpu++) {
        if (plat_cpus_has(cpus, cpu))
            return true;
    }
    return false;
}

uint32_t plat_cpus_pick(const struct plat_cpus *cpus, uint32_t cpu)
{
    uint32_t count = 0, member = 0;

    if (plat_cpus_has(cpus, cpu))
        return cpu;

    for (int i = 0; i < PLAT_CPU_MAX / 64; i++)
        count += (uint32_t)__builtin_popcountll(cpus->bits[i]);
    uint32_t skip = count ? cpu % count : 0;
    for (; member < PLAT_CPU_MAX - 1; member++) {
        if (plat_cpus_has(cpus, member) && skip-- == 0)
            break;
    }

    return member;
}

void plat_cpus_cut(struct plat_cpus *cpus)
{
    if (!plat_cpus_exist(cpus))
        return;
    for (uint32_t cpu = (uint32_t)plat_cpus_configured(); cpu < PLAT_CPU_MAX; cpu++)
        cpus->bits[cpu / 64] &= ~(UINT64_C(1) << cpu % 64);
}
