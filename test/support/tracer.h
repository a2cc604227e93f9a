/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A tracer that steps a child through its code, and sends it a signal after any instruction. */
#ifndef RTRCU_TEST_SUPPORT_TRACER_H
#define RTRCU_TEST_SUPPORT_TRACER_H

#include <csignal>
#include <cstdint>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace test
{

/* Memory that a parent and its children share. */
template <typename T> T *shared_with_children()
{
    void *memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<T *>(memory);
}

/* In the child: stop, and let the parent trace it. */
inline bool is_to_be_traced()
{
    return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0;
}

/* The traced child sets @inside while it executes the code under test, and begins each round with SIGSTOP. */
class Tracer
{
    pid_t pid_;
    const volatile int *inside_;
    int status_ = 0;

    bool wait_for(int signal)
    {
        return waitpid(pid_, &status_, __WALL) == pid_ && WIFSTOPPED(status_) && WSTOPSIG(status_) == signal;
    }

  public:
    Tracer(pid_t pid, const volatile int *inside) : pid_(pid), inside_(inside)
    {
    }
    bool at_the_start()
    {
        return wait_for(SIGSTOP);
    }
    bool step()
    {
        return ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) == 0 && wait_for(SIGTRAP);
    }
    /* Step into the scenario, then @steps further.  Returns the number of steps taken inside. */
    long step_into(long steps)
    {
        while (!*inside_) {
            if (!step())
                return -1;
        }
        long taken = 0;
        for (; taken < steps && *inside_; taken++) {
            if (!step())
                return -1;
        }
        return taken;
    }
    bool interrupt()
    {
        if (syscall(SYS_tgkill, pid_, pid_, SIGUSR1) != 0)
            return false;
        ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
        return wait_for(SIGUSR1); /* stops when the signal is delivered, which may be later if the child blocks it */
    }
    /* The value of a variable of the child, of four bytes. */
    template <typename T> T value_of(const T *variable)
    {
        static_assert(sizeof(T) == 4);
        long whole = ptrace(PTRACE_PEEKDATA, pid_, const_cast<T *>(variable), nullptr);
        return static_cast<T>(whole);
    }
    bool blocks(int signal)
    {
        uint64_t mask = 0;
        ptrace(PTRACE_GETSIGMASK, pid_, sizeof(mask), &mask);
        return mask >> (signal - 1) & 1;
    }
    void go_on(int signal)
    {
        ptrace(PTRACE_CONT, pid_, nullptr, signal);
    }
    bool ends_well()
    {
        while (waitpid(pid_, &status_, __WALL) == pid_ && WIFSTOPPED(status_)) {
            int signal = WSTOPSIG(status_);
            go_on(signal == SIGSTOP || signal == SIGTRAP ? 0 : signal);
        }
        return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
    }
    int status() const
    {
        return status_;
    }
};

} // namespace test

#endif
