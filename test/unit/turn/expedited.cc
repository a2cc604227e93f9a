/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of expedited grace periods: priorities, notifications, and threads created in advance. */
#include "../../support/driving.h"

namespace
{

class Expedited : public DriveWorld
{
  protected:
    uint64_t request_reports()
    {
        uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
        gp_request(world_.gp(), GP_EXPEDITED, cookie);
        return cookie;
    }
    bool reached(uint64_t cookie)
    {
        return gp_reached(world_.gp(), GP_EXPEDITED, cookie);
    }
};

TEST_F(Expedited, WorkerTakesTheHighestPriorityOfTheSettingAndItsWaiters)
{
    config_.kthread_prio = 5;
    config_.exp_worker = RTRCU_EXP_WORKER_KTHREAD;
    drive_->turn.exp_waiters.notified =
        INT32_MAX; /* the field after the four priorities, which must not be read as one */
    drive_->turn.exp_waiters.priority[0] = 3;
    drive_->turn.exp_waiters.priority[3] = 9;
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 5) << "no thread waits";
    request_reports();
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 9);
    drive_->turn.exp_waiters.priority[3] = 4;
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 5);
    config_.exp_worker = RTRCU_EXP_WORKER_WORKQUEUE;
    drive_->turn.exp_waiters.priority[3] = 9;
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 0) << "an ordinary worker gets no real-time priority";
    config_.exp_worker = RTRCU_EXP_WORKER_KTHREAD_ONLY;
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 9)
        << "a real-time worker that advances alone follows its waiters too";
    config_.exp_worker = RTRCU_EXP_WORKER_KTHREAD;
    config_.kthread_prio = 0;
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 0);
}

TEST_F(Expedited, WaitersOfEachGracePeriodRaiseTheWorker)
{
    config_.kthread_prio = 5;
    config_.exp_worker = RTRCU_EXP_WORKER_KTHREAD;
    request_reports();
    for (uint32_t &priority : drive_->turn.exp_waiters.priority) {
        priority = 9;
        EXPECT_EQ(turn_expedited_priority(&drive_->turn), 9);
        priority = 0;
    }
}

TEST_F(Expedited, EndOfAGracePeriodClearsItsPriorityAndIncrementsItsCount)
{
    uint64_t before[4];
    for (int i = 0; i < 4; i++) {
        drive_->turn.exp_waiters.priority[i] = 7;
        before[i] = drive_->turn.exp_waiters.ended[i];
    }
    turn_expedited_done(&drive_->turn);
    int counted = 0, forgotten = 0;
    for (int i = 0; i < 4; i++) {
        counted += drive_->turn.exp_waiters.ended[i] == before[i] + 1;
        forgotten += drive_->turn.exp_waiters.priority[i] == 0;
        EXPECT_EQ(drive_->turn.exp_waiters.ended[i] != before[i], drive_->turn.exp_waiters.priority[i] == 0) << i;
    }
    EXPECT_EQ(counted, 1);
    EXPECT_EQ(forgotten, 1);
}

TEST_F(Expedited, WaiterSleepsUntilItsGracePeriodHasEnded)
{
    uint64_t cookie = request_reports();
    test::Worker waiter;
    pid_t id = 0;
    waiter.run([&] { id = pid_t(lock_thread_number()); });
    waiter.start([&] { turn_expedited_wait(&drive_->turn, cookie); });
    EXPECT_TRUE(test::eventually([&] { return waiter.is_done() || test::is_asleep(id); }));
    EXPECT_FALSE(waiter.is_done());
    EXPECT_TRUE(turn_step(expedited_));
    waiter.wait();
    EXPECT_TRUE(reached(cookie));
    for (const tally &waiters : drive_->turn.exp_waiters.waiters)
        EXPECT_EQ(tally_read(&waiters), 0u);
}

