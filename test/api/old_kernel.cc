/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of kernels that lack a feature: its system calls fail from the start of the program. */
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <rtrcu/table.h>

#include "../support/replaced.h"
#include "../support/sandbox.h"
#include "../support/sync.h"
#include "child.h"
#include "owned.h"

namespace
{

/* The system calls that fail without a feature.  docs/platforms.md lists the features. */
const std::map<std::string, std::vector<test::Refusal>> &lacking()
{
    static const std::map<std::string, std::vector<test::Refusal>> kernels = {
        {"membarrier", {{SYS_membarrier, ENOSYS}}},
        {"rseq", {{SYS_rseq, ENOSYS}}},
        {"real_time", {{SYS_sched_setscheduler, EPERM}, {SYS_sched_setattr, EPERM}, {SYS_sched_setparam, EPERM}}},
        {"lock_pi", {{SYS_futex, ENOSYS, {FUTEX_LOCK_PI, 13, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI}}}},
        {"getrandom", {{SYS_getrandom, ENOSYS}}},
        {"clone3", {{SYS_clone3, ENOSYS}}},
    };
    return kernels;
}

void update(test::Replaced *shared)
{
    long before = owned::runs;
    REQUIRE(shared->replace_until_spanned(10, 10));
    owned::queue(20);
    rcu_barrier();
    REQUIRE(owned::runs == before + 20);
    synchronize_rcu_expedited();
}

CHILD(works_on_an_old_kernel)
{
    test::Replaced shared;
    std::atomic<bool> stop = false;
    std::thread reader([&] {
        while (!stop) {
            rcu_read_lock();
            shared.look();
            rcu_read_unlock();
        }
    });
    for (int round = 0; round < 3; round++)
        update(&shared);
    stop = true;
    reader.join();
    REQUIRE(shared.bad() == 0);

    bool lacks_membarrier = std::string(getenv("RTRCU_TEST_LACKS")) == "membarrier";
    REQUIRE((test::stats().full_fences == 1) == lacks_membarrier);

    rtrcu_hash *table;
    REQUIRE(rtrcu_hash_create(&table, nullptr) == 0);
    rtrcu_hash_destroy(table);

    if (TEST_TSAN)
        return; /* the race detector allows no thread in a fork's child */
    pid_t pid = fork();
    if (pid == 0) {
        owned::queue(1);
        rcu_barrier();
        _exit(0);
    }
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
}

CHILD(begins_on_an_old_kernel)
{
    REQUIRE(test::refuse(lacking().at(getenv("RTRCU_TEST_LACKS"))));
    test::become_child("works_on_an_old_kernel");
}

class OldKernel : public testing::TestWithParam<std::string>
{
};

TEST_P(OldKernel, LibraryWorksWithoutTheKernelFeature)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has no seccomp()";
    EXPECT_TRUE(exited_well(test::run_child("begins_on_an_old_kernel", {"RTRCU_TEST_LACKS=" + GetParam()})));
}

INSTANTIATE_TEST_SUITE_P(Features, OldKernel,
                         testing::Values("membarrier", "rseq", "real_time", "lock_pi", "getrandom", "clone3"),
                         [](const auto &feature) { return feature.param; });

} // namespace
