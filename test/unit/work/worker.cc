/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Workers: made by one at a time, and at the priority that is wanted, which a refusal leaves alone for a while.
 */
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

TEST_F(Worker, SettlesAtWhatIsWantedAndIsOrdinaryAgain)
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
        EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
        EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 0);
        EXPECT_EQ(worker->priority, 0);
    });
    EXPECT_EQ(drive_->work.rt_refused.count, 0u);
}

TEST_F(Worker, ARefusalIsCountedAndBelievedForAWhile)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_BOOST];
    test::Worker thread;
    thread.run([&] {
        wanted_priority = 1000; /* there is none of that number */
        work_worker_settle(worker, wanted);
        EXPECT_EQ(drive_->work.rt_refused.count, 1u);
        work_worker_settle(worker, wanted);
        EXPECT_EQ(drive_->work.rt_refused.count, 1u) << "just refused";
        worker->refused_ns -= 2000000000;
        work_worker_settle(worker, wanted);
        EXPECT_EQ(drive_->work.rt_refused.count, 2u) << "long ago";
        wanted_priority = 1001;
        work_worker_settle(worker, wanted);
        EXPECT_EQ(drive_->work.rt_refused.count, 3u) << "another one";
    });
    EXPECT_EQ(worker->priority, 0);
    EXPECT_EQ(worker->refused, 1001);
}

TEST_F(Worker, IsLiftedAndNeverLowered)
{
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    test::Worker thread;
    pid_t id = 0;
    thread.run([&] { id = static_cast<pid_t>(lock_thread_number()); });
    work_worker_lift(work_worker(&drive_->work, WORK_WORKER_EXPEDITED), 3);
    EXPECT_EQ(worker->priority, 0) << "it does not run yet";
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

/* Each transition from each state, by the worker itself or, where it lifts, by another. */
TEST_F(Worker, PrioritiesChangeAsTheTableTells)
{
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    test::Transitions table("src/work/work.h", "before");
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_BOOST];
    test::Worker itself;
    auto saw = [&](const std::string &before, const char *transition, bool by_itself, auto change) {
        itself.run([&] {
            work_worker_begins(worker, 0);
            wanted_priority = before == "REALTIME" ? 2 : 0;
            work_worker_settle(worker, wanted);
            if (before != "ABSENT")
                work_worker_appears(worker);
            EXPECT_EQ(state_of(*worker), before);
            if (by_itself)
                change();
        });
        if (!by_itself)
            change();
        table.saw(before, transition, state_of(*worker));
        itself.run([] { EXPECT_EQ(plat_sched_set(0, 0), 0); });
    };
    for (const char *before : {"ABSENT", "ORDINARY", "REALTIME"}) {
        saw(before, "work_worker_begins()", true, [&] { work_worker_begins(worker, work_worker_priority(worker)); });
        for (int priority : {0, 1, 3, 1000}) {
            saw(before, "work_worker_settle()", true, [&] {
                wanted_priority = priority;
                work_worker_settle(worker, wanted);
            });
            saw(before, "work_worker_lift()", false, [&] {
                int was = work_worker_priority(worker);
                work_worker_lift(work_worker(&drive_->work, WORK_WORKER_BOOST), priority);
                EXPECT_GE(work_worker_priority(worker), was);
            });
        }
        saw(before, "work_worker_appears()", true, [&] { work_worker_appears(worker); });
    }
    saw("ABSENT", "work_worker_appears()", true, [&] {
        wanted_priority = 2;
        work_worker_settle(worker, wanted);
        work_worker_appears(worker);
    });
    table.all_seen();
}

/* A look at who waits and the change that follows are one: who lifts meanwhile comes behind, or it would be undone. */
TEST_F(Worker, OneAtATimeChangesThePriority)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    test::Worker holder, settler, lifter;
    std::atomic<pid_t> settles{0}, lifts{0};
    worker->thread_id = lock_thread_number(); /* it runs */
    wanted_priority = 0;
    holder.run([&] { lock_acquire(&worker->lock); });
    settler.run([&] { settles = pid_t(lock_thread_number()); });
    lifter.run([&] { lifts = pid_t(lock_thread_number()); });
    settler.start([&] { work_worker_settle(worker, wanted); });
    lifter.start([&] { work_worker_lift(work_worker(&drive_->work, WORK_WORKER_EXPEDITED), 0); });
    EXPECT_TRUE(test::eventually([&] { return settler.is_done() || test::is_asleep(settles); }));
    EXPECT_TRUE(test::eventually([&] { return lifter.is_done() || test::is_asleep(lifts); }));
    EXPECT_FALSE(settler.is_done());
    EXPECT_FALSE(lifter.is_done());
    holder.run([&] { lock_release(&worker->lock); });
    settler.wait();
    lifter.wait();
    EXPECT_EQ(worker->priority, 0);
}

