/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pages straight from the kernel: registration may run in a signal handler, where malloc() must not.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <sys/mman.h>

#include "plat/plat.h"
#include "plat/syscall.h"

void *plat_mem_pages(size_t bytes)
{
    long address = plat_syscall(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address < 0 && address > -4096)
        return NULL;
    rtrcu_tsan_acquire(plat_mem_release);
    return (void *)address;
}

void plat_mem_release(void *pages, size_t bytes)
{
    rtrcu_tsan_release(plat_mem_release); /* the pages may be another thread's next, by a call that TSan does not see */
    (void)plat_syscall(SYS_munmap, (long)pages, (long)bytes, 0, 0, 0, 0);
}
