/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of expedited grace periods: independence of normal ones, sharing by waiters, and their worker. */
#include <atomic>
#include <sched.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../support/sync.h"
#include "../support/threads.h"
#include "child.h"

namespace
{

int rt_priority_of(int thread)
{
    struct sched_param parameter = {};
    sched_getparam(thread, &parameter);
    return parameter.sched_priority;
}

/* A normal and an expedited grace period wait for the same reader at the same time. */
TEST(Expedited, NormalAndExpeditedGracePeriodsWaitForTheSameReader)
{
    test::Worker reader, updater;
    reader.run([] { rcu_read_lock(); });
    uint64_t slept = test::stats().gp_slept;
    updater.start([] { synchronize_rcu(); });
    ASSERT_TRUE(test::eventually([&] { return test::stats().gp_slept > slept; }));
    unsigned long cookie = start_poll_synchronize_rcu_expedited();
    EXPECT_FALSE(poll_state_synchronize_rcu_expedited(cookie));
    uint64_t before = test::stats().exp_completed;
    reader.run([] { rcu_read_unlock(); });
    cond_synchronize_rcu_expedited(cookie);
    updater.wait();
    EXPECT_EQ(test::stats().exp_completed, before + 1);
}

TEST(Expedited, ConcurrentWaitersShareGracePeriods)
{
    constexpr int threads = 16, each = 100;
    uint64_t before = test::stats().exp_completed;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; t++) {
        all.emplace_back([] {
            for (int i = 0; i < each; i++)
                synchronize_rcu_expedited();
        });
    }
    for (auto &thread : all)
        thread.join();
    uint64_t made = test::stats().exp_completed - before;
    EXPECT_LE(made, static_cast<uint64_t>(threads * each)) << "no more grace periods than calls";
    EXPECT_GE(made, static_cast<uint64_t>(each)) << "the calls of one caller do not overlap";
}

TEST(Expedited, ServesHundredsOfConcurrentCallers)
{
    constexpr uint64_t callers = 300;
    uint64_t before = test::stats().exp_completed;
    test::Steps start;
    std::vector<std::thread> all;
    for (uint64_t i = 0; i < callers; i++) {
        all.emplace_back([&] {
            start.wait(1);
            unsigned long cookie = get_state_synchronize_rcu_expedited();
            synchronize_rcu_expedited();
            EXPECT_TRUE(poll_state_synchronize_rcu_expedited(cookie));
        });
    }
    start.reach(1);
    for (auto &thread : all)
        thread.join();
    EXPECT_LE(test::stats().exp_completed - before, callers);
}

/* Expect that calls of @patient return while other threads call @storm without a pause and readers read. */
void expect_no_starvation(void (*storm)(), void (*patient)())
{
    std::atomic<bool> stopping{false};
    std::vector<std::thread> others;
    for (int i = 0; i < 3; i++) {
        others.emplace_back([&] {
            while (!stopping)
                storm();
        });
    }
    others.emplace_back([&] {
        while (!stopping) {
            rcu_read_lock();
            rcu_read_unlock();
        }
    });
    for (int i = 0; i < 100; i++)
        patient();
    stopping = true;
    for (auto &thread : others)
        thread.join();
}

TEST(Expedited, DoesNotStarveNormalGracePeriods)
{
    uint64_t before = test::stats().gp_completed;
    expect_no_starvation(synchronize_rcu_expedited, synchronize_rcu);
    EXPECT_GE(test::stats().gp_completed, before + 100);
}

TEST(Expedited, IsNotStarvedByNormalGracePeriods)
{
    uint64_t before = test::stats().exp_completed;
    expect_no_starvation(synchronize_rcu, synchronize_rcu_expedited);
    EXPECT_GE(test::stats().exp_completed, before + 100);
}

TEST(Expedited, CookiesOfTheTwoKindsAreIndependent)
{
    unsigned long expedited = get_state_synchronize_rcu_expedited();
    for (int i = 0; i < 5; i++)
        synchronize_rcu();
    EXPECT_FALSE(poll_state_synchronize_rcu_expedited(expedited))
        << "normal grace periods do not reach an expedited cookie";
    unsigned long normal = get_state_synchronize_rcu();
    for (int i = 0; i < 5; i++)
        synchronize_rcu_expedited();
    EXPECT_TRUE(poll_state_synchronize_rcu_expedited(expedited));
    EXPECT_FALSE(poll_state_synchronize_rcu(normal));
}

CHILD(worker_at_real_time)
{
    synchronize_rcu_expedited();
    int worker = 0;
    REQUIRE(test::eventually([&] { return (worker = test::thread_called("rtrcu-exp")) != 0; }));
    REQUIRE(test::eventually([&] { return rt_priority_of(worker) == 7 || test::stats().rt_refused > 0; }));
}

CHILD(worker_is_an_ordinary_thread)
{
    synchronize_rcu_expedited();
    int worker = 0;
    REQUIRE(test::eventually([&] { return (worker = test::thread_called("rtrcu-exp")) != 0; }));
    for (int i = 0; i < 20; i++)
        synchronize_rcu_expedited();
    REQUIRE(rt_priority_of(worker) == 0);
    REQUIRE(test::stats().rt_refused == 0);
}

