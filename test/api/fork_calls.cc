/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of requests in a fork's child, and of a callback, run by rcu_barrier(), that forks or configures. */
#include <atomic>
#include <pthread.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../support/sync.h"
#include "../support/trapped.h"
#include "child.h"
#include "forked.h"
#include "owned.h"

namespace
{

using owned::queue, owned::runs;

pid_t forked = -1;

void fork_here()
{
    fflush(nullptr);
    forked = fork();
    REQUIRE(forked >= 0);
    alarm(30);
}

/* The child exits, and the parent checks that it exited well. */
void end_both()
{
    if (forked == 0)
        _exit(0);
    int status = -1;
    REQUIRE(waitpid(forked, &status, 0) == forked && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

CHILD(deadline_loop_polls)
{
    REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE) == 0);
    fork_here();
    unsigned long cookie = start_poll_synchronize_rcu();
    REQUIRE(test::eventually([&] { return poll_state_synchronize_rcu(cookie); }));
    end_both();
}

CHILD(deadline_loop_polls_expedited)
{
    REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE) == 0);
    fork_here();
    unsigned long cookie = start_poll_synchronize_rcu_expedited();
    REQUIRE(test::eventually([&] { return poll_state_synchronize_rcu_expedited(cookie); }));
    end_both();
}

void fork_once(rcu_head *)
{
    runs++;
    fork_here();
}

/* rcu_barrier() runs a callback, which forks.  In the child, rcu_barrier() returns too, and later barriers work. */
CHILD(a_barriers_callback_forks)
{
    static rcu_head head;
    constexpr long more = 8;
    call_rcu(&head, fork_once);
    rcu_barrier();
    REQUIRE(runs == 1 && forked >= 0);
    queue(more);
    unsigned long by_owner = 0;
    REQUIRE(test::eventually([&] {
        by_owner += rcu_process_callbacks(-1);
        return runs == 1 + more;
    }));
    REQUIRE(by_owner == more);
    queue(1);
    rcu_barrier();
    REQUIRE(runs == 2 + more);
    end_both();
}

int changed = -1;

void change_nothing(rcu_head *)
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    changed = rtrcu_configure(&config);
}

CHILD(a_callback_configures)
{
    static rcu_head head;
    call_rcu(&head, change_nothing);
    rcu_barrier();
    REQUIRE(changed == 0);
}

test::Steps configuring;
std::atomic<bool> is_inside{false};

/* Runs in place of membarrier() in a thread that changes the configuration and holds the configuration lock: wait until
 * the main thread has forked. */
long wait_for_the_fork()
{
    is_inside = true;
    configuring.reach(1);
    configuring.wait(2);
    return 0;
}

void set_membarrier(int32_t membarrier)
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    config.membarrier = membarrier;
    REQUIRE(rtrcu_configure(&config) == 0);
}

CHILD(forks_while_another_configures)
{
    std::thread other([] {
        if (test::trap(SYS_membarrier, nullptr, wait_for_the_fork))
            set_membarrier(RTRCU_MEMBARRIER_AUTO);
        configuring.reach(1); /* where system calls cannot be trapped, no thread is inside the change */
    });
    configuring.wait(1);
    fork_here();
    if (forked == 0)
        set_membarrier(RTRCU_MEMBARRIER_AUTO);
    configuring.reach(2);
    if (forked != 0)
        other.join();
    if (forked != 0 && !is_inside) {
        (void)waitpid(forked, nullptr, 0);
        _exit(3);
    }
    end_both();
}

using ForkCalls = ForkedTest;

TEST_F(ForkCalls, DeadlineLoopsCookiesAreReachedInTheChild)
{
    EXPECT_TRUE(exited_well(test::run_child("deadline_loop_polls")));
    EXPECT_TRUE(exited_well(test::run_child("deadline_loop_polls_expedited")));
}

TEST_F(ForkCalls, CallbackRunByABarrierMayFork)
{
    EXPECT_TRUE(
        exited_well(test::run_child("a_barriers_callback_forks", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

/* The child does not have the thread that holds the configuration lock. */
TEST_F(ForkCalls, ChildMayConfigureIfAnotherThreadHeldTheConfigurationLock)
{
    test::ChildResult result = test::run_child("forks_while_another_configures", {"RTRCU_MEMBARRIER=off"});
    if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == 3)
        GTEST_SKIP() << "system calls cannot be trapped here, or membarrier() is refused";
    EXPECT_TRUE(exited_well(result));
}

TEST(ConfigureCalls, CallbackRunByABarrierMayConfigure)
{
    EXPECT_TRUE(exited_well(test::run_child("a_callback_configures")));
    EXPECT_TRUE(exited_well(test::run_child("a_callback_configures", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

} // namespace