TEST_F(Expedited, AllWaitersOfAGracePeriodAreWokenAtItsEnd)
{
    uint64_t cookie = request_reports();
    test::Worker waiters[3];
    for (test::Worker &waiter : waiters) {
        pid_t id = 0;
        waiter.run([&] { id = pid_t(lock_thread_number()); });
        waiter.start([&] { turn_expedited_wait(&drive_->turn, cookie); });
        EXPECT_TRUE(test::eventually([&] { return test::is_asleep(id); }));
    }
    EXPECT_TRUE(turn_step(expedited_));
    for (test::Worker &waiter : waiters)
        EXPECT_TRUE(test::eventually([&] { return waiter.is_done(); }));
    for (uint32_t &ended : drive_->turn.exp_waiters.ended)
        plat_futex_wake(&ended, INT32_MAX); /* ends a sleep that would otherwise not end */
    for (test::Worker &waiter : waiters)
        waiter.wait();
}

TEST_F(Expedited, ForksChildHasNoWaiters)
{
    for (uint32_t i = 0; i < 4; i++) {
        tally_raise(&drive_->turn.exp_waiters.waiters[i]);
        drive_->turn.exp_waiters.priority[i] = 3;
    }
    after_fork_child(PLAT_NOBODY);
    for (uint32_t i = 0; i < 4; i++) {
        EXPECT_EQ(tally_read(&drive_->turn.exp_waiters.waiters[i]), 0u);
        EXPECT_EQ(drive_->turn.exp_waiters.priority[i], 0u);
    }
}

TEST_F(Expedited, RequestIsUnservedUntilTheWorkerIsNotified)
{
    EXPECT_FALSE(turn_expedited_is_left(&drive_->turn)) << "no grace period is requested";
    uint64_t cookie = request_reports();
    EXPECT_TRUE(turn_expedited_is_left(&drive_->turn)) << "there is no worker";
    struct work_thread *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED].thread;
    worker->state = WORK_RUNNING;
    EXPECT_TRUE(turn_expedited_is_left(&drive_->turn)) << "the worker was not notified";
    turn_expedited_serve(&drive_->turn, driver_serve_meanwhile);
    EXPECT_EQ(drive_->turn.exp_waiters.notified, cookie);
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_EXPEDITED].thread.event, 1u);
    EXPECT_FALSE(turn_expedited_is_left(&drive_->turn));
    turn_expedited_serve(&drive_->turn, driver_serve_meanwhile);
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_EXPEDITED].thread.event, 1u) << "the worker was notified already";
}

/* A pass of the driver notifies the worker of a request of which it was not notified. */
TEST_F(Expedited, PassOfTheDriverNotifiesTheWorkerOfRequests)
{
    const turn_options options = {};
    struct work_thread *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED].thread;
    worker->state = WORK_RUNNING;
    uint64_t cookie = request_reports();
    EXPECT_FALSE(driver_pass(&drive_->driver, &options));
    EXPECT_EQ(drive_->turn.exp_waiters.notified, cookie);
    EXPECT_EQ(worker->event, 1u);
}

TEST_F(Expedited, DriverAdvancesWithoutAWorker)
{
    drive_->work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000;
    plat_thread_renumber(&drive_->work.thread.plat, lock_thread_id()); /* the calling thread is the driver */
    uint64_t cookie = request_reports();
    turn_expedited_serve(&drive_->turn, driver_serve_meanwhile);
    EXPECT_TRUE(reached(cookie));
    EXPECT_EQ(drive_->turn.gp_state[GP_EXPEDITED].by_caller.count, 0u);
}

TEST_F(Expedited, DriverWithoutAThreadTakesOneStep)
{
    work_driver_change(&drive_->work, driver_of(RTRCU_DRIVER_SCHED), drive_->work.attr);
    reader_record *record = world_.craft(1);
    uint64_t cookie = request_reports();
    turn_expedited_serve(&drive_->turn, driver_serve_meanwhile);
    EXPECT_FALSE(reached(cookie));
    EXPECT_TRUE(gp_is_running(world_.gp(), GP_EXPEDITED));
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_EXPEDITED].thread.state, static_cast<uint32_t>(WORK_NONE));
    test::World::set_inside(record, 0);
    turn_expedited_serve(&drive_->turn, driver_serve_meanwhile);
    EXPECT_TRUE(reached(cookie));
}

