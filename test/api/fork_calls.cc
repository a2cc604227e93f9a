/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a fork's child asks for by itself, and what a callback may do that rcu_barrier() runs: fork, and change the
 * configuration.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../support/sync.h"
#include "child.h"
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

/* The child ends, and the parent sees that it ended well. */
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

/* rcu_barrier() runs a callback itself, which forks: it returns in the child too, where later ones work. */
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

class ForkCalls : public testing::Test
{
  protected:
    void SetUp() override
    {
        if (TEST_EMULATED || TEST_TSAN)
            GTEST_SKIP() << "see the tests of fork";
    }
};

TEST_F(ForkCalls, ADeadlineLoopsCookiesAreReachedInTheChild)
{
    EXPECT_TRUE(exited_well(test::run_child("deadline_loop_polls")));
    EXPECT_TRUE(exited_well(test::run_child("deadline_loop_polls_expedited")));
}

TEST_F(ForkCalls, ABarriersCallbackMayFork)
{
    EXPECT_TRUE(
        exited_well(test::run_child("a_barriers_callback_forks", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

TEST(ConfigureCalls, ABarriersCallbackMayConfigure)
{
    EXPECT_TRUE(exited_well(test::run_child("a_callback_configures")));
    EXPECT_TRUE(exited_well(test::run_child("a_callback_configures", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

} // namespace
