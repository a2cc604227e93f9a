/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of callbacks through the public interface: order, threads that exit, bulk frees, barriers, nested calls. */
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include "../support/sync.h"
#include "../support/variant.h"
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

TEST_F(Callbacks, CallbackRunsAfterAGracePeriodAndNotBefore)
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

/* ---- other callbacks of a CPU while one does not return ---- */

test::Steps slow_steps; /* 1 for each slow callback that has begun; 100 lets them return */

void slow(rcu_head *head)
{
    slow_steps.arrive();
    slow_steps.wait(100);
    delete head;
}

void end_thread(rcu_head *head)
{
    count(head);
    pthread_exit(nullptr);
}

/* Settings that restrict the child to one CPU, so that one daemon serves all of its queues. */
std::vector<std::string> one_cpu()
{
    return {"RTRCU_CPUS=" + std::to_string(sched_getcpu())};
}

std::atomic<long> others, behind_slow;

void queue_from_others(int threads, rcu_callback_t func)
{
    for (int i = 0; i < threads; i++) {
        std::thread([&] {
            Counted *counted = new Counted{{}, &others};
            call_rcu(&counted->head, func);
        }).join();
    }
}

CHILD(neighbours_of_a_slow_callback)
{
    test::Worker neighbour;
    neighbour.run([] {
        call_rcu(new rcu_head{}, slow);
        queue_counted(&behind_slow);
    });
    slow_steps.wait(1);
    queue_from_others(8, count);
    REQUIRE(test::eventually([] { return others == 8; }));
    queue_from_others(3, end_thread);
    REQUIRE(test::eventually([] { return others == 11; }));
    queue_from_others(8, count);
    REQUIRE(test::eventually([] { return others == 19; }));
    REQUIRE(behind_slow == 0);
    slow_steps.reach(100);
    rcu_barrier();
    REQUIRE(behind_slow == 1);
}

TEST_F(Callbacks, EndlessCallbackDoesNotStopCallbacksOfOtherThreads)
{
    EXPECT_TRUE(exited_well(test::run_child("neighbours_of_a_slow_callback", one_cpu())));
}

/* The child has neither the slow callback nor the daemon's two threads, so it needs a daemon of its own. */
CHILD(fork_beside_a_relief)
{
    test::Worker neighbour;
    neighbour.run([] { call_rcu(new rcu_head{}, slow); });
    slow_steps.wait(1);
    queue_from_others(1, count);
    REQUIRE(test::eventually([] { return others == 1; }));

    pid_t child = fork();
    if (child == 0) {
        queue_from_others(4, count);
        rcu_barrier();
        _exit(others == 5 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);

    queue_from_others(4, count);
    REQUIRE(test::eventually([] { return others == 5; }));
    slow_steps.reach(100);
    rcu_barrier();
}

TEST_F(Callbacks, ProcessMayForkWhileAReliefRunsCallbacks)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's own threads end in a child";
    EXPECT_TRUE(exited_well(test::run_child("fork_beside_a_relief", one_cpu())));
}

CHILD(neighbours_of_two_slow_callbacks)
{
    test::Worker first, second;
    first.run([] { call_rcu(new rcu_head{}, slow); });
    slow_steps.wait(1);
    second.run([] { call_rcu(new rcu_head{}, slow); });
    slow_steps.wait(2);
    queue_from_others(8, count);
    slow_steps.wait(100);
}

TEST_F(Callbacks, TwoEndlessCallbacksOfOneDaemonAreReported)
{
    test::ChildResult result =
        test::run_child_until("neighbours_of_two_slow_callbacks", "other callbacks wait", one_cpu());
    EXPECT_TRUE(result.contains("rtrcu: both threads of daemon krcud/")) << result.output;
}

TEST_F(Callbacks, CallRcuHurryDoesNotWaitForTheTick)
{
    configure([](struct rtrcu_config *config) { config->tick_us = 1000000; });
    std::atomic<long> runs{0};
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; i++) {
        Counted *counted = new Counted{{}, &runs};
        call_rcu_hurry(&counted->head, count);
        ASSERT_TRUE(test::eventually([&] { return runs == i + 1; }));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "ten ticks take ten seconds";
}

struct Ordered {
    rcu_head head;
    std::vector<int> *order; /* not atomic: callbacks of one thread run one at a time */
    int number;
};

void note_order(rcu_head *head)
{
    Ordered *ordered = reinterpret_cast<Ordered *>(head);
    ordered->order->push_back(ordered->number);
    delete ordered;
}

TEST_F(Callbacks, CallbacksOfEachThreadRunInOrder)
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

TEST_F(Callbacks, CallbacksOfExitedThreadsRunAndTheirSlotsAreReused)
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
    EXPECT_LE(test::stats().threads_peak, peak_before + 3) << "one thread at a time, and daemons";
}

TEST_F(Callbacks, RcuFreeFreesEveryPointer)
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