/* Who lifts it between a look from before and the change would be undone. */
TEST_F(Worker, IsLockedWhileItLooksAtWhatIsWanted)
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

/* Who is at it makes it; the other only says that it is needed. */
TEST_F(Worker, IsMadeByOneAtATime)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_NOTIFY];
    ASSERT_TRUE(work_thread_hold(&worker->thread));
    EXPECT_EQ(work_worker_start(work_worker(&drive_->work, WORK_WORKER_NOTIFY)), 0);
    EXPECT_EQ(worker->thread.plat.body, nullptr);
    EXPECT_EQ(worker->thread.state, static_cast<uint32_t>(WORK_STARTING | WORK_NEEDED));
    EXPECT_TRUE(work_thread_release(&worker->thread));
}

TEST_F(Worker, HasANameAndAPriorityOfItsOwn)
{
    keep();
    config_.kthread_prio = real_time_allowed() ? 2 : 0;
    const char *const names[] = {"rtrcu-exp", "rtrcu-boost", "rtrcu-nudge", "rtrcu-report", "rtrcu-notify"};
    int own = config_.kthread_prio;
    const int priorities[] = {own, own, own ? own + 1 : 0, own, 0};
    for (int i = 0; i < WORK_WORKERS; i++) {
        ASSERT_EQ(work_worker_start(work_worker(&drive_->work, i)), 0);
        EXPECT_TRUE(test::eventually([&] { return work_thread_runs(&drive_->work.worker[i].thread); }));
        EXPECT_STREQ(drive_->work.worker[i].thread.plat.name, names[i]);
        EXPECT_EQ(drive_->work.worker[i].thread.plat.priority, priorities[i]) << names[i];
    }
    EXPECT_EQ(drive_->work.threads & UINT32_MAX, static_cast<uint64_t>(WORK_WORKERS));
}

/* What the report is to be said by is woken for it; where it cannot be made the report is said at once. */
TEST_F(Worker, ThatTellsIsWokenForEach)
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
    /* A wake-up alone is nothing to tell of. */
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&worker->wanted) == 0; }));
    before = told;
    for (int i = 0; i < 100; i++)
        work_worker_wake(work_worker(&drive_->work, WORK_WORKER_NOTIFY));
    EXPECT_TRUE(work_notify_handler(&drive_->work));
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&worker->wanted) == 0 && told.load() > before; }));
    EXPECT_EQ(told.load(), before + 1);
}

/* The thread is being made by another, who may yet be refused: so nobody relies on it. */
TEST_F(Worker, ThatTellsIsNotReliedOnBeforeItIsThere)
{
    drive_->work.worker[WORK_WORKER_NOTIFY].thread.state = WORK_STARTING;
    EXPECT_FALSE(work_notify_handler(&drive_->work));
    drive_->work.worker[WORK_WORKER_NOTIFY].thread.state = WORK_RUNNING;
    EXPECT_TRUE(work_notify_handler(&drive_->work));
}

/* Whoever has something to tell then has another one made. */
TEST_F(Worker, ThatTellsIsMadeAnewWhereTheHandlerHasEndedIt)
{
    keep();
    static std::atomic<int> told;
    static std::atomic<bool> may_end;
    told = 0;
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_NOTIFY];
    work_set_blocking_handler(&drive_->work, [] {
        told++;
        may_end.wait(false); /* nobody asks for another one any more */
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

TEST_F(Worker, TheFirstRefusalIsSaid)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_BOOST];
    const auto says = [&](int priority) {
        test::CapturedErrors errors;
        wanted_priority = priority; /* there is none of that number */
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

/* One that is made for an ordinary booster asks for nothing that may be refused. */
TEST_F(Worker, TheNudgerBeginsAboveTheBoosterOrAsOrdinary)
{
    config_.kthread_prio = 0;
    EXPECT_EQ(turn_job_nudge.priority(&config_), 0);
    config_.kthread_prio = 7;
    EXPECT_EQ(turn_job_nudge.priority(&config_), 8);
}

} // namespace