TEST_F(Expedited, BoosterIsCreatedWithTheWorker)
{
    keep();
    config_.kthread_prio = 2;
    config_.boost = 1;
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    turn_start_expedited(&drive_->turn, cookie);
    for (int index : {WORK_WORKER_EXPEDITED, WORK_WORKER_BOOST, WORK_WORKER_NUDGE})
        EXPECT_TRUE(test::eventually([&] { return work_thread_runs(&drive_->work.worker[index].thread); })) << index;
    EXPECT_FALSE(work_driver_runs(&drive_->work)) << "no thread needs a driver";
    EXPECT_EQ(drive_->work.urgent, 0u);
    EXPECT_TRUE(test::eventually([&] { return reached(cookie); }));
    EXPECT_EQ(drive_->turn.exp_waiters.notified, cookie);
}

TEST_F(Expedited, NoBoosterIsCreatedWithBoostOff)
{
    keep();
    config_.kthread_prio = 2;
    config_.boost = 0;
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    turn_start_expedited(&drive_->turn, cookie);
    EXPECT_TRUE(test::eventually([&] { return reached(cookie); }));
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_BOOST].thread.state, static_cast<uint32_t>(WORK_NONE));
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_NUDGE].thread.state, static_cast<uint32_t>(WORK_NONE));
}

/* Threads that requested a grace period while the caller held the gp lock rely on the caller. */
TEST_F(Expedited, CallerServesRequestsOfOtherThreads)
{
    drive_->work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000;
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    gp_request(world_.gp(), GP_EXPEDITED, cookie + SEQ_STEP);
    turn_synchronize_expedited(&drive_->turn, cookie);
    EXPECT_TRUE(reached(cookie + SEQ_STEP));
    EXPECT_FALSE(gp_is_needed(world_.gp(), GP_EXPEDITED));
}

/* A reader is registered, so the caller must take a step; it also ends a later grace period that another thread
 * requested. */
TEST_F(Expedited, CallerThatWaitsForReadersServesRequestsOfOtherThreads)
{
    (void)world_.craft(0);
    drive_->work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000;
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    gp_request(world_.gp(), GP_EXPEDITED, cookie + SEQ_STEP);
    turn_synchronize_expedited(&drive_->turn, cookie);
    EXPECT_TRUE(reached(cookie + SEQ_STEP));
    EXPECT_FALSE(gp_is_needed(world_.gp(), GP_EXPEDITED));
}

/* If the worker exists, the caller notifies it of others' requests, whether or not readers exist. */
TEST_F(Expedited, CallerNotifiesTheWorkerOfRequestsOfOtherThreads)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    worker->thread.state = WORK_RUNNING;
    worker->thread_id = lock_thread_number(); /* the calling thread, which only counts wake-ups */
    config_.boost = 0;
    for (bool readers : {false, true}) {
        SCOPED_TRACE(readers ? "beside readers" : "alone");
        if (readers)
            (void)world_.craft(0);
        uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
        uint32_t event = worker->thread.event;
        gp_request(world_.gp(), GP_EXPEDITED, cookie + SEQ_STEP);
        turn_synchronize_expedited(&drive_->turn, cookie);
        EXPECT_TRUE(reached(cookie));
        EXPECT_FALSE(reached(cookie + SEQ_STEP));
        EXPECT_EQ(drive_->turn.exp_waiters.notified, cookie + SEQ_STEP);
        EXPECT_EQ(worker->thread.event, event + 1);
        EXPECT_TRUE(turn_step(expedited_));
    }
}

