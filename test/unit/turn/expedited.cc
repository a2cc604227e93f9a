/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Expedited grace periods: whose priority counts, who is told, and what is made beforehand.
 */
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

TEST_F(Expedited, ThePriorityIsTheWorkersOrThatOfWhoWaits)
{
    config_.kthread_prio = 5;
    config_.exp_worker = RTRCU_EXP_WORKER_KTHREAD;
    drive_->turn.exp_waiters.notified = INT32_MAX; /* stands behind the four */
    drive_->turn.exp_waiters.priority[0] = 3;
    drive_->turn.exp_waiters.priority[3] = 9;
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 5) << "nobody waits now";
    request_reports();
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 9);
    drive_->turn.exp_waiters.priority[3] = 4;
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 5);
    config_.exp_worker = RTRCU_EXP_WORKER_WORKQUEUE;
    drive_->turn.exp_waiters.priority[3] = 9;
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 0) << "an ordinary worker follows nobody";
    config_.exp_worker = RTRCU_EXP_WORKER_KTHREAD_ONLY;
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 9) << "a real-time worker that turns alone follows too";
    config_.exp_worker = RTRCU_EXP_WORKER_KTHREAD;
    config_.kthread_prio = 0;
    EXPECT_EQ(turn_expedited_priority(&drive_->turn), 0);
}

TEST_F(Expedited, ThePriorityIsThatOfWhoeverWaits)
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

TEST_F(Expedited, TheEndForgetsThePriorityOfItsNumberAndCounts)
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

TEST_F(Expedited, WaiterSleepsUntilItsNumberIsReached)
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

/* However many wait for the same number. */
TEST_F(Expedited, EachWhoWaitsIsToldOfTheEnd)
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
        plat_futex_wake(&ended, INT32_MAX); /* ends a sleep that has no end */
    for (test::Worker &waiter : waiters)
        waiter.wait();
}

TEST_F(Expedited, AForksChildWaitsForNone)
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

TEST_F(Expedited, WhatNobodyWasToldOfIsLeft)
{
    EXPECT_FALSE(turn_expedited_is_left(&drive_->turn)) << "nothing is asked for";
    uint64_t cookie = request_reports();
    EXPECT_TRUE(turn_expedited_is_left(&drive_->turn)) << "there is no worker";
    struct work_thread *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED].thread;
    worker->state = WORK_RUNNING;
    EXPECT_TRUE(turn_expedited_is_left(&drive_->turn)) << "it was not told";
    turn_expedited_serve(&drive_->turn, driver_serve_meanwhile);
    EXPECT_EQ(drive_->turn.exp_waiters.notified, cookie);
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_EXPEDITED].thread.event, 1u);
    EXPECT_FALSE(turn_expedited_is_left(&drive_->turn));
    turn_expedited_serve(&drive_->turn, driver_serve_meanwhile);
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_EXPEDITED].thread.event, 1u) << "it was told";
}

/* A driver's pass does that too, whatever else it finds. */
TEST_F(Expedited, APassTellsTheWorkerOfWhatIsLeft)
{
    const turn_options options = {};
    struct work_thread *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED].thread;
    worker->state = WORK_RUNNING;
    uint64_t cookie = request_reports();
    EXPECT_FALSE(driver_pass(&drive_->driver, &options));
    EXPECT_EQ(drive_->turn.exp_waiters.notified, cookie);
    EXPECT_EQ(worker->event, 1u);
}

TEST_F(Expedited, WithoutAWorkerTheDriverTurnsIt)
{
    drive_->work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000;
    plat_thread_renumber(&drive_->work.thread.plat, lock_thread_id()); /* that is us */
    uint64_t cookie = request_reports();
    turn_expedited_serve(&drive_->turn, driver_serve_meanwhile);
    EXPECT_TRUE(reached(cookie));
    EXPECT_EQ(drive_->turn.gp_state[GP_EXPEDITED].by_caller.count, 0u);
}

TEST_F(Expedited, ADriverWithoutAThreadTakesOneStep)
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

TEST_F(Expedited, WhatBoostsIsMadeBeforehand)
{
    keep();
    config_.kthread_prio = 2;
    config_.boost = 1;
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    turn_start_expedited(&drive_->turn, cookie);
    for (int index : {WORK_WORKER_EXPEDITED, WORK_WORKER_BOOST, WORK_WORKER_NUDGE})
        EXPECT_TRUE(test::eventually([&] { return work_thread_runs(&drive_->work.worker[index].thread); })) << index;
    EXPECT_FALSE(work_driver_runs(&drive_->work)) << "nobody needs a driver";
    EXPECT_EQ(drive_->work.urgent, 0u);
    EXPECT_TRUE(test::eventually([&] { return reached(cookie); }));
    EXPECT_EQ(drive_->turn.exp_waiters.notified, cookie);
}

TEST_F(Expedited, NothingBoostsWhereThatIsOff)
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

/* What others asked for while it had the machine, who relied on it. */
TEST_F(Expedited, ACallerTurnsWhatOthersAskedForToo)
{
    drive_->work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000;
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    gp_request(world_.gp(), GP_EXPEDITED, cookie + SEQ_STEP);
    turn_synchronize_expedited(&drive_->turn, cookie);
    EXPECT_TRUE(reached(cookie + SEQ_STEP));
    EXPECT_FALSE(gp_is_needed(world_.gp(), GP_EXPEDITED));
}

