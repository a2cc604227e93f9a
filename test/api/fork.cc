/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of fork(): the child keeps queued callbacks, has one reader, and may use the library.
 * test/unit/callback/fork.cc tests the repair of queues in each state. */
#include <atomic>
#include <csignal>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../support/sync.h"
#include "child.h"
#include "forked.h"
#include "owned.h"

namespace
{

using owned::queue, owned::runs;

void run(rcu_head *)
{
    runs++;
}

std::atomic<int> forked_inside{0};

class Fork : public ForkedTest
{
  protected:
    void SetUp() override
    {
        ForkedTest::SetUp();
        if (IsSkipped())
            return;
        rcu_barrier();
        runs = forked_inside = 0;
    }
    void TearDown() override
    {
        rcu_barrier();
    }
};

TEST_F(Fork, ChildReadsAndSynchronizes)
{
    in_forked_child([] {
        REQUIRE(!rcu_read_lock_held());
        rcu_read_lock();
        REQUIRE(rcu_read_lock_held());
        rcu_read_unlock();
        unsigned long cookie = get_state_synchronize_rcu();
        unsigned long expedited = get_state_synchronize_rcu_expedited();
        REQUIRE(!poll_state_synchronize_rcu(cookie) && !poll_state_synchronize_rcu_expedited(expedited));
        synchronize_rcu();
        REQUIRE(poll_state_synchronize_rcu(cookie));
        synchronize_rcu_expedited();
        REQUIRE(poll_state_synchronize_rcu_expedited(expedited));
        cookie = start_poll_synchronize_rcu();
        cond_synchronize_rcu(cookie);
        REQUIRE(poll_state_synchronize_rcu(cookie));
        rcu_barrier();
    });
}

TEST_F(Fork, ChildIsTheOnlyReader)
{
    test::Worker other;
    other.run([] { rcu_read_lock(); });
    rcu_read_lock();
    rcu_read_unlock();
    in_forked_child([] {
        REQUIRE(test::stats().threads_registered == 1);
        synchronize_rcu(); /* the calling thread is outside */
    });
    other.run([] { rcu_read_unlock(); });
    synchronize_rcu();
}

TEST_F(Fork, SectionContinuesInTheChild)
{
    rcu_read_lock();
    in_forked_child([] {
        REQUIRE(rcu_read_lock_held());
        std::atomic<bool> done{false};
        uint64_t slept = test::stats().gp_slept;
        std::thread updater([&] {
            synchronize_rcu();
            done = true;
        });
        REQUIRE(test::eventually([&] { return test::stats().gp_slept > slept; }));
        REQUIRE(!done);
        rcu_read_unlock();
        updater.join();
    });
    EXPECT_TRUE(rcu_read_lock_held());
    rcu_read_unlock();
    synchronize_rcu();
}

TEST_F(Fork, QuiescentStateThreadKeepsItsDiscipline)
{
    test::Worker worker;
    worker.run([] {
        ASSERT_EQ(rtrcu_register_thread(RTRCU_QSBR | RTRCU_DEADLINE), 0);
        in_forked_child([] {
            REQUIRE(rcu_read_lock_held());
            REQUIRE(test::stats().threads_deadline == 1);
            std::atomic<bool> done{false};
            std::thread updater([&] {
                synchronize_rcu();
                done = true;
            });
            while (!done)
                rcu_quiescent_state();
            updater.join();
            rcu_thread_offline();
        });
        rcu_thread_offline();
    });
}

/* ---- callbacks ---- */

TEST_F(Fork, QueuedCallbacksRunInBothProcesses)
{
    static std::atomic<int> retired;
    retired = 0;
    test::Worker reader, queuer;
    reader.run([] { rcu_read_lock(); }); /* keeps callbacks from becoming ready before the fork */
    queue(10);
    queuer.run([] { queue(20); });
    std::thread([] { queue(5); }).join();
    for (int i = 0; i < 7; i++)
        rcu_free(malloc(8));
    for (int i = 0; i < 7; i++)
        ASSERT_EQ(rcu_retire(&retired, [](void *times) { ++*static_cast<std::atomic<int> *>(times); }), 0);
    in_forked_child([] {
        rcu_barrier();
        REQUIRE(runs == 35);
        REQUIRE(retired == 7);
        REQUIRE(test::stats().callbacks_backlog == 0);
        REQUIRE(test::stats().callbacks_lost_at_fork == 0);
        queue(3);
        rcu_barrier();
        REQUIRE(runs == 38);
    });
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(retired, 0);
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    EXPECT_EQ(runs, 35);
    EXPECT_EQ(retired, 7);
}

TEST_F(Fork, ChildRunsQueuedCallbacksIfOwnersRunThem)
{
    struct rtrcu_config saved, config;
    rtrcu_config_get(&saved);
    config = saved;
    config.policy = RTRCU_POLICY_INLINE;
    ASSERT_EQ(rtrcu_configure(&config), 0);
    test::Worker other;
    other.run([] { queue(4); });
    queue(4);
    synchronize_rcu();
    in_forked_child([] {
        rcu_barrier();
        REQUIRE(runs + static_cast<long>(test::stats().callbacks_lost_at_fork) >= 8);
        long before = runs; /* read after the barrier, and before a daemon can run the callbacks queued next */
        queue(4);
        REQUIRE(test::eventually([&] {
            rcu_process_callbacks(-1);
            return runs == before + 4;
        }));
    });
    ASSERT_EQ(rtrcu_configure(&saved), 0);
}

void fork_inside(rcu_head *)
{
    in_forked_child([] {
        runs++; /* counts fork_inside() itself, as the parent does below */
        rcu_read_lock();
        rcu_read_unlock();
        queue(2);
        synchronize_rcu();
    });
    forked_inside++;
    runs++;
}

TEST_F(Fork, CallbackMayFork)
{
    static rcu_head head;
    queue(3);
    call_rcu(&head, fork_inside);
    queue(3);
    rcu_barrier();
    EXPECT_EQ(forked_inside, 1);
    EXPECT_EQ(runs, 7);
}

/* When the callback that forked returns in the child, the child continues the batch. */
int batch_left, batch_size;

void nothing(rcu_head *)
{
}

void fork_and_return(rcu_head *)
{
    fflush(nullptr);
    pid_t pid = fork();
    if (pid == 0) {
        /* the child's first callback, which creates its driver in case some belong to another batch */
        static rcu_head request;
        batch_left = 1;
        call_rcu(&request, nothing);
        return;
    }
    int status = -1;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        forked_inside++;
}

void end_the_child(rcu_head *)
{
    if (batch_left)
        _exit(runs == batch_size ? 0 : 1);
}

void fork_before(int rest)
{
    static rcu_head forking, ending;
    forked_inside = 0;
    test::Worker reader;
    reader.run([] { rcu_read_lock(); }); /* so that all callbacks become ready together */
    batch_size = rest + 3;
    queue(3);
    call_rcu(&forking, fork_and_return);
    queue(rest);
    call_rcu(&ending, end_the_child);
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    EXPECT_EQ(forked_inside, 1);
    EXPECT_EQ(runs, batch_size);
}

TEST_F(Fork, ChildOfACallbackRunsTheRestOfTheBatch)
{
    fork_before(2);
}

/* A batch of a daemon ends before the backlog does; in the child, the queue is on no daemon's list. */
TEST_F(Fork, ChildOfACallbackRunsABacklogLongerThanABatch)
{
    fork_before(10000);
}

/* ---- locks that callbacks take ---- */

pthread_mutex_t taken_by_callbacks = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> keep_going;

void take_and_queue_again(rcu_head *head)
{
    pthread_mutex_lock(&taken_by_callbacks);
    for (int i = 0; i < 20000; i++)
        __asm__ __volatile__("");
    pthread_mutex_unlock(&taken_by_callbacks);
    runs++;
    if (keep_going)
        call_rcu(head, take_and_queue_again);
}

/* fork() waits until daemons are between callbacks, so no thread that is missing in the child holds such a lock. */
CHILD(fork_beside_callbacks_that_lock)
{
    static rcu_head heads[200];
    keep_going = true;
    for (rcu_head &head : heads)
        call_rcu(&head, take_and_queue_again);
    for (int i = 0; i < 20; i++) {
        long before = runs;
        REQUIRE(test::eventually([&] { return runs > before + 50; }));
        in_forked_child([] {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_sec += 10;
            REQUIRE(pthread_mutex_timedlock(&taken_by_callbacks, &until) == 0);
            keep_going = false;
            pthread_mutex_unlock(&taken_by_callbacks);
            REQUIRE(test::stats().callbacks_lost_at_fork == 0);
            rcu_barrier();
        });
    }
    keep_going = false;
    rcu_barrier();
}

TEST_F(Fork, LockOfCallbacksIsFreeInTheChild)
{
    /* fork() waits up to a minute for callbacks, since a daemon may have to wait for a CPU */
    EXPECT_TRUE(exited_well(test::run_child("fork_beside_callbacks_that_lock", {"RTRCU_FORK_WAIT_US=60000000"})));
}

/* Neither parent nor child waits for ever for a callback that does not return. */
CHILD(fork_beside_an_endless_callback)
{
    static test::Steps steps;
    static rcu_head head;
    call_rcu(&head, [](rcu_head *) {
        steps.reach(1);
        steps.wait(2);
    });
    steps.wait(1);
    queue(3);
    in_forked_child([] {
        rcu_barrier();
        REQUIRE(test::stats().callbacks_lost_at_fork == 1);
        REQUIRE(runs == 3);
    });
    steps.reach(2);
    rcu_barrier();
    REQUIRE(runs == 3);
}

TEST_F(Fork, ForkStopsWaitingForAnEndlessCallbackAndReportsIt)
{
    test::ChildResult result = test::run_child("fork_beside_an_endless_callback");
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("a callback has not returned")) << result.output;
    result = test::run_child("fork_beside_an_endless_callback", {"RTRCU_FORK_WAIT_US=0"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_FALSE(result.contains("a callback has not returned"))
        << "with fork_wait_us=0 the fork does not wait: " << result.output;
}

/* ---- the child's driver ---- */

CHILD(deadline_loop_continues_in_the_child)
{
    REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE) == 0);
    in_forked_child([] {
        REQUIRE(test::eventually([] {
            rcu_read_lock();
            rcu_read_unlock();
            if (runs < 5)
                queue(1);
            return runs >= 5;
        }));
    });
}

