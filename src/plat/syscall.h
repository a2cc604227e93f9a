/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* System calls without errno: slow paths of readers run in signal handlers, which must preserve errno.
 *
 * plat_syscall() returns the kernel's result: a value, or -errno.
 */
#ifndef RTRCU_PLAT_SYSCALL_H
#define RTRCU_PLAT_SYSCALL_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rtrcu/detail/reader.h>

/* Count a system call of the calling thread, made by plat_syscall() or by a function of the C library. */
static inline void plat_count_call(void)
{
    rtrcu_self.system_calls++;
}

#if defined(__x86_64__)

static inline long plat_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    plat_count_call();
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ __volatile__("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__)

static inline long plat_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    plat_count_call();
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ __volatile__("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

#else

/* For other processors: syscall() of the C library, which passes the arguments as the kernel expects them. */
static inline long plat_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    plat_count_call();
    int saved = errno;
    long result = syscall(number, a, b, c, d, e, f);
    if (result == -1)
        result = -errno;
    errno = saved;
    return result;
}

#endif

#endif
