/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of budgets and deadlines of owners that run their callbacks, of callbacks that throw or end their thread, of
 * cancellation, and of backlogs that cannot shrink while the caller waits. */
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "../support/sync.h"
#include "child.h"
#include "configured.h"

namespace
{

class Budgets : public test::Configured
{
  protected:
    void inline_policy()
    {
        configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_INLINE; });
    }
};

std::atomic<long> runs;

struct Counted {
    rcu_head head;
};

void count(rcu_head *head)
{
    runs++;
    delete reinterpret_cast<Counted *>(head);
}

void queue_counted(int times, rcu_callback_t func = count)
{
    runs = 0;
    for (int i = 0; i < times; i++)
        call_rcu(&(new Counted{})->head, func);
}

/* ---- budgets ---- */

TEST_F(Budgets, BudgetBeyondTheClocksRangeIsUnlimited)
{
    inline_policy();
    uint64_t stops = test::stats().budget_stops;
    test::Worker owner;
    owner.run([&] {
        queue_counted(5);
        ASSERT_TRUE(test::eventually([&] {
            rcu_process_callbacks(INT64_MAX);
            return runs == 5;
        }));
    });
    EXPECT_EQ(test::stats().budget_stops, stops);
}

TEST_F(Budgets, BatchFreesAtMostItsLimitOfPointers)
{
    configure([](struct rtrcu_config *config) {
        config->policy = RTRCU_POLICY_INLINE;
        config->blimit = 10;
        config->budget_ns = 1000000000;
    });
    test::Worker owner;
    owner.run([&] {
        for (int i = 0; i < 600; i++)
            rcu_free(malloc(16));
        for (int i = 0; i < 600; i++)
            ASSERT_EQ(rcu_retire(malloc(16), [](void *memory) { free(memory); }), 0);
        unsigned long sum = 0, largest = 0;
        ASSERT_TRUE(test::eventually([&] {
            unsigned long batch = rcu_process_callbacks(0);
            largest = batch > largest ? batch : largest;
            sum += batch;
            return test::stats().callbacks_backlog == 0;
        }));
        EXPECT_LE(largest, 10u);
        EXPECT_GE(sum, 1u);
    });
}

/* ---- deadlines ---- */

TEST_F(Budgets, CallbacksRunEvenIfADeadlineIsAlwaysNear)
{
    for (int32_t backpressure : {RTRCU_BACKPRESSURE_EXPEDITE, RTRCU_BACKPRESSURE_HELP}) {
        struct rtrcu_config config = test::config_in_force();
        config.policy = RTRCU_POLICY_INLINE;
        config.backpressure = backpressure;
        ASSERT_EQ(rtrcu_configure(&config), 0);
        test::Worker owner;
        owner.run([&] {
            rcu_set_deadline(1);
            queue_counted(20);
            ASSERT_TRUE(test::eventually([&] {
                EXPECT_EQ(rcu_process_callbacks(0), 0u);
                return runs == 20;
            }));
        });
    }
}