CHILD(quiescent_deadline_loop_continues_in_the_child)
{
    REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE | RTRCU_QSBR) == 0);
    in_forked_child([] {
        queue(1);
        REQUIRE(test::eventually([] {
            rcu_quiescent_state();
            return runs >= 1;
        }));
        rcu_thread_offline();
    });
    rcu_thread_offline();
}

TEST_F(Fork, DeadlineLoopsCallbacksRunInTheChild)
{
    EXPECT_TRUE(exited_well(test::run_child("deadline_loop_continues_in_the_child")));
    EXPECT_TRUE(exited_well(test::run_child("quiescent_deadline_loop_continues_in_the_child")));
}

/* ---- threads ---- */

TEST_F(Fork, ChildCreatesItsOwnThreads)
{
    in_forked_child([] {
        std::atomic<long> reads{0};
        std::atomic<bool> stop{false};
        std::vector<std::thread> readers;
        for (int i = 0; i < 4; i++) {
            readers.emplace_back([&] {
                do {
                    rcu_read_lock();
                    reads++;
                    rcu_read_unlock();
                    queue(1);
                } while (!stop);
            });
        }
        for (int i = 0; i < 50; i++)
            synchronize_rcu();
        stop = true;
        for (auto &reader : readers)
            reader.join();
        rcu_barrier();
        REQUIRE(runs == reads);
    });
}

