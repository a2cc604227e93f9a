/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of workers: their creation, priorities, refusals of priorities, and reports. */
#include <cstring>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "../../support/capture.h"
#include "../../support/transitions.h"
#include "../../support/driving.h"

namespace
{

using Worker = DriveWorld;

int priority_of(pid_t thread)
{
    struct sched_param parameter = {};
    EXPECT_EQ(sched_getparam(thread, &parameter), 0);
    return parameter.sched_priority;
}

int wanted_priority;

int wanted(void *)
{
    return wanted_priority;
}

TEST_F(Worker, WorkerTakesTheWantedPriorityAndReturnsToItsOwn)
{
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_BOOST];
    test::Worker thread;
    thread.run([&] {
        wanted_priority = 2;
        work_worker_settle(worker, wanted);
        EXPECT_EQ(priority_of(0), 2);
        EXPECT_EQ(worker->priority, 2);
        wanted_priority = 0;
        work_worker_settle(worker, wanted);
        EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER | SCHED_RESET_ON_FORK);
        EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 0);
        EXPECT_EQ(worker->priority, 0);
    });
    EXPECT_EQ(drive_->work.rt_refused.count, 0u);
}

TEST_F(Worker, RefusedPriorityIsCountedAndNotRequestedAgainImmediately)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_BOOST];
    test::Worker thread;
    thread.run([&] {
        wanted_priority = 1000; /* no such priority exists */
        work_worker_settle(worker, wanted);
        EXPECT_EQ(drive_->work.rt_refused.count, 1u);
        work_worker_settle(worker, wanted);
        EXPECT_EQ(drive_->work.rt_refused.count, 1u) << "the refusal is recent, so no attempt is made";
        worker->refused_ns -= 2000000000;
        work_worker_settle(worker, wanted);
        EXPECT_EQ(drive_->work.rt_refused.count, 2u) << "the refusal is old, so the priority is tried again";
        wanted_priority = 1001;
        work_worker_settle(worker, wanted);
        EXPECT_EQ(drive_->work.rt_refused.count, 3u) << "another priority is tried immediately";
    });
    EXPECT_EQ(worker->priority, 0);
    EXPECT_EQ(worker->refused, 1001);
}

TEST_F(Worker, OtherThreadsRaiseAndNeverLowerAWorkersPriority)
{
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    test::Worker thread;
    pid_t id = 0;
    thread.run([&] { id = static_cast<pid_t>(lock_thread_number()); });
    work_worker_lift(work_worker(&drive_->work, WORK_WORKER_EXPEDITED), 3);
    EXPECT_EQ(worker->priority, 0) << "the worker does not run yet";
    worker->thread_id = static_cast<uint32_t>(id);
    work_worker_lift(work_worker(&drive_->work, WORK_WORKER_EXPEDITED), 3);
    EXPECT_EQ(worker->priority, 3);
    EXPECT_EQ(priority_of(id), 3);
    work_worker_lift(work_worker(&drive_->work, WORK_WORKER_EXPEDITED), 2);
    EXPECT_EQ(worker->priority, 3);
    EXPECT_EQ(priority_of(id), 3);
}

std::string state_of(const struct work_worker &worker)
{
    if (!work_worker_has_appeared(&worker))
        return "ABSENT";
    return work_worker_priority(&worker) ? "REALTIME" : "ORDINARY";
}

/* Each transition from each state, by the worker itself, or by another thread that raises it. */
TEST_F(Worker, PrioritiesFollowTheTable)
{
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    test::Transitions table("src/work/work.h", "before");
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_BOOST];
    test::Worker thread; /* runs as the worker */

    auto bring_into = [&](const std::string &state) {
        thread.run([&] {
            work_worker_begins(worker, 0);
            wanted_priority = state == "REALTIME" ? 2 : 0;
            work_worker_settle(worker, wanted);
            if (state != "ABSENT")
                work_worker_appears(worker);
        });
        EXPECT_EQ(state_of(*worker), state);
    };
    auto record = [&](const std::string &before, const char *transition) {
        table.saw(before, transition, state_of(*worker));
        thread.run([] { EXPECT_EQ(plat_sched_set(0, 0), 0); });
    };
    auto by_the_worker = [&](const std::string &before, const char *transition, auto change) {
        bring_into(before);
        thread.run(change);
        record(before, transition);
    };
    auto by_another_thread = [&](const std::string &before, const char *transition, auto change) {
        bring_into(before);
        change();
        record(before, transition);
    };

    for (const char *before : {"ABSENT", "ORDINARY", "REALTIME"}) {
        by_the_worker(before, "work_worker_begins()",
                      [&] { work_worker_begins(worker, work_worker_priority(worker)); });
        for (int priority : {0, 1, 3, 1000}) {
            by_the_worker(before, "work_worker_settle()", [&] {
                wanted_priority = priority;
                work_worker_settle(worker, wanted);
            });
            by_another_thread(before, "work_worker_lift()", [&] {
                int was = work_worker_priority(worker);
                work_worker_lift(work_worker(&drive_->work, WORK_WORKER_BOOST), priority);
                EXPECT_GE(work_worker_priority(worker), was);
            });
        }
        by_the_worker(before, "work_worker_appears()", [&] { work_worker_appears(worker); });
        by_the_worker(before, "work_worker_leaves()", [&] { work_worker_leaves(worker); });
        EXPECT_EQ(work_worker_priority(worker), 0);
    }
    by_the_worker("ABSENT", "work_worker_appears()", [&] {
        wanted_priority = 2;
        work_worker_settle(worker, wanted);
        work_worker_appears(worker);
    });
    table.all_seen();
}

