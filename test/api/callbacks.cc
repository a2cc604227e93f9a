/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callbacks as programs use them: order, threads that end, bulk frees, barriers, calls inside callbacks.
 */
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "../support/sync.h"
#include "child.h"
#include "configured.h"

namespace
{

class Callbacks : public test::Configured
{
};

struct Counted {
    rcu_head head;
    std::atomic<long> *count;
};

void count(rcu_head *head)
{
    Counted *counted = reinterpret_cast<Counted *>(head);
    counted->count->fetch_add(1);
    delete counted;
}

void queue_counted(std::atomic<long> *counter, int times = 1)
{
    for (int i = 0; i < times; i++) {
        Counted *counted = new Counted{{}, counter};
        call_rcu(&counted->head, count);
    }
}

TEST_F(Callbacks, RunAfterAGracePeriodNotBefore)
{
    test::Worker reader;
    std::atomic<long> runs{0};
    reader.run([] { rcu_read_lock(); });
    uint64_t busy = test::stats().gp_busy;
    queue_counted(&runs);
    ASSERT_TRUE(test::eventually([&] { return test::stats().gp_busy > busy; }));
    EXPECT_EQ(runs, 0);
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    EXPECT_EQ(runs, 1);
}

TEST_F(Callbacks, HurryDoesNotWaitForTheTick)
{
    configure([](struct rtrcu_config *config) { config->tick_us = 1000000; });
    std::atomic<long> runs{0};
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; i++) {
        Counted *counted = new Counted{{}, &runs};
        call_rcu_hurry(&counted->head, count);
        ASSERT_TRUE(test::eventually([&] { return runs == i + 1; }));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "it is ten ticks";
}

struct Ordered {
    rcu_head head;
    std::vector<int> *order; /* of one thread: its callbacks run one at a time */
    int number;
};

void note_order(rcu_head *head)
{
    Ordered *ordered = reinterpret_cast<Ordered *>(head);
    ordered->order->push_back(ordered->number);
    delete ordered;
}

TEST_F(Callbacks, EachThreadsRunInOrder)
{
    constexpr int threads = 6, each = 3000;
    std::vector<std::vector<int>> orders(threads);
    std::vector<std::thread> all;
    for (auto &order : orders) {
        all.emplace_back([&order] {
            for (int i = 0; i < each; i++) {
                auto *ordered = new Ordered{{}, &order, i};
                call_rcu(&ordered->head, note_order);
                if (i % 500 == 0)
                    synchronize_rcu();
            }
        });
    }
    for (auto &thread : all)
        thread.join();
    rcu_barrier();
    for (auto &order : orders) {
        ASSERT_EQ(order.size(), static_cast<size_t>(each));
        for (int i = 0; i < each; i++)
            ASSERT_EQ(order[static_cast<size_t>(i)], i);
    }
}

TEST_F(Callbacks, ThoseOfThreadsThatEndedRunAndTheirSlotsAreUsedAgain)
{
    std::atomic<long> runs{0};
    rcu_barrier();
    uint64_t peak_before = test::stats().threads_peak;
    for (int turn = 0; turn < 300; turn++) {
        std::thread([&] { queue_counted(&runs, 3); }).join();
        if (turn % 50 == 0)
            rcu_barrier();
    }
    rcu_barrier();
    EXPECT_EQ(runs, 900);
    EXPECT_LE(test::stats().threads_peak, peak_before + 3) << "one at a time, daemons besides";
}

TEST_F(Callbacks, FreesInBulk)
{
    uint64_t before = test::stats().callbacks_invoked;
    std::vector<std::thread> all;
    for (int t = 0; t < 3; t++) {
        all.emplace_back([] {
            for (int i = 0; i < 2000; i++)
                rcu_free(malloc(24));
            rcu_free(nullptr);
        });
    }
    for (auto &thread : all)
        thread.join();
    rcu_barrier();
    EXPECT_EQ(test::stats().callbacks_invoked - before, 6000u);
}

struct Embedded {
    char front[40];
    rcu_head head;
};

TEST_F(Callbacks, FreesByAnEmbeddedHead)
{
    uint64_t before = test::stats().callbacks_invoked;
    for (int i = 0; i < 100; i++) {
        auto *object = static_cast<Embedded *>(malloc(sizeof(Embedded)));
        rcu_free_head(object, head);
    }
    rcu_barrier();
    EXPECT_EQ(test::stats().callbacks_invoked - before, 100u);
}

TEST_F(Callbacks, TheMacrosEvaluateTheirArgumentsOnce)
{
    int evaluated = 0;
    auto made = [&] {
        evaluated++;
        return static_cast<Embedded *>(malloc(sizeof(Embedded)));
    };
    rcu_free_head(made(), head);
    EXPECT_EQ(evaluated, 1);
    Embedded *pointers[2] = {nullptr, nullptr}, **next = pointers;
    RCU_INIT_POINTER(*next++, nullptr);
    EXPECT_EQ(next, pointers + 1);
    rcu_assign_pointer(*next++, made());
    EXPECT_EQ(next, pointers + 2);
    EXPECT_EQ(evaluated, 2);
    free(rcu_xchg_pointer(--next, nullptr));
    EXPECT_EQ(next, pointers + 1);
    EXPECT_EQ(rcu_dereference(*--next), nullptr);
    EXPECT_EQ(rcu_access_pointer(*next++), nullptr);
    EXPECT_EQ(next, pointers + 1);
    rcu_barrier();
}

/* ---- barrier ---- */

struct Again {
    rcu_head head;
    std::atomic<long> runs{0};
    std::atomic<bool> stop{false}, stopped{false};
};

void again(rcu_head *head)
{
    Again *self = reinterpret_cast<Again *>(head);
    self->runs++;
    if (self->stop)
        self->stopped = true;
    else
        call_rcu(head, again);
}

TEST_F(Callbacks, BarrierIsNotStarvedByThoseThatQueueThemselves)
{
    Again self;
    std::atomic<long> runs{0};
    call_rcu(&self.head, again);
    for (int i = 0; i < 20; i++) {
        queue_counted(&runs);
        long before = self.runs;
        rcu_barrier();
        EXPECT_EQ(runs, i + 1);
        EXPECT_GE(self.runs, before) << "it goes on";
    }
    self.stop = true;
    ASSERT_TRUE(test::eventually([&] { return self.stopped.load(); }));
}

TEST_F(Callbacks, BarriersOfSeveralThreadsAtOnce)
{
    std::atomic<long> runs{0};
    std::vector<std::thread> all;
    for (int t = 0; t < 6; t++) {
        all.emplace_back([&] {
            std::atomic<long> own{0};
            for (int i = 0; i < 30; i++) {
                queue_counted(&own, 2);
                queue_counted(&runs);
                rcu_barrier();
                EXPECT_EQ(own, 2 * (i + 1));
            }
        });
    }
    for (auto &thread : all)
        thread.join();
    EXPECT_EQ(runs, 180);
}

TEST_F(Callbacks, BarrierWithNothingQueued)
{
    rcu_barrier();
    uint64_t before = test::stats().gp_completed;
    rcu_barrier();
    EXPECT_EQ(test::stats().gp_completed, before) << "nothing to wait for";
}

/* With an owner's policy, an owner that sleeps must not hold up a barrier. */
TEST_F(Callbacks, BarrierDoesNotWaitForAnOwnerThatSleeps)
{
    configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_INLINE; });
    test::Worker owner;
    std::atomic<long> runs{0};
    for (int i = 0; i < 5; i++) {
        owner.run([&] { queue_counted(&runs, 10); }); /* and then it sleeps */
        rcu_barrier();
        EXPECT_EQ(runs, 10 * (i + 1));
    }
}

