/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of signal handlers that fork, whatever they interrupt: the parent continues. A child forked inside a call of
 * the library, a torn child, may only exec(); if it continues the call, the library ends it with a message. */
#include <atomic>
#include <csignal>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../support/stepped.h"
#include "../support/sync.h"
#include "child.h"
#include "forked.h"
#include "owned.h"

namespace
{

using owned::queue, owned::runs;

constexpr int forks = 20;
const char *const torn = "was forked by a signal handler that interrupted the library";

std::atomic<int> forked{0};
std::vector<pid_t> children;
bool is_child;
void (*child_does)();

void fork_in_handler(int)
{
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        is_child = true;
        alarm(30);
        child_does();
        return;
    }
    children.push_back(pid);
    forked++;
}

/* The calling thread waits for a reader.  Its handler forks a fixed number of times, then the reader leaves.  Returns
 * in the parent. */
void fork_while_waiting(void (*wait_for_reader)(), void (*in_child)())
{
    test::Worker reader;
    synchronize_rcu_expedited(); /* creates the worker */
    child_does = in_child;
    children.reserve(forks);
    signal(SIGUSR1, fork_in_handler);
    reader.run([] { rcu_read_lock(); });
    pthread_t self = pthread_self();
    pid_t thread = getpid();
    std::thread sender([&] {
        for (int i = 0; i < forks; i++) {
            REQUIRE(test::eventually([thread] { return test::is_asleep(thread); }));
            pthread_kill(self, SIGUSR1);
            REQUIRE(test::eventually([i] { return forked > i; }));
        }
        reader.run([] { rcu_read_unlock(); });
    });
    wait_for_reader();
    if (is_child)
        _exit(7); /* the child returned from the interrupted call, which must not happen */
    sender.join();
}

void expect_children(bool (*as_expected)(int status))
{
    for (pid_t pid : children) {
        int status = -1;
        REQUIRE(waitpid(pid, &status, 0) == pid);
        REQUIRE(as_expected(status));
    }
    synchronize_rcu();
    queue(1);
    rcu_barrier();
    REQUIRE(runs >= 1);
}

void exec_true()
{
    execl("/bin/true", "true", nullptr);
    _exit(1);
}

void wait_in_handler()
{
    synchronize_rcu();
}

void go_on()
{
}