/* The worker and a thread that raises it change the priority under a lock, so that neither undoes the other. */
TEST_F(Worker, OneThreadAtATimeChangesThePriority)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    test::Worker holder, settling, raising;
    std::atomic<pid_t> settling_id{0}, raising_id{0};
    worker->thread_id = lock_thread_number(); /* counts as running */
    wanted_priority = 0;
    settling.run([&] { settling_id = pid_t(lock_thread_number()); });
    raising.run([&] { raising_id = pid_t(lock_thread_number()); });
    holder.run([&] { lock_acquire(&worker->lock); });

    settling.start([&] { work_worker_settle(worker, wanted); });
    raising.start([&] { work_worker_lift(work_worker(&drive_->work, WORK_WORKER_EXPEDITED), 0); });

    EXPECT_TRUE(test::eventually([&] { return settling.is_done() || test::is_asleep(settling_id); }));
    EXPECT_TRUE(test::eventually([&] { return raising.is_done() || test::is_asleep(raising_id); }));
    EXPECT_FALSE(settling.is_done()) << "the worker waits for the lock";
    EXPECT_FALSE(raising.is_done()) << "the raising thread waits for the lock";
    holder.run([&] { lock_release(&worker->lock); });
    settling.wait();
    raising.wait();
    EXPECT_EQ(worker->priority, 0);
}

/* Without the lock a raise between the reading and the change would be undone. */
TEST_F(Worker, WorkerHoldsItsLockWhileItReadsTheWantedPriority)
{
    static struct work_worker *worker;
    static bool locked;
    worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    locked = false;
    work_worker_settle(worker, [](void *) {
        locked = lock_is_mine(&worker->lock);
        return 0;
    });
    EXPECT_TRUE(locked);
}

/* A second thread only marks the worker as needed while the first creates it. */
TEST_F(Worker, WorkerIsCreatedByOneThread)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_NOTIFY];
    ASSERT_TRUE(work_thread_hold(&worker->thread));
    EXPECT_EQ(work_worker_start(work_worker(&drive_->work, WORK_WORKER_NOTIFY)), 0);
    EXPECT_EQ(worker->thread.plat.body, nullptr);
    EXPECT_EQ(worker->thread.state, static_cast<uint32_t>(WORK_STARTING | WORK_NEEDED));
    EXPECT_TRUE(work_thread_release(&worker->thread));
}

TEST_F(Worker, WorkerHasItsNameAndPriority)
{
    keep();
    config_.kthread_prio = real_time_allowed() ? 2 : 0;
    config_.gp_rtprio = config_.krcud_rtprio = real_time_allowed() ? RTRCU_RTPRIO_AUTO : 0;
    const char *const names[] = {"rtrcu-exp",    "rtrcu-boost",  "rtrcu-nudge",
                                 "rtrcu-report", "rtrcu-notify", "rtrcu-share"};
    int own = config_.kthread_prio;
    const int priorities[] = {own, own, own ? own + 1 : 0, own, 0, own ? 2 : 0};
    for (int i = 0; i < WORK_WORKERS; i++) {
        ASSERT_EQ(work_worker_start(work_worker(&drive_->work, i)), 0);
        EXPECT_TRUE(test::eventually([&] { return work_thread_runs(&drive_->work.worker[i].thread); }));
        EXPECT_STREQ(drive_->work.worker[i].thread.plat.name, names[i]);
        EXPECT_EQ(drive_->work.worker[i].thread.plat.priority, priorities[i]) << names[i];
    }
    EXPECT_EQ(drive_->work.threads & UINT32_MAX, static_cast<uint64_t>(WORK_WORKERS));
}