TEST_F(Callbacks, RcuFreeHeadFreesEveryObject)
{
    uint64_t before = test::stats().callbacks_invoked;
    for (int i = 0; i < 100; i++) {
        auto *object = static_cast<Embedded *>(malloc(sizeof(Embedded)));
        rcu_free_head(object, head);
    }
    rcu_barrier();
    EXPECT_EQ(test::stats().callbacks_invoked - before, 100u);
}

TEST_F(Callbacks, MacrosEvaluateTheirArgumentsOnce)
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

TEST_F(Callbacks, BarrierIsNotStarvedBySelfQueueingCallbacks)
{
    Again self;
    std::atomic<long> runs{0};
    call_rcu(&self.head, again);
    for (int i = 0; i < 20; i++) {
        queue_counted(&runs);
        long before = self.runs;
        rcu_barrier();
        EXPECT_EQ(runs, i + 1);
        EXPECT_GE(self.runs, before) << "the callback keeps queueing itself";
    }
    self.stop = true;
    ASSERT_TRUE(test::eventually([&] { return self.stopped.load(); }));
}

TEST_F(Callbacks, BarriersOfSeveralThreadsRunConcurrently)
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

TEST_F(Callbacks, BarrierWithoutCallbacksReturns)
{
    rcu_barrier();
    uint64_t before = test::stats().gp_completed;
    rcu_barrier();
    EXPECT_EQ(test::stats().gp_completed, before) << "there is nothing to wait for";
}

/* With a policy in which the owner runs its callbacks, a sleeping owner must not hold up a barrier. */
TEST_F(Callbacks, BarrierDoesNotWaitForSleepingOwner)
{
    configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_INLINE; });
    test::Worker owner;
    std::atomic<long> runs{0};
    for (int i = 0; i < 5; i++) {
        owner.run([&] { queue_counted(&runs, 10); }); /* queues and then sleeps */
        rcu_barrier();
        EXPECT_EQ(runs, 10 * (i + 1));
    }
}

TEST_F(Callbacks, QuiescentStateThreadIsOfflineWhileItWaitsInABarrier)
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

TEST_F(Callbacks, OwnerInvokesCallbacksWithinItsBudget)
{
    configure([](struct rtrcu_config *config) {
        config->policy = RTRCU_POLICY_INLINE;
        config->blimit = 10;
        config->budget_ns = 1000000000;
    });
    test::Worker owner;
    std::atomic<long> runs{0};
    /* The driver decides how many callbacks become ready at a time. */
    for (long round = 1; round <= 10; round++) {
        owner.run([&] { queue_counted(&runs, 25); });
        owner.run([&] {
            unsigned long largest = 0;
            ASSERT_TRUE(test::eventually([&] { /* a daemon may run some callbacks if the owner is preempted for long */
                                               largest = std::max(largest, rcu_process_callbacks(0));
                                               return runs == 25 * round;
            }));
            EXPECT_LE(largest, 10u);
            EXPECT_EQ(runs, 25 * round);
            EXPECT_EQ(rcu_process_callbacks(0), 0u);
        });
    }
}

/* A daemon may take over the callbacks of a preempted owner, so the test repeats until the owner's quiescent states
 * have run a hundred callbacks. */
TEST_F(Callbacks, QuiescentStatesOfAnOwnerRunItsCallbacks)
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

TEST_F(Callbacks, OwnerRunsNoCallbackAfterItsDeadline)
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
        ASSERT_TRUE(test::eventually([&] { /* a daemon may take the callbacks if the owner is preempted for long */
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

TEST_F(Callbacks, DaemonGetsCallbacksOfAnIdleOwner)
{
    configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_INLINE; });
    test::Worker owner;
    std::atomic<long> runs{0};
    owner.run([&] { queue_counted(&runs, 7); });
    ASSERT_TRUE(test::eventually([&] { return runs == 7; })) << "a daemon runs them without a call of the owner";
}

/* Ready callbacks do not wait for the readers of a later grace period that the driver is advancing. */
TEST_F(Callbacks, ReadyCallbacksDoNotWaitForLaterReaders)
{
    configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_INLINE; });
    test::Worker owner, exiting, reader;
    std::atomic<long> earlier{0}, later{0};
    owner.run([&] { queue_counted(&earlier, 7); });
    exiting.run([&] {
        queue_counted(&earlier, 20);
        unsigned long cookie = start_poll_synchronize_rcu();
        ASSERT_TRUE(test::eventually([&] { return poll_state_synchronize_rcu(cookie); }));
    });
    reader.run([] { rcu_read_lock(); });
    exiting.run([&] { queue_counted(&later, 1); });

    exiting.finish();
    bool earlier_ran = test::eventually([&] { return earlier == 27; });
    long later_ran = later;
    reader.run([] { rcu_read_unlock(); });

    EXPECT_TRUE(earlier_ran);
    EXPECT_EQ(later_ran, 0) << "the reader is still inside";
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

TEST_F(Callbacks, CallbackMayReadAndCallRcuAndSynchronize)
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

TEST_F(Callbacks, BarrierInsideACallbackAbortsTheProgramAndIsNamed)
{
    EXPECT_TRUE(aborted(test::run_child("barrier_inside_a_callback"), "rcu_barrier() inside a callback"));
}

} // namespace
