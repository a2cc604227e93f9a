/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sandboxes for tests: system calls that the kernel refuses from now on, for all threads of the process or for one; and
 * whether an outer sandbox refuses a call that a test needs. */
#ifndef RTRCU_TEST_SUPPORT_SANDBOX_H
#define RTRCU_TEST_SUPPORT_SANDBOX_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace test
{

/* In place of an error: the call raises SIGSYS, and the program's handler supplies the result. */
constexpr int TRAPPED = 0;

/* One rule: @call fails with @error.  If @operations is not empty, only if its second argument is one of them, ignoring
 * the bits for "private" and for the clock. */
struct Refusal {
    long call;
    int error;
    std::vector<int> operations = {};
};

/* Apply @refusals to all threads, or with @scope 0 only to the calling one.  Returns false if filters are refused. */
inline bool refuse(const std::vector<Refusal> &refusals, unsigned scope = SECCOMP_FILTER_FLAG_TSYNC)
{
    constexpr unsigned flags = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
    auto load = [](size_t offset) {
        return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
    };
    auto answer = [](unsigned what) { return sock_filter BPF_STMT(BPF_RET | BPF_K, what); };
    std::vector<sock_filter> filter;
    for (const Refusal &refusal : refusals) {
        unsigned error = refusal.error == TRAPPED ? static_cast<unsigned>(SECCOMP_RET_TRAP)
                                                  : SECCOMP_RET_ERRNO | static_cast<unsigned>(refusal.error);
        auto operations = static_cast<unsigned char>(refusal.operations.size());
        auto rest = static_cast<unsigned char>(operations ? 2 * operations + 2 : 1);
        filter.push_back(load(offsetof(struct seccomp_data, nr)));
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(refusal.call), 0, rest));
        if (operations == 0)
            filter.push_back(answer(error));
        else {
            filter.push_back(load(offsetof(struct seccomp_data, args) + sizeof(uint64_t)));
            filter.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~flags));
        }
        for (int operation : refusal.operations) {
            filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(operation), 0, 1));
            filter.push_back(answer(error));
        }
    }
    filter.push_back(answer(SECCOMP_RET_ALLOW));
    struct sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, scope, &program) == 0;
}

inline bool membarrier_is_refused()
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return commands < 0 || (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

/* Skip a test that needs membarrier().  Without membarrier(), readers always take the slow path in order to fence, and
 * the first fence of a grace period visits every CPU. */
#define SKIP_WITHOUT_MEMBARRIER()                                                                                      \
    if (test::membarrier_is_refused())                                                                                 \
    GTEST_SKIP() << "membarrier() is refused here"

} // namespace test

#endif
