/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that runs another one as on a kernel without membarrier(), rseq(), FUTEX_LOCK_PI2 and clone3().
 *
 * usage: without_calls PROGRAM [ARGUMENT...]      The status is 77 if the kernel refuses the sandbox.
 */
#include <cerrno>
#include <cstdio>

#include "sandbox.h"

int main(int argc, char **argv)
{
    constexpr int lock_pi2 = 13; /* FUTEX_LOCK_PI2, which the headers of older systems lack */
    if (argc < 2)
        return 2;
    if (!test::refuse(
            {{SYS_membarrier, ENOSYS}, {SYS_rseq, ENOSYS}, {SYS_futex, ENOSYS, {lock_pi2}}, {SYS_clone3, ENOSYS}})) {
        perror("seccomp()");
        return 77;
    }
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
