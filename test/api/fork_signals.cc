/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the signal mask of a fork's child, and of a child that blocks signals. */
#include <atomic>
#include <csignal>
#include <initializer_list>
#include <pthread.h>
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

/* The child blocks signals for good, as programs do that use signalfd() or sigwait(). */
CHILD(blocks_signals_after_the_fork)
{
    in_forked_child([] {
        block({SIGTERM, SIGHUP, SIGCHLD, SIGUSR1});
        callbacks_run_and_cookies_pass();
    });
}

/* As blocks_signals_after_the_fork, in a thread that is registered explicitly. */
CHILD(blocks_signals_after_the_fork_registered)
{
    REQUIRE(rcu_register_thread() == 0);
    in_forked_child([] {
        block({SIGTERM, SIGHUP, SIGCHLD, SIGUSR1});
        callbacks_run_and_cookies_pass();
    });
}

using ForkSignals = ForkedTest;

TEST_F(ForkSignals, ChildThatBlocksSignalsHasADriver)
{
    EXPECT_TRUE(exited_well(test::run_child("blocks_signals_after_the_fork")));
    EXPECT_TRUE(exited_well(test::run_child("blocks_signals_after_the_fork_registered")));
}

/* Expect that the calling thread blocks none of these signals except @but (0: none). */
void expect_blocked(int but)
{
    sigset_t now;
    REQUIRE(pthread_sigmask(SIG_SETMASK, nullptr, &now) == 0);
    for (int signal : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD})
        REQUIRE(sigismember(&now, signal) == (signal == but));
}

/* A child forked in a callback has the program's signal mask, not the daemon's.  Its own children inherit its mask. */
TEST_F(ForkSignals, ChildForkedInsideACallbackHasTheProgramsSignalMask)
{
    static rcu_head head;
    static std::atomic<int> forked_inside{0};
    call_rcu(&head, [](rcu_head *) {
        in_forked_child([] {
            expect_blocked(0);
            block({SIGCHLD});
            in_forked_child([] { expect_blocked(SIGCHLD); });
        });
        forked_inside++;
    });
    rcu_barrier();
    EXPECT_EQ(forked_inside, 1);
}

} // namespace