TEST_F(Callbacks, AQuiescentStateThreadIsOfflineInABarrier)
{
    test::Worker one, two;
    std::atomic<long> runs{0};
    for (auto *worker : {&one, &two}) {
        worker->run([] { ASSERT_EQ(rcu_register_thread_qsbr(), 0); });
        worker->start([&] {
            for (int i = 0; i < 20; i++) {
                queue_counted(&runs);
                rcu_barrier();
            }
            rcu_thread_offline();
        });
    }
    one.wait();
    two.wait();
    EXPECT_EQ(runs, 40);
}

/* ---- the owner invokes ---- */

TEST_F(Callbacks, OwnersInvokeWithinTheirBudget)
{
    configure([](struct rtrcu_config *config) {
        config->policy = RTRCU_POLICY_INLINE;
        config->blimit = 10;
        config->budget_ns = 1000000000;
    });
    test::Worker owner;
    std::atomic<long> runs{0};
    /* How many become ready at once is the driver's affair. */
    for (long round = 1; round <= 10; round++) {
        owner.run([&] { queue_counted(&runs, 25); });
        owner.run([&] {
            unsigned long largest = 0;
            ASSERT_TRUE(test::eventually([&] { /* a daemon helps an owner that the machine does not let run */
                                               largest = std::max(largest, rcu_process_callbacks(0));
                                               return runs == 25 * round;
            }));
            EXPECT_LE(largest, 10u);
            EXPECT_EQ(runs, 25 * round);
            EXPECT_EQ(rcu_process_callbacks(0), 0u);
        });
    }
}

/* An owner that the machine keeps from running for long loses what is ready to a daemon, so it tries until its own
 * quiescent states have run a hundred, but not for so long that one that runs nothing would seem to hang. */