const std::vector<std::string> without_a_thread = {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"};

CHILD(barrier_of_a_thread_past_its_deadline)
{
    rcu_set_deadline(1);
    queue_counted(20);
    rcu_barrier();
    REQUIRE(runs == 20);
    queue_counted(1);
    for (int i = 0; i < 100; i++)
        REQUIRE(rcu_process_callbacks(0) == 0); /* the deadline is in force again */
    rcu_barrier();
    REQUIRE(runs == 1);
}

TEST_F(Budgets, BarrierCompletesEvenIfTheDeadlineHasPassed)
{
    EXPECT_TRUE(exited_well(test::run_child("barrier_of_a_thread_past_its_deadline", without_a_thread)));
}

/* ---- callbacks that do not return ---- */

/* A daemon may take over the callbacks of a preempted owner.  On a daemon's thread the callback must not throw. */
thread_local bool is_owner;
std::atomic<int> thrown;

void throws(rcu_head *head)
{
    count(head);
    if (!is_owner)
        return;
    thrown++;
    throw 42;
}

TEST_F(Budgets, ExceptionOfACallbackPropagatesAndLaterCallbacksRun)
{
    inline_policy();
    test::Worker owner;
    owner.run([&] {
        is_owner = true;
        int caught = 0;
        auto process_and_catch = [&] {
            try {
                rcu_process_callbacks(-1);
            } catch (int) {
                caught++;
            }
        };
        auto run_three_that_throw = [&] {
            queue_counted(3, throws);
            return test::eventually([&] {
                process_and_catch();
                return runs == 3;
            });
        };
        /* A daemon may run some of the callbacks; on its thread they do not throw. */
        ASSERT_TRUE(test::eventually([&] { return run_three_that_throw() && caught >= 3; }));
        EXPECT_EQ(caught, thrown);

        queue_counted(2);
        rcu_barrier();
        EXPECT_EQ(runs, 2) << "the queue continues";
    });
}

CHILD(throws_out_of_a_barrier)
{
    int caught = 0;
    is_owner = true;
    REQUIRE(rcu_register_thread_qsbr() == 0);
    queue_counted(1, throws);
    try {
        rcu_barrier();
    } catch (int) {
        caught++;
    }
    REQUIRE(caught == 1);
    rcu_quiescent_state();
    queue_counted(2);
    rcu_barrier();
    REQUIRE(runs == 2);
}

TEST_F(Budgets, ExceptionOfACallbackPropagatesThroughABarrier)
{
    EXPECT_TRUE(exited_well(test::run_child("throws_out_of_a_barrier", without_a_thread)));
}

TEST_F(Budgets, ThreadThatExitsInsideACallbackLeavesItsQueueToOtherThreads)
{
    inline_policy();
    std::thread([] {
        queue_counted(3, [](rcu_head *head) {
            bool first = runs == 0;
            count(head);
            if (first)
                pthread_exit(nullptr);
        });
        test::eventually([] {
            rcu_process_callbacks(-1);
            return runs == 3;
        });
    }).join();
    rcu_barrier();
    EXPECT_EQ(runs, 3);
}

void cancelled_inside(rcu_head *head)
{
    if (is_owner)
        pthread_cancel(pthread_self());
    pthread_testcancel();
    count(head);
}

TEST_F(Budgets, CancelledThreadEndsAfterItsCallbacks)
{
    inline_policy();
    std::atomic<bool> survived{false};
    auto run_three_that_cancel = [] {
        queue_counted(3, cancelled_inside);
        test::eventually([] {
            rcu_process_callbacks(-1);
            return runs == 3;
        });
    };
    std::thread([&] {
        is_owner = true;
        test::eventually([&] {
            run_three_that_cancel();
            pthread_testcancel(); /* ends the thread, if it has run a callback itself */
            return false;
        });
        survived = true;
    }).join();

    EXPECT_EQ(runs, 3) << "each callback ran to its end";
    EXPECT_FALSE(survived);
    rcu_barrier();
}

/* ---- backpressure=block ---- */

void block_at_five(struct rtrcu_config *config)
{
    config->qmax = 5;
    config->backpressure = RTRCU_BACKPRESSURE_BLOCK;
}

std::mutex held;

void takes_the_lock(rcu_head *head)
{
    held.lock();
    held.unlock();
    count(head);
}

/* The callbacks need a lock that the caller holds, like the allocator's, so they cannot return while it waits. */
TEST_F(Budgets, BackpressureBlockReturnsIfTheCallerHoldsALockThatCallbacksTake)
{
    configure(block_at_five);
    struct rtrcu_stats before = test::stats();
    std::thread([] {
        std::lock_guard guard(held);
        queue_counted(7, takes_the_lock);
    }).join();
    EXPECT_GE(test::stats().blocked_at_qmax, before.blocked_at_qmax + 1);
    EXPECT_GE(test::stats().over_qmax, before.over_qmax + 1);
    rcu_barrier();
    EXPECT_EQ(runs, 7);
}

TEST_F(Budgets, BackpressureBlockIsNotAQuiescentState)
{
    configure(block_at_five);
    uint64_t before = test::stats().blocked_at_qmax;
    test::Worker owner;
    owner.run([&] {
        ASSERT_EQ(rcu_register_thread_qsbr(), 0);
        unsigned long cookie = start_poll_synchronize_rcu();
        queue_counted(50);
        EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
        rcu_thread_offline();
    });
    EXPECT_EQ(test::stats().blocked_at_qmax, before);
}

/* ---- a barrier that is stuck ---- */

void never_returns(rcu_head *)
{
    for (;;)
        pause();
}

CHILD(barrier_after_an_endless_callback)
{
    queue_counted(2, never_returns);
    rcu_free(malloc(16));
    rcu_barrier();
}

TEST_F(Budgets, StuckBarrierIsReported)
{
    test::ChildResult result = test::run_child_until("barrier_after_an_endless_callback", "invokes them, and runs",
                                                     {"RTRCU_STALL_TIMEOUT_MS=30"});
    EXPECT_FALSE(result.timed_out);
    EXPECT_TRUE(result.contains("rcu_barrier() has waited for")) << result.output;
    EXPECT_TRUE(result.contains("for 3 callbacks and frees of thread")) << result.output;
}

/* ---- errno ---- */

TEST_F(Budgets, CallRcuPreservesErrno)
{
    std::thread([] {
        for (int i = 0; i < 3000; i++) {
            errno = 4711;
            call_rcu(&(new Counted{})->head, count);
            rcu_free(malloc(16));
            ASSERT_EQ(errno, 4711);
        }
    }).join();
}

} // namespace