TEST_F(Worker, WorkerBeginsAtThePriorityOfItsCreatorIfHigher)
{
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    keep();
    config_.kthread_prio = 2;
    const int workers[] = {WORK_WORKER_EXPEDITED, WORK_WORKER_BOOST, WORK_WORKER_NUDGE, WORK_WORKER_REPORT};
    const int priorities[] = {30, 30, 31, 2};
    test::Worker creator;
    creator.run([&] {
        ASSERT_EQ(plat_sched_set(30, 0), 0);
        for (int i = 0; i < 4; i++) {
            struct work_worker *worker = work_worker(&drive_->work, workers[i]);
            ASSERT_EQ(work_worker_start(worker), 0);
            EXPECT_EQ(worker->thread.plat.priority, priorities[i]) << worker->job->name;
        }
    });
}

TEST_F(Worker, BoosterStaysBelowTheNudgersHighestPriority)
{
    config_.kthread_prio = 2;
    EXPECT_EQ(turn_job_boost.priority(&config_, PLAT_RT_HIGHEST), 98);
    EXPECT_EQ(turn_job_nudge.priority(&config_, PLAT_RT_HIGHEST), 99);
    config_.kthread_prio = 0;
    EXPECT_EQ(turn_job_expedited.priority(&config_, 50), 0);
    EXPECT_EQ(turn_job_nudge.priority(&config_, 50), 0);
}

/* Each notification wakes the worker, which calls the handler. */
TEST_F(Worker, NotificationWakesTheWorkerThatCallsTheHandler)
{
    keep();
    static std::atomic<int> told;
    told = 0;
    work_set_blocking_handler(&drive_->work, [] { told++; });
    EXPECT_TRUE(test::eventually([&] { return work_notify_handler(&drive_->work); }));
    EXPECT_TRUE(test::eventually([] { return told.load() > 0; }));
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_NOTIFY];
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&worker->wanted) == 0; }));
    int before = told;
    EXPECT_TRUE(work_notify_handler(&drive_->work));
    EXPECT_TRUE(test::eventually([&] { return told.load() > before; }));
    /* A wake-up without a notification does not call the handler. */
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&worker->wanted) == 0; }));
    before = told;
    for (int i = 0; i < 100; i++)
        work_worker_wake(work_worker(&drive_->work, WORK_WORKER_NOTIFY));
    EXPECT_TRUE(work_notify_handler(&drive_->work));
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&worker->wanted) == 0 && told.load() > before; }));
    EXPECT_EQ(told.load(), before + 1);
}

/* The creation of the worker is in progress, and may fail. */
TEST_F(Worker, NotificationFailsUntilTheWorkerRuns)
{
    drive_->work.worker[WORK_WORKER_NOTIFY].thread.state = WORK_STARTING;
    EXPECT_FALSE(work_notify_handler(&drive_->work));
    drive_->work.worker[WORK_WORKER_NOTIFY].thread.state = WORK_RUNNING;
    EXPECT_TRUE(work_notify_handler(&drive_->work));
}

/* The next notification creates another worker. */
TEST_F(Worker, WorkerEndedByItsHandlerIsRecreated)
{
    keep();
    static std::atomic<int> told;
    static std::atomic<bool> may_end;
    told = 0;
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_NOTIFY];
    work_set_blocking_handler(&drive_->work, [] {
        told++;
        may_end.wait(false); /* keeps the worker alive until the test has counted the call */
        pthread_exit(nullptr);
    });
    for (int i = 1; i <= 2; i++) {
        may_end = false;
        ASSERT_TRUE(test::eventually([&] {
            (void)work_notify_handler(&drive_->work);
            return told.load() == i;
        }));
        may_end = true;
        may_end.notify_all();
        ASSERT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&worker->thread.state) == uint32_t{WORK_NONE}; }));
    }
    work_set_blocking_handler(&drive_->work, nullptr);
}

TEST_F(Worker, FirstRefusalIsReported)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_BOOST];
    const auto says = [&](int priority) {
        test::CapturedErrors errors;
        wanted_priority = priority; /* no such priority exists */
        work_worker_settle(worker, wanted);
        return errors.contains("real-time scheduling is refused");
    };
    test::Worker thread;
    thread.run([&] {
        EXPECT_TRUE(says(1000));
        EXPECT_FALSE(says(1001));
        EXPECT_FALSE(says(1002));
    });
    EXPECT_EQ(drive_->work.rt_refused.count, 3u);
}

/* A nudger of an ordinary booster starts without a real-time priority. */
TEST_F(Worker, NudgerStartsAboveARealTimeBooster)
{
    config_.kthread_prio = 0;
    EXPECT_EQ(turn_job_nudge.priority(&config_, 0), 0);
    config_.kthread_prio = 7;
    EXPECT_EQ(turn_job_nudge.priority(&config_, 0), 8);
}

} // namespace
