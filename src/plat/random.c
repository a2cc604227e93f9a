/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random numbers from the kernel.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <linux/random.h>

#include "plat/plat.h"
#include "plat/syscall.h"

uint64_t plat_random(void)
{
    uint64_t number = 0;
    if (plat_syscall(SYS_getrandom, (long)&number, sizeof(number), GRND_NONBLOCK, 0, 0, 0) != sizeof(number))
        number = (uint64_t)plat_clock_now() * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)&number;
    return number;
}
