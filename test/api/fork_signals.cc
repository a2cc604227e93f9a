/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The driver of a fork's child whose first thread blocks signals: a daemon's callbacks run, and only a handler's call
 * makes no thread.
 */
#include <atomic>
#include <csignal>
#include <initializer_list>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/sync.h"
#include "child.h"
#include "forked.h"
#include "owned.h"

namespace
{

using owned::queue, owned::runs;

void block(std::initializer_list<int> signals)
{
    sigset_t set;
    sigemptyset(&set);
    for (int signal : signals)
        sigaddset(&set, signal);
    REQUIRE(sigprocmask(SIG_BLOCK, &set, nullptr) == 0);
}

void callbacks_run_and_cookies_pass()
{
    queue(1);
    REQUIRE(test::eventually([] { return runs == 1; }));
    unsigned long cookie = start_poll_synchronize_rcu(), expedited = start_poll_synchronize_rcu_expedited();
    REQUIRE(test::eventually(
        [&] { return poll_state_synchronize_rcu(cookie) && poll_state_synchronize_rcu_expedited(expedited); }));
}

/* A daemon: it forks, and then blocks signals for good, to read them by signalfd() or sigwait(). */
CHILD(blocks_signals_behind_the_fork)
{
    in_forked_child([] {
        block({SIGTERM, SIGHUP, SIGCHLD, SIGUSR1});
        callbacks_run_and_cookies_pass();
    });
}

/* The same, of a thread that has registered by its call. */
CHILD(blocks_signals_behind_the_fork_registered)
{
    REQUIRE(rcu_register_thread() == 0);
    in_forked_child([] {
        block({SIGTERM, SIGHUP, SIGCHLD, SIGUSR1});
        callbacks_run_and_cookies_pass();
    });
}

/* One that handles them, while it sleeps in ppoll(): no handler of a thread that has not registered by its call may
 * queue. */
CHILD(handles_signals_in_its_sleep)
{
    signal(SIGTERM, [](int) {});
    rcu_read_lock();
    rcu_read_unlock();
    in_forked_child([] {
        block({SIGTERM});
        callbacks_run_and_cookies_pass();
    });
    REQUIRE(rcu_register_thread() == 0);
    rcu_unregister_thread();
    in_forked_child([] {
        block({SIGTERM});
        callbacks_run_and_cookies_pass();
    });
}

/* Nothing tells its calls from those of a handler: that is said, and helps. */
CHILD(says_how_to_go_on)
{
    signal(SIGTERM, [](int) {});
    REQUIRE(rcu_register_thread() == 0);
    in_forked_child([] {
        block({SIGTERM});
        queue(2000);
        REQUIRE(test::threads_of_this_process() == 1);
        REQUIRE(rcu_register_thread() == 0);
        REQUIRE(test::eventually([] { return runs == 2000; }));
    });
}

TEST(ForkSignals, ADaemonThatBlocksThemHasADriver)
{
    if (TEST_EMULATED || TEST_TSAN)
        GTEST_SKIP() << "see the tests of fork";
    EXPECT_TRUE(exited_well(test::run_child("blocks_signals_behind_the_fork")));
    EXPECT_TRUE(exited_well(test::run_child("blocks_signals_behind_the_fork_registered")));
    EXPECT_TRUE(exited_well(test::run_child("handles_signals_in_its_sleep")));
    test::ChildResult result = test::run_child("says_how_to_go_on");
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("call rtrcu_register_thread() (said once)"));
}

} // namespace