/* A deadline thread wakes no thread: the driver finds the request at its tick. */
TEST_F(Expedited, DeadlineCallerLeavesRequestsToTheDriver)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    worker->thread.state = WORK_RUNNING;
    worker->thread_id = lock_thread_number(); /* the calling thread, which only counts wake-ups */
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED), notified = drive_->turn.exp_waiters.notified;
    gp_request(world_.gp(), GP_EXPEDITED, cookie + SEQ_STEP);
    reader_self_set(READER_STATE_DEADLINE);
    turn_synchronize_expedited(&drive_->turn, cookie);
    reader_self_clear(READER_STATE_DEADLINE);
    EXPECT_TRUE(reached(cookie));
    EXPECT_FALSE(reached(cookie + SEQ_STEP));
    EXPECT_EQ(drive_->turn.exp_waiters.notified, notified);
    EXPECT_EQ(worker->thread.event, 0u);
    EXPECT_EQ(drive_->work.urgent, 1u);
}

/* A caller that has advanced the grace period to its end does not notify the worker. */
TEST_F(Expedited, FinishedCallerNotifiesNoThread)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    worker->thread.state = WORK_RUNNING;
    worker->thread_id = lock_thread_number(); /* the calling thread, which only counts wake-ups */
    config_.boost = 0;
    (void)world_.craft(0);
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED), notified = drive_->turn.exp_waiters.notified;
    turn_synchronize_expedited(&drive_->turn, cookie);
    EXPECT_TRUE(reached(cookie));
    EXPECT_EQ(drive_->turn.exp_waiters.notified, notified);
    EXPECT_EQ(worker->thread.event, 0u);
}

/* A caller that finds the gp lock held raises the worker before it waits, or counts the refusal. */
TEST_F(Expedited, HandOverRaisesTheWorker)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    test::Worker holder, caller, lifted;
    lifted.run([&] { worker->thread_id = lock_thread_number(); });
    worker->thread.state = WORK_RUNNING;
    config_.boost = 0;
    config_.kthread_prio = 2;
    (void)world_.craft(0);
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    holder.run([&] { turn_gp_lock(expedited_); });
    caller.start([&] { turn_synchronize_expedited(&drive_->turn, cookie); });
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&drive_->turn.exp_waiters.notified) == cookie; }));
    EXPECT_TRUE(work_worker_priority(worker) == 2 || counter_read(&drive_->work.rt_refused) == 1);
    holder.run([&] { turn_gp_unlock(expedited_); });
    caller.wait();
    EXPECT_TRUE(reached(cookie));
}

/* A caller of low priority leaves the steps to an ordinary worker, but not to a real-time one. */
TEST_F(Expedited, LowPriorityCallerLeavesStepsToAnOrdinaryWorker)
{
    constexpr uint32_t low_priority = 33, ordinary = 32; /* values of rtrcu_self.sched after a check */
    keep();
    config_.boost = 0;
    config_.kthread_prio = 0;
    (void)world_.craft(0);
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    auto advanced_by_a_caller = [&](uint32_t priority) {
        const uint64_t *by_caller = &drive_->turn.gp_state[GP_EXPEDITED].by_caller.count;
        uint64_t before = *by_caller;
        std::thread([&] {
            rtrcu_self.sched = priority;
            uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
            turn_synchronize_expedited(&drive_->turn, cookie);
            EXPECT_TRUE(reached(cookie));
        }).join();
        return *by_caller - before;
    };
    turn_start_expedited(&drive_->turn, gp_snap(world_.gp(), GP_EXPEDITED));
    ASSERT_TRUE(test::eventually(
        [&] { return rtrcu_load_acquire(&worker->thread_id) != 0 && !gp_is_needed(world_.gp(), GP_EXPEDITED); }));

    EXPECT_EQ(advanced_by_a_caller(low_priority), 0u);
    EXPECT_EQ(advanced_by_a_caller(ordinary), 1u);

    ASSERT_TRUE(test::eventually([&] { return test::is_asleep(pid_t(plat_thread_tid(&worker->thread.plat).number)); }));
    rtrcu_store_relaxed(&worker->priority, 1); /* a real-time worker */
    EXPECT_EQ(advanced_by_a_caller(low_priority), 1u);
}