TEST_F(Fork, GrandchildCreatesItsOwnThreads)
{
    queue(2);
    in_forked_child([] {
        in_forked_child([] {
            rcu_read_lock();
            queue(2);
            rcu_read_unlock(); /* no callback has run yet */
            rcu_barrier();
            REQUIRE(runs == 4);
        });
        rcu_barrier();
        REQUIRE(runs == 2);
    });
}

/* The process forks while other threads read, queue, free, register and wait, and the child uses the library. */
TEST_F(Fork, ChildUsesTheLibraryAfterAForkUnderLoad)
{
    constexpr int forks = 100;
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    auto until_stopped = [&](auto body) {
        threads.emplace_back([&stop, body] {
            while (!stop)
                body();
        });
    };
    until_stopped([] {
        rcu_read_lock();
        queue(5);
        rcu_read_unlock();
        if (test::stats().callbacks_backlog > 5000)
            rcu_barrier();
    });
    until_stopped([] { rcu_free(malloc(16)); });
    until_stopped([] { synchronize_rcu(); });
    until_stopped([] { std::thread([] { queue(1); }).join(); });
    for (int i = 0; i < forks; i++) {
        in_forked_child([] {
            rcu_read_lock();
            rcu_read_unlock();
            std::atomic<long> before{runs.load()};
            static rcu_head head;
            call_rcu(&head, run);
            rcu_barrier();
            REQUIRE(runs > before);
            REQUIRE(test::stats().callbacks_backlog == 0);
            synchronize_rcu();
        });
        if (HasFailure())
            break;
    }
    stop = true;
    for (auto &thread : threads)
        thread.join();
}