TEST_F(Callbacks, AnOwnersQuiescentStatesInvokeToo)
{
    configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_INLINE; });
    test::Worker owner;
    std::atomic<long> runs{0};
    uint64_t before = test::stats().callbacks_by_owner;
    auto invoked = [&] { return test::stats().callbacks_by_owner - before; };
    owner.run([&] {
        ASSERT_EQ(rcu_register_thread_qsbr(), 0);
        long queued = 0;
        for (int round = 0; round < 60 && invoked() < 100; round++) {
            queue_counted(&runs, 10);
            queued += 10;
            ASSERT_TRUE(test::eventually([&] {
                rcu_quiescent_state();
                return runs == queued;
            }));
        }
        rcu_thread_offline();
    });
    EXPECT_GE(invoked(), 100u);
}

TEST_F(Callbacks, ADeadlineThatHasPassedKeepsTheOwnerFromBeginning)
{
    configure([](struct rtrcu_config *config) {
        config->policy = RTRCU_POLICY_INLINE;
        config->budget_ns = 1000000000;
    });
    test::Worker owner;
    std::atomic<long> runs{0};
    owner.run([&] {
        ASSERT_EQ(rtrcu_register_thread(RTRCU_QSBR | RTRCU_DEADLINE), 0);
        rcu_set_deadline(1);
        long queued = 0;
        uint64_t stops = test::stats().deadline_stops, by_owner = test::stats().callbacks_by_owner;
        ASSERT_TRUE(test::eventually([&] { /* a daemon takes them from an owner that the machine does not let run */
                                           if (runs == queued)
                                               queue_counted(&runs, 5), queued += 5;
                                           rcu_quiescent_state();
                                           EXPECT_EQ(rcu_process_callbacks(0), 0u);
                                           return test::stats().deadline_stops > stops + 3;
        }));
        EXPECT_EQ(test::stats().callbacks_by_owner, by_owner);
        rcu_set_deadline(0);
        ASSERT_TRUE(test::eventually([&] {
            rcu_quiescent_state();
            return runs == queued;
        }));
        rcu_thread_offline();
    });
}

TEST_F(Callbacks, OwnersThatRunNothingLoseTheirCallbacks)
{
    configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_INLINE; });
    test::Worker owner;
    std::atomic<long> runs{0};
    owner.run([&] { queue_counted(&runs, 7); });
    ASSERT_TRUE(test::eventually([&] { return runs == 7; })) << "no barrier, no call of the owner";
}

/* Nor do they wait for the readers of a later grace period, at which the driver is. */
TEST_F(Callbacks, WhatIsReadyWaitsForNoLaterReader)
{
    configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_INLINE; });
    test::Worker owner, leaving, reader;
    std::atomic<long> runs{0}, later{0};
    owner.run([&] { queue_counted(&runs, 7); });
    leaving.run([&] {
        queue_counted(&runs, 20);
        unsigned long cookie = start_poll_synchronize_rcu();
        ASSERT_TRUE(test::eventually([&] { return poll_state_synchronize_rcu(cookie); }));
        reader.run([] { rcu_read_lock(); });
        queue_counted(&later, 1);
    });
    leaving.finish();
    bool ran = test::eventually([&] { return runs == 27; });
    EXPECT_EQ(later, 0);
    reader.run([] { rcu_read_unlock(); });
    EXPECT_TRUE(ran);
    rcu_barrier();
    EXPECT_EQ(later, 1);
}

/* ---- calls inside callbacks ---- */

struct Nested {
    rcu_head head, inner;
    std::atomic<int> runs{0};
};

void inner_runs(rcu_head *head)
{
    reinterpret_cast<Nested *>(reinterpret_cast<char *>(head) - offsetof(Nested, inner))->runs++;
}

void outer_calls(rcu_head *head)
{
    Nested *nested = reinterpret_cast<Nested *>(head);
    rcu_read_lock();
    call_rcu(&nested->inner, inner_runs);
    rcu_read_unlock();
    unsigned long cookie = get_state_synchronize_rcu();
    synchronize_rcu();
    EXPECT_TRUE(poll_state_synchronize_rcu(cookie));
    synchronize_rcu_expedited();
    rcu_quiescent_state();
    EXPECT_EQ(rcu_process_callbacks(0), 0u);
    nested->runs++;
}

TEST_F(Callbacks, MayReadQueueAndWait)
{
    for (int32_t policy : {RTRCU_POLICY_DAEMON, RTRCU_POLICY_INLINE, RTRCU_POLICY_UNBOUNDED}) {
        struct rtrcu_config config = test::config_in_force();
        config.policy = policy;
        ASSERT_EQ(rtrcu_configure(&config), 0);
        Nested nested;
        call_rcu(&nested.head, outer_calls);
        ASSERT_TRUE(test::eventually([&] {
            rcu_process_callbacks(-1);
            return nested.runs == 2;
        }));
        rcu_barrier();
    }
}

CHILD(barrier_inside_a_callback)
{
    rcu_head head;
    call_rcu(&head, [](rcu_head *) { rcu_barrier(); });
    rcu_barrier();
}

TEST_F(Callbacks, ABarrierInsideACallbackIsNamed)
{
    EXPECT_TRUE(aborted(test::run_child("barrier_inside_a_callback"), "rcu_barrier() inside a callback"));
}

} // namespace
