/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A handler behind every instruction of the calling thread, by the processor's trap flag; x86-64.
 */
#ifndef RTRCU_TEST_SUPPORT_STEPPED_H
#define RTRCU_TEST_SUPPORT_STEPPED_H

#if defined(__x86_64__)

#include <csignal>
#include <ucontext.h>

namespace test
{

/* Whom the traps call, for as long as this is there. */
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

    /* The flag stops behind each instruction that follows. */
    __attribute__((always_inline)) static void begin()
    {
        __asm__ __volatile__("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    }
    __attribute__((always_inline)) static void end()
    {
        __asm__ __volatile__("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    }
    /* In the handler, whose third argument @context is: this trap is the last. */
    static void end_behind(void *context)
    {
        constexpr long trap_flag = 0x100;
        static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    }
    /* In the handler, when @left traps are to come: is this the one that counts?  It is the last, and so is one that
     * comes @too_late. */
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