/* A caller with a higher priority than the worker raises the worker's priority. */
CHILD(caller_raises_the_worker)
{
    struct sched_param parameter = {};
    parameter.sched_priority = 30;
    if (sched_setscheduler(0, SCHED_FIFO, &parameter) != 0)
        return; /* real-time priorities are not permitted here */
    synchronize_rcu_expedited();
    int worker = 0;
    /* only the worker advances this grace period, so the worker exists at its end */
    unsigned long cookie = start_poll_synchronize_rcu_expedited();
    REQUIRE(test::eventually([&] { return poll_state_synchronize_rcu_expedited(cookie); }));
    REQUIRE((worker = test::thread_called("rtrcu-exp")) != 0);
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    std::thread caller([] { synchronize_rcu_expedited(); }); /* the new thread inherits the caller's priority */
    REQUIRE(test::eventually([&] { return rt_priority_of(worker) >= 30; }));
    reader.run([] { rcu_read_unlock(); });
    caller.join();
    REQUIRE(test::eventually([&] { return rt_priority_of(worker) < 30; })); /* the worker lowers its priority again */
}

CHILD(registration_creates_the_workers)
{
    struct sched_param parameter = {};
    parameter.sched_priority = 30;
    if (sched_setscheduler(0, SCHED_FIFO, &parameter) != 0)
        return; /* real-time priorities are not permitted here */
    REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE) == 0);
    for (const char *name : {"rtrcu-exp", "rtrcu-boost", "rtrcu-nudge"})
        REQUIRE(test::eventually([&] { return test::thread_called(name) != 0; }));
}

CHILD(without_permission)
{
    for (int i = 0; i < 5; i++)
        synchronize_rcu_expedited();
    REQUIRE(test::stats().exp_completed == 5);
    REQUIRE(test::eventually([] { return test::stats().rt_refused >= 1; }));
}

/* The worker does not wake for a grace period that its caller ends. */
CHILD(callers_take_the_first_step)
{
    synchronize_rcu_expedited();
    int worker = 0;
    REQUIRE(test::eventually([&] { return (worker = test::thread_called("rtrcu-exp")) != 0; }));
    long before = 0;
    REQUIRE(test::eventually([&] { /* the worker sleeps */
                                   long last = before;
                                   before = test::sleeps_of(worker);
                                   return before == last && before > 0;
    }));
    before = test::sleeps_of(worker);
    for (int i = 0; i < 1000; i++)
        synchronize_rcu_expedited();
    REQUIRE(test::stats().exp_completed == 1001);
    REQUIRE(test::stats().exp_by_caller >= 1000);
    REQUIRE(test::sleeps_of(worker) - before < 100);
}

/* After a grace period that no caller advances, the worker exists; it then takes all steps of each grace period. */
CHILD(worker_takes_all_steps)
{
    unsigned long cookie = start_poll_synchronize_rcu_expedited();
    REQUIRE(test::eventually([&] { return poll_state_synchronize_rcu_expedited(cookie); }));
    REQUIRE(test::eventually(
        [] { return rt_priority_of(test::thread_called("rtrcu-exp")) == 7 || test::stats().rt_refused >= 1; }));
    test::Worker reader;
    for (int i = 0; i < 100; i++) {
        if (i == 50)
            reader.run([] { rcu_read_lock(), rcu_read_unlock(); });
        synchronize_rcu_expedited();
    }
    REQUIRE(test::stats().exp_completed == 101);
    REQUIRE(test::stats().exp_by_caller == 0);
}

CHILD(drop_permission)
{
    test::become_child_without_real_time("without_permission");
}

TEST(ExpeditedWorker, WorkerSleepsWhileCallersAdvance)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has threads of its own";
    EXPECT_TRUE(exited_well(test::run_child("callers_take_the_first_step")));
}

TEST(ExpeditedWorker, WorkerRunsAtItsConfiguredPriority)
{
    EXPECT_TRUE(exited_well(test::run_child("worker_at_real_time", {"RTRCU_KTHREAD_PRIO=7"})));
}

TEST(ExpeditedWorker, WorkerMayBeAnOrdinaryThread)
{
    EXPECT_TRUE(exited_well(test::run_child("worker_is_an_ordinary_thread", {"RTRCU_EXP_WORKER=workqueue"})));
}

TEST(ExpeditedWorker, WorkerAdvancesAloneWithKthreadOnly)
{
    const std::vector<std::string> settings = {"RTRCU_EXP_WORKER=kthread-only", "RTRCU_KTHREAD_PRIO=7"};
    EXPECT_TRUE(exited_well(test::run_child("worker_takes_all_steps", settings)));
}

TEST(ExpeditedWorker, WorkerTakesTheHighestPriorityOfItsCallers)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator ignores scheduling calls";
    EXPECT_TRUE(exited_well(test::run_child("caller_raises_the_worker")));
}

TEST(ExpeditedWorker, WorkerIsCreatedWhenARealTimeThreadRegisters)
{
    EXPECT_TRUE(exited_well(test::run_child("registration_creates_the_workers")));
}

TEST(ExpeditedWorker, RefusedPriorityOfTheWorkerIsReportedAndCounted)
{
    test::ChildResult result = test::run_child("drop_permission");
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("real-time scheduling is refused")) << result.output;
    EXPECT_TRUE(result.contains("RTRCU_KTHREAD_PRIO=0")) << result.output;
}

} // namespace
