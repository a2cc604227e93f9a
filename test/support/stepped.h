/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A signal handler after every instruction of the calling thread, by the trap flag of x86-64. */
#ifndef RTRCU_TEST_SUPPORT_STEPPED_H
#define RTRCU_TEST_SUPPORT_STEPPED_H

#if defined(__x86_64__)

#include <csignal>
#include <ucontext.h>

namespace test
{

/* Sets the function that the traps call while this object lives. */
class SteppedBy
{
    struct sigaction saved_;

  public:
    explicit SteppedBy(void (*handler)(int, siginfo_t *, void *))
    {
        struct sigaction action = {};
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGTRAP, &action, &saved_);
    }
    ~SteppedBy()
    {
        sigaction(SIGTRAP, &saved_, nullptr);
    }
    SteppedBy(const SteppedBy &) = delete;
    SteppedBy &operator=(const SteppedBy &) = delete;

    /* From here on each instruction is followed by a trap. */
    __attribute__((always_inline)) static void begin()
    {
        __asm__ __volatile__("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    }
    __attribute__((always_inline)) static void end()
    {
        __asm__ __volatile__("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    }
    /* In the handler, whose third argument is @context: make this trap the last. */
    static void end_behind(void *context)
    {
        constexpr long trap_flag = 0x100;
        static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    }
    /* In the handler: count @left down, and return whether this is the chosen trap. No trap follows the chosen one, or
     * one that is @too_late. */
    static bool comes_to(volatile long &left, bool too_late, void *context)
    {
        left = left - 1;
        if (left > 0 && !too_late)
            return false;
        end_behind(context);
        return !too_late;
    }
};

} // namespace test

#endif

#endif
