/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a fork's child asks for by itself, and what a callback may do that rcu_barrier() runs: fork, and change the
 * configuration; and a handler that forks while its thread waits.
 */
#include <atomic>
#include <csignal>
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

/* ---- a handler that forks ---- */

std::atomic<int> forked_by_handler{0};
std::atomic<bool> is_child{false};

void fork_in_handler(int)
{
    if (is_child)
        return;
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        is_child = true;
        alarm(30);
    } else {
        forked_by_handler++;
    }
}

/* The thread waits for a grace period that a reader holds up; in the child that reader is gone.  Asleep, the thread is
 * inside none of the library's locks. */
template <typename Wait> void fork_while_waiting(Wait until)
{
    test::Worker reader;
    synchronize_rcu_expedited(); /* the worker is there */
    signal(SIGUSR1, fork_in_handler);
    reader.run([] { rcu_read_lock(); });
    pthread_t self = pthread_self();
    pid_t thread = getpid();
    std::thread sender([&] {
        for (int i = 0; i < 20; i++) {
            REQUIRE(test::eventually([thread] { return test::is_asleep(thread); }));
            pthread_kill(self, SIGUSR1);
            REQUIRE(test::eventually([i] { return forked_by_handler > i; }));
        }
        reader.run([] { rcu_read_unlock(); });
    });
    until();
    if (is_child)
        _exit(0);
    sender.join();
    for (int i = 0; i < 20; i++) {
        int status = -1;
        REQUIRE(wait(&status) > 0);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

CHILD(forks_while_it_waits)
{
    fork_while_waiting(rtrcu_synchronize);
}

CHILD(forks_while_it_waits_expedited)
{
    fork_while_waiting(rtrcu_synchronize_expedited);
}

CHILD(forks_while_it_waits_for_callbacks)
{
    fork_while_waiting([] {
        queue(1);
        rcu_barrier();
        REQUIRE(runs == 1);
    });
}

/* The thread's own fork waits for a callback when its handler forks; that one's child goes on with the fork. */
CHILD(forks_while_it_forks)
{
    static test::Steps steps;
    static rcu_head head;
    call_rcu(&head, [](rcu_head *) {
        steps.reach(1);
        steps.wait(2);
    });
    steps.wait(1);
    signal(SIGUSR1, fork_in_handler);
    pthread_t self = pthread_self();
    pid_t thread = getpid();
    std::thread sender([&] {
        REQUIRE(test::eventually([thread] { return test::is_asleep(thread); }));
        pthread_kill(self, SIGUSR1);
    });
    fork_here();
    if (forked == 0)
        _exit(0);
    if (is_child) {
        queue(3);
        REQUIRE(test::eventually([] { return runs == 3; }));
        end_both();
        _exit(0);
    }
    sender.join();
    steps.reach(2);
    end_both();
    int status = -1;
    REQUIRE(wait(&status) > 0);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
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

/* While another thread is about to go back to light fences, and has the lock of the configuration. */
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
        configuring.reach(1); /* where no call can be trapped, nobody is inside it */
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

/* Another thread of the child, which asks for a change that is refused, and so is done as soon as it has the lock. */
class Refused
{
    std::atomic<pid_t> id_{0};
    std::atomic<bool> done_{false};
    std::thread thread_;

  public:
    Refused()
        : thread_([this] {
              struct rtrcu_config config = {};
              config.size = 1;
              id_ = gettid();
              REQUIRE(rtrcu_configure(&config) < 0);
              done_ = true;
          })
    {
    }
    void is_waiting()
    {
        REQUIRE(test::eventually([this] { return id_ && (done_ || test::is_asleep(id_)); }));
        REQUIRE(!done_);
    }
    void is_done()
    {
        thread_.join();
    }
};

Refused *refused;

/* While the thread is about to go back to light fences, and has the lock of the configuration. */
long fork_inside()
{
    if (is_inside.exchange(true))
        return 0;
    fork_here();
    if (forked == 0) {
        refused = new Refused;
        refused->is_waiting();
    }
    return 0;
}

CHILD(forks_while_it_configures)
{
    std::thread([] {
        if (!test::trap(SYS_membarrier, nullptr, fork_inside))
            _exit(3);
        set_membarrier(RTRCU_MEMBARRIER_AUTO);
        REQUIRE(is_inside);
        if (forked == 0)
            refused->is_done();
        set_membarrier(RTRCU_MEMBARRIER_AUTO);
        end_both();
    }).join();
}

using ForkCalls = ForkedTest;

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

TEST_F(ForkCalls, ByAHandlerWhileTheThreadWaits)
{
    const std::vector<std::string> looks_seldom = {"RTRCU_TICK_US=1000000", "RTRCU_SPIN_US=0"};
    EXPECT_TRUE(exited_well(test::run_child("forks_while_it_waits", looks_seldom)));
    EXPECT_TRUE(exited_well(test::run_child("forks_while_it_waits_expedited", looks_seldom)));
    EXPECT_TRUE(exited_well(test::run_child("forks_while_it_waits_for_callbacks", looks_seldom)));
}

TEST_F(ForkCalls, ByAHandlerWhileTheThreadForks)
{
    EXPECT_TRUE(exited_well(test::run_child("forks_while_it_forks", {"RTRCU_FORK_WAIT_US=500000"})));
}

/* In the child the other is gone, and would never let go of the lock. */
TEST_F(ForkCalls, WhileAnotherThreadConfigures)
{
    test::ChildResult result = test::run_child("forks_while_another_configures", {"RTRCU_MEMBARRIER=off"});
    if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == 3)
        GTEST_SKIP() << "no call can be trapped here, or membarrier is not had";
    EXPECT_TRUE(exited_well(result));
}

/* The lock stays the thread's in the child too, where it goes on. */
TEST_F(ForkCalls, ByAHandlerWhileTheThreadConfigures)
{
    test::ChildResult result = test::run_child("forks_while_it_configures", {"RTRCU_MEMBARRIER=off"});
    if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == 3)
        GTEST_SKIP() << "no call can be trapped here";
    EXPECT_TRUE(exited_well(result));
}

TEST(ConfigureCalls, ABarriersCallbackMayConfigure)
{
    EXPECT_TRUE(exited_well(test::run_child("a_callback_configures")));
    EXPECT_TRUE(exited_well(test::run_child("a_callback_configures", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

} // namespace
