/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signals of a fork's child: those of the program where a callback forks; and the driver of one whose first thread
 * blocks them: a daemon's callbacks run, and only a handler's call makes no thread.
 */
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

using ForkSignals = ForkedTest;

TEST_F(ForkSignals, ADaemonThatBlocksThemHasADriver)
{
    EXPECT_TRUE(exited_well(test::run_child("blocks_signals_behind_the_fork")));
    EXPECT_TRUE(exited_well(test::run_child("blocks_signals_behind_the_fork_registered")));
    EXPECT_TRUE(exited_well(test::run_child("handles_signals_in_its_sleep")));
    test::ChildResult result = test::run_child("says_how_to_go_on");
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("call rtrcu_register_thread() (said once)"));
}

/* A handler's call_rcu() makes no thread; the next one of the program does. */
void queue_in_handler(int)
{
    static rcu_head head;
    call_rcu(&head, [](rcu_head *) { runs++; });
}

void handlers_call_makes_no_thread()
{
    raise(SIGUSR1);
    REQUIRE(test::threads_of_this_process() == 1);
}

CHILD(handler_queues_first_in_the_child)
{
    REQUIRE(rcu_register_thread() == 0);
    signal(SIGUSR1, queue_in_handler);
    in_forked_child([] {
        handlers_call_makes_no_thread();
        queue(1);
        REQUIRE(test::eventually([] { return runs == 2; }));
    });
}

/* A daemon's signals are let in then, so that a handler comes where they were blocked at the fork. */
CHILD(handler_queues_first_in_the_child_of_a_callback)
{
    static rcu_head head;
    signal(SIGUSR1, queue_in_handler);
    call_rcu(&head, [](rcu_head *) {
        REQUIRE(rcu_register_thread() == 0);
        in_forked_child(handlers_call_makes_no_thread);
        REQUIRE(rtrcu_unregister_thread() == 0);
    });
    rcu_barrier();
}

TEST_F(ForkSignals, AHandlersCallMakesNoThreadInTheChild)
{
    EXPECT_TRUE(exited_well(test::run_child("handler_queues_first_in_the_child")));
    EXPECT_TRUE(exited_well(test::run_child("handler_queues_first_in_the_child_of_a_callback")));
}

/* Of these the calling thread blocks none but @but, 0: none. */
void expect_blocked(int but)
{
    sigset_t now;
    REQUIRE(pthread_sigmask(SIG_SETMASK, nullptr, &now) == 0);
    for (int signal : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD})
        REQUIRE(sigismember(&now, signal) == (signal == but));
}

/* What a callback starts has the signals of the program, not those of a daemon; and what that starts, its own. */
TEST_F(ForkSignals, InsideACallbackTheChildBlocksWhatTheProgramDoes)
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