bool ended_well(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool was_aborted(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

void wait_for_callbacks()
{
    queue(1);
    rcu_barrier();
}

void wait_for_cookie()
{
    cond_synchronize_rcu(get_state_synchronize_rcu());
}

void fork_and_exec(void (*wait_for_reader)())
{
    fork_while_waiting(wait_for_reader, exec_true);
    expect_children(ended_well);
}

void fork_and_return(void (*wait_for_reader)())
{
    fork_while_waiting(wait_for_reader, go_on);
    expect_children(was_aborted);
}

CHILD(execs_while_it_synchronizes)
{
    fork_and_exec(rtrcu_synchronize);
}

CHILD(execs_while_it_expedites)
{
    fork_and_exec(rtrcu_synchronize_expedited);
}

CHILD(execs_while_it_waits_for_callbacks)
{
    fork_and_exec(wait_for_callbacks);
}

CHILD(execs_while_it_waits_for_a_cookie)
{
    fork_and_exec(wait_for_cookie);
}

CHILD(returns_while_it_synchronizes)
{
    fork_and_return(rtrcu_synchronize);
}

CHILD(returns_while_it_expedites)
{
    fork_and_return(rtrcu_synchronize_expedited);
}

CHILD(returns_while_it_waits_for_callbacks)
{
    fork_and_return(wait_for_callbacks);
}

CHILD(returns_while_it_waits_for_a_cookie)
{
    fork_and_return(wait_for_cookie);
}

CHILD(waits_in_the_handler_of_a_torn_child)
{
    fork_while_waiting(rtrcu_synchronize, wait_in_handler);
    expect_children(was_aborted);
}

/* A handler forks while the thread's own fork waits for a callback. */
CHILD(forks_while_it_forks)
{
    static test::Steps steps;
    static rcu_head head;
    call_rcu(&head, [](rcu_head *) {
        steps.reach(1);
        steps.wait(2);
    });
    steps.wait(1);
    child_does = go_on;
    children.reserve(1);
    signal(SIGUSR1, fork_in_handler);
    pthread_t self = pthread_self();
    pid_t thread = getpid();
    std::thread sender([&] {
        REQUIRE(test::eventually([thread] { return test::is_asleep(thread); }));
        pthread_kill(self, SIGUSR1);
        REQUIRE(test::eventually([] { return forked == 1; }));
        steps.reach(2);
    });
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        _exit(is_child ? 7 : 0);
    if (is_child)
        _exit(7);
    sender.join();
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid && ended_well(status));
    expect_children(was_aborted);
}

/* A handler that interrupts the program's own code forks a child in which every call works. */
CHILD(forks_outside_the_library)
{
    child_does = go_on;
    children.reserve(1);
    signal(SIGUSR1, fork_in_handler);
    queue(1);
    rcu_read_lock();
    raise(SIGUSR1);
    rcu_read_unlock();
    synchronize_rcu();
    queue(1);
    rcu_barrier();
    REQUIRE(runs == 2);
    if (is_child)
        _exit(0);
    expect_children(ended_well);
}

#if defined(__x86_64__)

constexpr int steps_between_forks = 53;
int steps_made;

/* Forks at every 53rd step.  The child forks a grandchild that executes true(1), and waits for it; the parent waits for
 * the child. */
void fork_twice_in_handler(int, siginfo_t *, void *)
{
    if (++steps_made % steps_between_forks != 0)
        return;

    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0)
            exec_true();
        int status = -1;
        _exit(grandchild > 0 && waitpid(grandchild, &status, 0) == grandchild && ended_well(status) ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    REQUIRE(ended_well(status));
    forked++;
}

void expedite()
{
    synchronize_rcu_expedited();
}

void unregister()
{
    rcu_unregister_thread();
}

CHILD(forks_twice_at_steps_of_its_calls)
{
    rcu_register_thread();
    queue(1);
    rcu_barrier();
    /* creates the library's threads now: creation allocates memory and makes fork() wait */
    synchronize_rcu_expedited();
    queue(1);
    test::SteppedBy stepped(fork_twice_in_handler);
    void (*const calls[])() = {wait_in_handler, expedite, rtrcu_barrier, unregister};
    for (void (*call)() : calls) {
        test::SteppedBy::begin();
        call();
        test::SteppedBy::end();
    }
    REQUIRE(forked >= 10);
    rcu_barrier();
    REQUIRE(runs == 2);
}

#endif

using ForkHandlers = ForkedTest;

/* With these settings only the signal wakes the interrupted thread. */
const std::vector<std::string> looks_seldom = {"RTRCU_TICK_US=1000000", "RTRCU_SPIN_US=0"};

TEST_F(ForkHandlers, HandlerMayForkAndExecDuringAWait)
{
    for (const char *body : {"execs_while_it_synchronizes", "execs_while_it_expedites",
                             "execs_while_it_waits_for_callbacks", "execs_while_it_waits_for_a_cookie"}) {
        test::ChildResult result = test::run_child(body, looks_seldom);
        EXPECT_TRUE(exited_well(result)) << body;
        EXPECT_FALSE(result.contains("rtrcu: ")) << body << result.output;
    }
}

TEST_F(ForkHandlers, ChildForkedByAHandlerInsideTheLibraryAbortsWhenItReturns)
{
    for (const char *body : {"returns_while_it_synchronizes", "returns_while_it_expedites",
                             "returns_while_it_waits_for_callbacks", "returns_while_it_waits_for_a_cookie"}) {
        test::ChildResult result = test::run_child(body, looks_seldom);
        EXPECT_TRUE(exited_well(result)) << body;
        EXPECT_TRUE(result.contains(torn)) << body << result.output;
    }
}

TEST_F(ForkHandlers, ChildForkedByAHandlerInsideTheLibraryAbortsWhenItWaits)
{
    test::ChildResult result = test::run_child("waits_in_the_handler_of_a_torn_child", looks_seldom);
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains(torn)) << result.output;
}

#if defined(__x86_64__)
/* A fork inside a call of the library takes no lock, so it does not matter which locks the interrupted call holds. */
TEST_F(ForkHandlers, HandlerMayForkAtAnyInstructionOfACall)
{
    test::ChildResult result = test::run_child("forks_twice_at_steps_of_its_calls");
    EXPECT_TRUE(exited_well(result)) << result.output;
    EXPECT_FALSE(result.contains("rtrcu: ")) << result.output;
}
#endif

TEST_F(ForkHandlers, HandlerMayForkDuringAForkOfItsThread)
{
    test::ChildResult result = test::run_child("forks_while_it_forks", {"RTRCU_FORK_WAIT_US=5000000"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains(torn)) << result.output;
}

TEST_F(ForkHandlers, ChildForkedOutsideTheLibraryMayCallTheLibrary)
{
    EXPECT_TRUE(exited_well(test::run_child("forks_outside_the_library")));
}

} // namespace
