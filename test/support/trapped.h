/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A system call of the calling thread that a function of the test answers instead of the kernel, to inspect or change
 * the state at that point. */
#ifndef RTRCU_TEST_SUPPORT_TRAPPED_H
#define RTRCU_TEST_SUPPORT_TRAPPED_H

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace test
{

/* Atomic, since threads left by an earlier test read it too. */
inline std::atomic<long (*)()> answer_of_test;
inline std::atomic<unsigned long> second_argument, third_argument, fourth_argument; /* arguments of the answered call */

inline void answer_trapped(int, siginfo_t *, void *context)
{
    auto &machine = static_cast<ucontext_t *>(context)->uc_mcontext;
#ifdef __x86_64__
    second_argument = static_cast<unsigned long>(machine.gregs[REG_RSI]);
    third_argument = static_cast<unsigned long>(machine.gregs[REG_RDX]);
    fourth_argument = static_cast<unsigned long>(machine.gregs[REG_R10]);
    machine.gregs[REG_RAX] = answer_of_test.load()();
#elif defined(__aarch64__)
    second_argument = machine.regs[1];
    third_argument = machine.regs[2];
    fourth_argument = machine.regs[3];
    machine.regs[0] = static_cast<unsigned long>(answer_of_test.load()());
#else
    (void)machine; // on other processors these tests run under qemu, which traps nothing
#endif
}

/* From now on @answer answers @call of the calling thread and of threads that it creates; if @about is not NULL, only
 * calls with that first argument.  @answer must not make that call.  Returns false if calls cannot be trapped here. */
inline bool trap(long call, const void *about, long (*answer)())
{
    struct sigaction action = {};
    action.sa_sigaction = answer_trapped;
    action.sa_flags = SA_SIGINFO;
    answer_of_test = answer;
    auto address = reinterpret_cast<uintptr_t>(about);
    constexpr auto argument = static_cast<unsigned>(offsetof(struct seccomp_data, args));
    const unsigned char rest = about ? 5 : 1;
    const sock_filter number = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    const sock_filter is_it = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, rest);
    const sock_filter trapped = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    const sock_filter allowed = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    sock_filter any[] = {number, is_it, trapped, allowed};
    sock_filter one[] = {number,
                         is_it,
                         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(address), 0, 3),
                         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument + 4),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(address >> 32), 0, 1),
                         trapped,
                         allowed};
    struct sock_fprog program = {static_cast<unsigned short>(about ? 8 : 4), about ? one : any};
    return sigaction(SIGSYS, &action, nullptr) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

} // namespace test

#endif