/* The worker reads these settings when it is created, so each test needs a process of its own. */
class ExpeditedAlone : public Expedited, public testing::WithParamInterface<int32_t>
{
};
INSTANTIATE_TEST_SUITE_P(Workers, ExpeditedAlone,
                         testing::Values(RTRCU_EXP_WORKER_WORKQUEUE, RTRCU_EXP_WORKER_KTHREAD_ONLY));

TEST_P(ExpeditedAlone, CallersLeaveEveryStepToTheWorker)
{
    keep();
    config_.boost = 0;
    config_.exp_worker = GetParam();
    turn_start_expedited(&drive_->turn, gp_snap(world_.gp(), GP_EXPEDITED));
    ASSERT_TRUE(test::eventually([&] { return !gp_is_needed(world_.gp(), GP_EXPEDITED); }));
    for (bool readers : {false, true}) {
        if (readers)
            (void)world_.craft(0);
        uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
        turn_synchronize_expedited(&drive_->turn, cookie);
        EXPECT_TRUE(reached(cookie));
        EXPECT_EQ(drive_->turn.gp_state[GP_EXPEDITED].by_caller.count, 0u) << "readers: " << readers;
    }
}

TEST_F(Expedited, CallerWithoutAWorkerAdvancesToTheEnd)
{
    drive_->work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000;
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    turn_synchronize_expedited(&drive_->turn, cookie);
    EXPECT_TRUE(reached(cookie));
    EXPECT_EQ(drive_->turn.gp_state[GP_EXPEDITED].by_caller.count, 1u);
}

/* The booster, created in the call, must preempt the threads that keep the reader from its CPU. */
TEST_F(Expedited, BoosterTakesThePriorityOfACallerWithoutAWorker)
{
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    drive_->work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000; /* a refusal is remembered for a tick */
    config_.kthread_prio = 2;
    config_.boost = 0;
    (void)world_.craft(0);
    test::Worker holder, caller;
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    holder.run([&] { turn_gp_lock(expedited_); });
    caller.start([&] {
        EXPECT_EQ(plat_sched_set(4, 0), 0);
        turn_synchronize_expedited(&drive_->turn, cookie);
    });
    EXPECT_TRUE(test::eventually([&] { return turn_expedited_priority(&drive_->turn) == 4; }));
    holder.run([&] { turn_gp_unlock(expedited_); });
    caller.wait();
    EXPECT_TRUE(reached(cookie));
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 2);
}

/* The worker is notified of a later request, which a thread made while the caller advanced. */
TEST_F(Expedited, CallerPassesRequestsOfOtherThreadsToTheWorker)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    worker->thread.state = WORK_RUNNING;
    worker->thread_id = lock_thread_number(); /* the worker counts as running, and does nothing */
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    gp_request(world_.gp(), GP_EXPEDITED, cookie + SEQ_STEP);
    turn_synchronize_expedited(&drive_->turn, cookie);
    EXPECT_TRUE(reached(cookie));
    EXPECT_FALSE(reached(cookie + SEQ_STEP));
    EXPECT_EQ(drive_->turn.exp_waiters.notified, cookie + SEQ_STEP);
    EXPECT_EQ(worker->thread.event, 1u);
}

/* The worker is raised before it is woken. */
TEST_F(Expedited, CallerThatHandsOverRaisesTheWorker)
{
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    config_.kthread_prio = 2;
    config_.boost = 0;
    test::Worker still, holder, caller;
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    worker->thread.state = WORK_RUNNING;
    still.run([&] { worker->thread_id = lock_thread_number(); }); /* the worker counts as running, and does nothing */
    worker->priority = 2;
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    holder.run([&] { turn_gp_lock(expedited_); });
    caller.start([&] {
        EXPECT_EQ(plat_sched_set(4, 0), 0);
        turn_synchronize_expedited(&drive_->turn, cookie);
    });
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&drive_->turn.exp_waiters.notified) == cookie; }));
    EXPECT_EQ(rtrcu_load_acquire(&worker->priority), 4);
    holder.run([&] { turn_gp_unlock(expedited_); });
    caller.wait();
    EXPECT_TRUE(reached(cookie));
}

} // namespace