/* The same where readers are there, so that it takes a step. */
TEST_F(Expedited, ACallerBesideReadersTurnsWhatOthersAskedForToo)
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

/* A worker is told of it instead, whether the caller's own took a step or none. */
TEST_F(Expedited, ACallerTellsTheWorkerWhatOthersAskedFor)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    worker->thread.state = WORK_RUNNING;
    worker->thread_id = lock_thread_number(); /* that is us, who only count */
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

/* A deadline thread wakes nobody: the driver finds it at its tick. */
TEST_F(Expedited, ACallerWithADeadlineLeavesItToTheDriver)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    worker->thread.state = WORK_RUNNING;
    worker->thread_id = lock_thread_number(); /* that is us, who only count */
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

/* One that turned all of it itself has no work for the worker, which sleeps on. */
TEST_F(Expedited, ACallerThatIsDoneTellsNobody)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    worker->thread.state = WORK_RUNNING;
    worker->thread_id = lock_thread_number(); /* that is us, who only count */
    config_.boost = 0;
    (void)world_.craft(0);
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED), notified = drive_->turn.exp_waiters.notified;
    turn_synchronize_expedited(&drive_->turn, cookie);
    EXPECT_TRUE(reached(cookie));
    EXPECT_EQ(drive_->turn.exp_waiters.notified, notified);
    EXPECT_EQ(worker->thread.event, 0u);
}

/* Who waits for whoever has the machine lifts the worker first: the priority is there, or its refusal is counted. */
TEST_F(Expedited, WhoHandsOverLiftsTheWorker)
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

/* A caller that others may keep from its CPU leaves it to a worker that is as ordinary, not to a real-time one. */
TEST_F(Expedited, AWeakCallerLeavesItToAnOrdinaryWorker)
{
    constexpr uint32_t weak = 33, strong = 32; /* and so it was at the last look */
    keep();
    config_.boost = 0;
    config_.kthread_prio = 0;
    (void)world_.craft(0);
    turn_start_expedited(&drive_->turn, gp_snap(world_.gp(), GP_EXPEDITED));
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    ASSERT_TRUE(test::eventually(
        [&] { return rtrcu_load_acquire(&worker->thread_id) != 0 && !gp_is_needed(world_.gp(), GP_EXPEDITED); }));
    uint64_t *by_caller = &drive_->turn.gp_state[GP_EXPEDITED].by_caller.count;
    auto call = [&](uint32_t how) {
        std::thread([&] {
            rtrcu_self.sched = how;
            uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
            turn_synchronize_expedited(&drive_->turn, cookie);
            EXPECT_TRUE(reached(cookie));
        }).join();
    };
    call(weak);
    EXPECT_EQ(*by_caller, 0u);
    call(strong);
    EXPECT_EQ(*by_caller, 1u);
    ASSERT_TRUE(test::eventually([&] { return test::is_asleep(pid_t(plat_thread_tid(&worker->thread.plat).number)); }));
    rtrcu_store_relaxed(&worker->priority, 1); /* until it looks again */
    call(weak);
    EXPECT_EQ(*by_caller, 2u);
}

/* A test each: the worker reads the settings, which are set before it exists. */
class ExpeditedAlone : public Expedited, public testing::WithParamInterface<int32_t>
{
};
INSTANTIATE_TEST_SUITE_P(Workers, ExpeditedAlone,
                         testing::Values(RTRCU_EXP_WORKER_WORKQUEUE, RTRCU_EXP_WORKER_KTHREAD_ONLY));

TEST_P(ExpeditedAlone, CallersLeaveAllOfItToTheWorker)
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

/* A caller that waits turns it itself where there is no worker. */
TEST_F(Expedited, ACallerTurnsItToTheEnd)
{
    drive_->work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000;
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    turn_synchronize_expedited(&drive_->turn, cookie);
    EXPECT_TRUE(reached(cookie));
    EXPECT_EQ(drive_->turn.gp_state[GP_EXPEDITED].by_caller.count, 1u);
}

/* So a booster that was made at the call outranks the threads that keep the reader from its CPU. */
TEST_F(Expedited, BoosterTakesThePriorityOfACallerWithoutAWorker)
{
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    drive_->work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000; /* a refusal is believed for a tick */
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

/* Where there is a worker, it is told of what others asked for, who relied on the caller. */
TEST_F(Expedited, ACallerTellsOfWhatOthersAskedFor)
{
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    worker->thread.state = WORK_RUNNING;
    worker->thread_id = lock_thread_number(); /* it runs, and does nothing */
    uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
    gp_request(world_.gp(), GP_EXPEDITED, cookie + SEQ_STEP);
    turn_synchronize_expedited(&drive_->turn, cookie);
    EXPECT_TRUE(reached(cookie));
    EXPECT_FALSE(reached(cookie + SEQ_STEP));
    EXPECT_EQ(drive_->turn.exp_waiters.notified, cookie + SEQ_STEP);
    EXPECT_EQ(worker->thread.event, 1u);
}

/* Before it is woken: it might come to run too late. */
TEST_F(Expedited, ACallerThatHandsOverLiftsTheWorker)
{
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    config_.kthread_prio = 2;
    config_.boost = 0;
    test::Worker still, holder, caller;
    struct work_worker *worker = &drive_->work.worker[WORK_WORKER_EXPEDITED];
    worker->thread.state = WORK_RUNNING;
    still.run([&] { worker->thread_id = lock_thread_number(); }); /* it runs, and does nothing */
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