TEST_F(Fork, SeveralThreadsForkConcurrently)
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([] {
            for (int i = 0; i < 8; i++) {
                queue(3);
                in_forked_child([] {
                    rcu_barrier();
                    synchronize_rcu();
                });
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
    rcu_barrier();
    EXPECT_EQ(runs, 96);
}

/* In the parent, a thread serves the request.  The child has no such thread, so a new request must start one. */
TEST_F(Fork, OldCookieIsReachedOnceTheChildRequestsAGracePeriod)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    unsigned long before = start_poll_synchronize_rcu(), before_expedited = start_poll_synchronize_rcu_expedited();
    EXPECT_FALSE(poll_state_synchronize_rcu(before) || poll_state_synchronize_rcu_expedited(before_expedited));
    in_forked_child([&] {
        unsigned long cookie = start_poll_synchronize_rcu();
        REQUIRE(test::eventually([&] { return poll_state_synchronize_rcu(cookie); }));
        REQUIRE(poll_state_synchronize_rcu(before));
        cookie = start_poll_synchronize_rcu_expedited();
        REQUIRE(test::eventually([&] { return poll_state_synchronize_rcu_expedited(cookie); }));
        REQUIRE(poll_state_synchronize_rcu_expedited(before_expedited));
    });
    reader.run([] { rcu_read_unlock(); });
    cond_synchronize_rcu(before);
    cond_synchronize_rcu_expedited(before_expedited);
}

/* The child queues while its parent's callbacks are still in the inbox, which the driver empties once per tick. */
CHILD(child_queues_after_its_parent)
{
    queue(1);
    std::thread([] { queue(1); }).join();
    queue(1);
    queue(1);
    in_forked_child([] {
        queue(1);
        REQUIRE(test::eventually([] { return runs >= 4; }));
    });
    rcu_barrier();
}

TEST_F(Fork, CallbacksOfTheChildRunWithoutABarrier)
{
    EXPECT_TRUE(exited_well(test::run_child("child_queues_after_its_parent", {"RTRCU_TICK_US=1000000"})));
}

/* Runs with sanitizers too, since the child creates no thread. */
TEST(ForkPlain, ParentAndChildMaySynchronizeAfterAForkInsideASection)
{
    EXPECT_TRUE(exited_well(test::run_child("plain_fork")));
}

CHILD(plain_fork)
{
    rcu_read_lock();
    pid_t pid = fork();
    REQUIRE(pid >= 0 && rcu_read_lock_held());
    rcu_read_unlock();
    unsigned long cookie = get_state_synchronize_rcu();
    synchronize_rcu();
    REQUIRE(poll_state_synchronize_rcu(cookie));
    if (pid == 0)
        _exit(0);
    int status;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

} // namespace
