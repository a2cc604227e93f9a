/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that takes the address of the flavour's table, linked like a program of liburcu 0.13 or of 0.15
 * (GENERATION: 13, 15).  The program's copy of the table must be read-only again, and have all calls that the program
 * knows. */
#include <inttypes.h>
#include <sched.h>
#include <unistd.h>

#include <rtrcu/detail/flavor.h>

#include "dropin.h"

#if GENERATION == 13
#define TABLE rtrcu_flavor
#else
#define TABLE rtrcu_flavor_0_15
#endif

extern const struct TABLE urcu_memb_flavor;

static bool is_writable(const void *address)
{
    char line[4096], mode[5];
    uintptr_t begin, end;
    bool writable = true;
    FILE *maps = fopen("/proc/self/maps", "r");
    EXPECT(maps);
    while (fgets(line, sizeof(line), maps)) {
        EXPECT(sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, mode) == 3);
        if ((uintptr_t)address >= begin && (uintptr_t)address < end)
            writable = mode[1] == 'w';
    }
    fclose(maps);
    return writable;
}

int main(void)
{
    const uintptr_t *calls = (const uintptr_t *)&urcu_memb_flavor;
    expect_ours();
    for (size_t i = 0; i < sizeof(urcu_memb_flavor) / sizeof(*calls); i++) {
        EXPECT(calls[i] != 0);
        EXPECT(!is_writable(&calls[i]));
    }
#if GENERATION == 15
    struct rtrcu_flavor_cookie cookie = urcu_memb_flavor.update_start_poll_synchronize_rcu();
    while (!urcu_memb_flavor.update_poll_state_synchronize_rcu(cookie))
        sched_yield();
#endif
    return 0;
}
