/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pages directly from the kernel: registration may run in a signal handler, where malloc() is forbidden.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <errno.h>
#include <sys/mman.h>

#include "plat/plat.h"
#include "plat/syscall.h"

void *plat_mem_pages(size_t bytes)
{
    int saved = errno;
    plat_count_call();
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    if (pages == MAP_FAILED)
        return NULL;
    rtrcu_tsan_acquire(plat_mem_release);
    return pages;
}

void plat_mem_release(void *pages, size_t bytes)
{
    rtrcu_tsan_release(plat_mem_release); /* a later plat_mem_pages() of another thread may return these pages, by a
                                             system call that TSan does not see */
    (void)plat_syscall(SYS_munmap, (long)pages, (long)bytes, 0, 0, 0, 0);
}
