/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of a step of a grace period: its state, reports, waiting threads, and handlers of blocked tasks. */
#include "../../support/sandbox.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "../../support/driving.h"

namespace
{

constexpr int64_t HOUR_NS = INT64_C(3600000000000);

class Step : public DriveWorld
{
  protected:
    void request_reports(gp_kind kind = GP_NORMAL)
    {
        gp_request(world_.gp(), kind, gp_snap(world_.gp(), kind));
    }
    bool is_running(gp_kind kind = GP_NORMAL)
    {
        return gp_is_running(world_.gp(), kind);
    }
    void make_older(int64_t by_ns, gp_kind kind = GP_NORMAL)
    {
        world_.gp()->machine[kind].began_ns -= by_ns;
    }
    /* Request a grace period while a reader is inside. */
    void begin_beside_a_reader()
    {
        config_.tick_us = 1000;
        config_.boost = 0;
        (void)world_.craft(1);
        request_reports();
    }
    /* Make a worker count as running.  Returns its count of wake-ups. */
    uint32_t *still(int index)
    {
        drive_->work.worker[index].thread.state = WORK_RUNNING;
        return &drive_->work.worker[index].thread.event;
    }
    /* Returns whether a report has been gathered since the last call. */
    bool gathered(gp_kind kind = GP_NORMAL)
    {
        bool waits = drive_->work.watch->waits[kind];
        drive_->work.watch->waits[kind] = false;
        return waits;
    }
};

TEST_F(Step, StepStoresTheStateThatTheNextStepNeeds)
{
    struct gp_state &gp_state = drive_->turn.gp_state[GP_NORMAL];
    config_.stall_timeout_ms = 5000;
    gp_state.requested = true;
    gp_state.report_ns = 7;
    reader_record *record = world_.craft(1);
    request_reports();
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_FALSE(gp_state.unscanned);
    EXPECT_FALSE(gp_state.requested) << "the first step sets no flags";
    EXPECT_TRUE(gp_state.fenced);
    EXPECT_EQ(gp_state.unfenced.count, 0u);
    EXPECT_EQ(gp_state.report_ns, INT64_C(5000000000));
    uint32_t event = gp_state.event;
    test::World::set_inside(record, 0);
    EXPECT_TRUE(turn_step(normal_));
    EXPECT_EQ(gp_state.event, event + 1) << "the gp lock was released";
    world_.withdraw(record);
    request_reports();
    EXPECT_TRUE(turn_step(normal_));
    EXPECT_FALSE(gp_state.fenced) << "no reader needs a fence";
    EXPECT_EQ(gp_state.unfenced.count, 1u);
}

/* The first report is due at the configured age, the second at three times that age. */
TEST_F(Step, GracePeriodIsReportedAtGrowingAges)
{
    SKIP_WITHOUT_MEMBARRIER();
    config_.stall_timeout_ms = 3600000;
    uint32_t *said = still(WORK_WORKER_REPORT);
    for (gp_kind kind : {GP_NORMAL, GP_EXPEDITED}) {
        reader_record *record = world_.craft(1);
        *said = 0;
        request_reports(kind);
        for (int i = 0; i < 3; i++)
            EXPECT_FALSE(turn_step(turn_gp_state(&drive_->turn, kind)));
        EXPECT_FALSE(gathered(kind));
        make_older(HOUR_NS, kind);
        EXPECT_FALSE(turn_step(turn_gp_state(&drive_->turn, kind)));
        EXPECT_TRUE(gathered(kind));
        EXPECT_EQ(*said, 1u);
        EXPECT_EQ(drive_->turn.gp_state[kind].report_ns, 3 * HOUR_NS);
        make_older(HOUR_NS, kind);
        EXPECT_FALSE(turn_step(turn_gp_state(&drive_->turn, kind)));
        EXPECT_FALSE(gathered(kind));
        make_older(HOUR_NS, kind);
        EXPECT_FALSE(turn_step(turn_gp_state(&drive_->turn, kind)));
        EXPECT_TRUE(gathered(kind));
        EXPECT_EQ(*said, 2u);
        make_older(90 * HOUR_NS, kind);
        test::World::set_inside(record, 0);
        EXPECT_TRUE(turn_step(turn_gp_state(&drive_->turn, kind)));
        EXPECT_FALSE(gathered(kind)) << "the grace period has ended";
        EXPECT_EQ(*said, 2u);
        world_.withdraw(record);
    }
}

/* Without a fence a grace period cannot scan readers; each step reports that. */
TEST_F(Step, MissingFenceStopsTheGracePeriodAndIsReported)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    config_.stall_timeout_ms = 3600000;
    config_.membarrier = RTRCU_MEMBARRIER_OFF; /* leaves only the visit to every CPU */
    uint32_t *said = still(WORK_WORKER_REPORT);
    reader_record *record = world_.craft(0);
    reader_fences_switch(world_.registry());
    drive_->work.visit.visitor = 1; /* another thread visits the CPUs */
    bool refused = true;
    std::thread([&] {
        refused = test::refuse({{SYS_sched_setaffinity, EPERM}}, 0);
        if (!refused)
            return;
        request_reports();
        EXPECT_FALSE(turn_step(normal_));
        EXPECT_TRUE(is_running());
        EXPECT_TRUE(drive_->turn.gp_state[GP_NORMAL].unscanned);
        EXPECT_FALSE(turn_step(normal_));
        EXPECT_FALSE(gathered());
        make_older(HOUR_NS);
        EXPECT_FALSE(turn_step(normal_));
        EXPECT_TRUE(gathered());
        EXPECT_EQ(drive_->work.watch->waiting[GP_NORMAL].fence_error, -EPERM);
        EXPECT_EQ(drive_->turn.gp_state[GP_NORMAL].report_ns, 3 * HOUR_NS);
        EXPECT_FALSE(turn_step(normal_));
        EXPECT_FALSE(gathered());
        EXPECT_EQ(*said, 1u);
        EXPECT_TRUE(drive_->turn.gp_state[GP_NORMAL].unscanned);
        turn_gp_lock(normal_);
        EXPECT_FALSE(turn_first(normal_));
        turn_gp_unlock(normal_);
        EXPECT_TRUE(is_running());
        rtrcu_store_release(&record->fence_ack, reader_fences_mode(world_.registry()));
        EXPECT_TRUE(turn_step(normal_));
        EXPECT_FALSE(drive_->turn.gp_state[GP_NORMAL].unscanned);
    }).join();
    if (!refused)
        GTEST_SKIP() << "no sandbox is to be had here";
}

TEST_F(Step, ForksChildStartsWithoutStoredState)
{
    for (struct gp_state &gp_state : drive_->turn.gp_state) {
        gp_state.unscanned = gp_state.requested = true;
        gp_state.event = 9;
        tally_raise(&gp_state.sleeping);
    }
    tally_raise(&drive_->turn.driver_waiters);
    drive_->work.main_ended = 1;
    drive_->work.visit.visitor = 77;
    drive_->work.visit.began_ns = 5;
    drive_->turn.exp_waiters.notified = gp_seq(world_.gp(), GP_EXPEDITED) + 8 * SEQ_STEP;
    uint32_t generation = drive_->serve.fork.generation;
    after_fork_child(PLAT_NOBODY);
    for (const struct gp_state &gp_state : drive_->turn.gp_state) {
        EXPECT_FALSE(gp_state.unscanned || gp_state.requested);
        EXPECT_EQ(gp_state.event, 0u);
        EXPECT_EQ(tally_read(&gp_state.sleeping), 0u);
    }
    EXPECT_EQ(tally_read(&drive_->turn.driver_waiters), 0u);
    EXPECT_EQ(drive_->work.main_ended, 0u);
    EXPECT_EQ(drive_->work.visit.visitor, 0u);
    EXPECT_EQ(drive_->work.visit.began_ns, 0);
    EXPECT_EQ(drive_->turn.exp_waiters.notified, gp_seq(world_.gp(), GP_EXPEDITED));
    EXPECT_EQ(drive_->serve.fork.generation, generation + 1);
    EXPECT_TRUE(plat_tid_is(drive_->work.survivor, lock_thread_id()));
}

/* ---- threads that wait ---- */

bool until_reached(struct serve *serve)
{
    (void)serve_dispatch(serve);
    return callback_barrier_reached(serve->cb);
}

/* The options that rcu_barrier() uses. */
constexpr turn_options for_barrier = {
    .never_spins = true, .never_sleeps = false, .by_caller = true, .serve = until_reached};

/* rcu_barrier() stops advancing when its callbacks have returned, and leaves polling to another thread. */
TEST_F(Step, BarrierStopsAdvancingTheGracePeriodOnceItsCallbacksReturned)
{
    begin_beside_a_reader();
    while (drive_->turn.gp_state[GP_NORMAL].slept.count == 0) /* a tick may pass before the barrier's first step */
        turn_if_needed(normal_, &for_barrier);
    EXPECT_TRUE(is_running());
    EXPECT_TRUE(plat_tid_is_nobody(drive_->turn.gp_state[GP_NORMAL].poller));
    EXPECT_EQ(tally_read(&drive_->turn.gp_state[GP_NORMAL].sleeping), 0u);
    EXPECT_EQ(drive_->turn.gp_state[GP_NORMAL].slept.count, 1u);
    EXPECT_TRUE(drive_->turn.gp_state[GP_NORMAL].requested);
    drive_->turn.gp_state[GP_NORMAL].poller = {77};
    turn_if_needed(normal_, &for_barrier);
    EXPECT_TRUE(is_running());
    EXPECT_EQ(drive_->turn.gp_state[GP_NORMAL].poller.number, 77u) << "another thread stays the poller";
}

/* A poller that leaves wakes another waiter, which becomes the poller: waiters sleep at growing intervals and rely on
 * it. */
TEST_F(Step, LeavingPollerWakesASleeper)
{
    begin_beside_a_reader();
    struct gp_state &gp_state = drive_->turn.gp_state[GP_NORMAL];
    while (gp_state.slept.count == 0) { /* a tick may pass before the barrier's first step */
        uint32_t event = gp_state.event;
        turn_if_needed(normal_, &for_barrier);
        EXPECT_EQ(gp_state.event, event + 1);
    }
}

/* Ready callbacks of a thread that has exited must not wait for the grace period's readers. */
TEST_F(Step, ServingThreadServesBetweenItsSteps)
{
    static constexpr turn_options serves = {
        .never_spins = true, .never_sleeps = false, .by_caller = false, .serve = driver_serve_meanwhile};
    static constexpr turn_options does_not = {
        .never_spins = true, .never_sleeps = false, .by_caller = false, .serve = nullptr};
    config_.tick_us = 1000;
    config_.boost = 0;
    for (serve_daemon &daemon : drive_->serve.daemon)
        daemon.thread.state = WORK_RUNNING; /* without a thread, so that queues stay listed */
    reader_record *owner = world_.craft(0), *inside = world_.craft(0);
    make_ready(owner, 1);
    world_.withdraw(owner);
    for (const turn_options *options : {&does_not, &serves}) {
        test::World::set_inside(inside, 1);
        request_reports();
        uint64_t slept = drive_->turn.gp_state[GP_NORMAL].slept.count;
        test::Worker advancer;
        advancer.start([&] { turn_if_needed(normal_, options); });
        EXPECT_TRUE(test::eventually([&] {
            return options == &serves ? rtrcu_load_acquire(&serve_slot(owner)->listed) == 1
                                      : rtrcu_load_acquire(&drive_->turn.gp_state[GP_NORMAL].slept.count) > slept;
        }));
        EXPECT_EQ(rtrcu_load_acquire(&serve_slot(owner)->listed), options == &serves ? 1u : 0u);
        test::World::set_inside(inside, 0);
        advancer.wait();
        EXPECT_FALSE(is_running()) << "the caller has advanced the grace period to its end";
    }
}

/* A caller of low priority advances itself if it is a deadline thread, which wakes no driver, or if the driver has no
 * thread. */
TEST_F(Step, LowPriorityCallerNeedsADriverWithAThread)
{
    constexpr uint32_t weak = 33;                        /* the result of the last check */
    ASSERT_TRUE(work_thread_hold(&drive_->work.thread)); /* the driver is being created, and advances nothing */
    config_.tick_us = 3600000000;
    drive_->work.thread.sleeping = WORK_ASLEEP;
    const auto gp_lock_releases = [&](gp_kind kind) {
        rtrcu_self.sched = weak;
        uint64_t before = drive_->turn.gp_state[kind].by_caller.count;
        turn_synchronize(turn_gp_state(&drive_->turn, kind), gp_snap(world_.gp(), kind));
        rtrcu_self.sched = 0;
        EXPECT_EQ(drive_->work.wakeups.count, 0u);
        return drive_->turn.gp_state[kind].by_caller.count == before + 1;
    };
    test::Worker caller;
    caller.run([&] {
        EXPECT_TRUE(gp_lock_releases(GP_EXPEDITED));
        reader_self_set(READER_STATE_DEADLINE);
        EXPECT_TRUE(gp_lock_releases(GP_NORMAL));
        reader_self_clear(READER_STATE_DEADLINE);
        (void)work_thread_release(&drive_->work.thread);
        work_driver_change(&drive_->work, driver_of(RTRCU_DRIVER_SCHED), drive_->work.attr);
        EXPECT_TRUE(gp_lock_releases(GP_NORMAL));
    });
}

/* The worker that calls the handler is woken once for the arrived tasks. */
TEST_F(Step, HandlerIsCalledForArrivedTasks)
{
    reader_record *record = world_.craft(1);
    uint32_t *told = still(WORK_WORKER_NOTIFY);
    struct gp_state &gp_state = drive_->turn.gp_state[GP_NORMAL];
    request_reports();
    EXPECT_FALSE(turn_step(normal_));
    world_.gp()->machine[GP_NORMAL].tasks_came = gp_state.tasks_notified + 3;
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_EQ(*told, 0u) << "there is no handler";
    work_set_blocking_handler(&drive_->work, [] {});
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_EQ(*told, 1u);
    EXPECT_EQ(gp_state.tasks_notified, world_.gp()->machine[GP_NORMAL].tasks_came);
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_NOTIFY].wanted, 1u);
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_EQ(*told, 1u) << "no further task has arrived";
    test::World::set_inside(record, 0);
    EXPECT_TRUE(turn_step(normal_));
}

/* The worker that calls the handler cannot be created at first; a later step tries again. */
TEST_F(Step, HandlerIsCalledOnceItsRefusedWorkerExists)
{
    reader_record *record = world_.craft(1);
    struct gp_state &gp_state = drive_->turn.gp_state[GP_NORMAL];
    work_set_blocking_handler(&drive_->work, [] {});
    config_.tick_us = 60000000;
    drive_->work.refused_ns = plat_clock_now(); /* the refusal is remembered for a tick */
    request_reports();
    EXPECT_FALSE(turn_step(normal_));
    uint32_t before = gp_state.tasks_notified;
    world_.gp()->machine[GP_NORMAL].tasks_came = before + 3;
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_EQ(gp_state.tasks_notified, before);
    uint32_t *told = still(WORK_WORKER_NOTIFY);
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_EQ(*told, 1u);
    EXPECT_EQ(gp_state.tasks_notified, before + 3);
    test::World::set_inside(record, 0);
    EXPECT_TRUE(turn_step(normal_));
}

uint32_t *tasks_came;

/* In place of the wake-up of the worker: another task arrives. */
long have_a_task_come()
{
    ++*tasks_came;
    return 0;
}

/* A task arrives after the step has read the count, so the next step must wake the worker again. */
TEST_F(Step, HandlerIsCalledForATaskThatArrivesDuringItsCall)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    (void)world_.craft(1);
    uint32_t *told = still(WORK_WORKER_NOTIFY);
    work_set_blocking_handler(&drive_->work, [] {});
    request_reports();
    EXPECT_FALSE(turn_step(normal_));
    tasks_came = &world_.gp()->machine[GP_NORMAL].tasks_came;
    uint32_t first = drive_->turn.gp_state[GP_NORMAL].tasks_notified + 1;
    *tasks_came = first;
    bool trapped = true;
    std::thread([&] {
        trapped = test::trap(SYS_futex, told, have_a_task_come);
        EXPECT_TRUE(!trapped || !turn_step(normal_));
    }).join();
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
    EXPECT_EQ(*told, 1u);
    EXPECT_EQ(*tasks_came, first + 1);
    EXPECT_EQ(drive_->turn.gp_state[GP_NORMAL].tasks_notified, first);
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_EQ(*told, 2u);
}

/* ---- expedited grace periods ---- */

/* A deadline thread creates and wakes no worker: it leaves a request, or advances to the end itself. */
TEST_F(Step, DeadlineThreadAdvancesAlone)
{
    SKIP_WITHOUT_MEMBARRIER();
    test::Worker thread;
    thread.run([&] {
        reader_self_set(READER_STATE_DEADLINE);
        uint64_t cookie = gp_snap(world_.gp(), GP_EXPEDITED);
        turn_start_expedited(&drive_->turn, cookie);
        EXPECT_EQ(drive_->work.urgent, 1u);
        EXPECT_TRUE(gp_is_needed(world_.gp(), GP_EXPEDITED));
        (void)world_.craft(0);
        turn_synchronize_expedited(&drive_->turn, cookie);
        EXPECT_TRUE(gp_reached(world_.gp(), GP_EXPEDITED, cookie));
        for (const struct work_worker &worker : drive_->work.worker)
            EXPECT_EQ(worker.thread.state, static_cast<uint32_t>(WORK_NONE));
        reader_self_clear(READER_STATE_DEADLINE);
    });
    EXPECT_EQ(drive_->turn.gp_state[GP_EXPEDITED].by_caller.count, 1u);
}

/* If no worker can be created, the driver is woken with urgent work. */
TEST_F(Step, DriverIsWokenUrgentlyWithoutAWorker)
{
    config_.tick_us = 3600000000;
    drive_->work.refused_ns = plat_clock_now();
    uint64_t told = drive_->turn.exp_waiters.notified;
    turn_start_expedited(&drive_->turn, gp_snap(world_.gp(), GP_EXPEDITED));
    EXPECT_EQ(drive_->work.urgent, 0u) << "there is no driver either";
    drive_->work.thread.state = WORK_RUNNING;
    drive_->work.thread.sleeping = WORK_ASLEEP;
    turn_start_expedited(&drive_->turn, gp_snap(world_.gp(), GP_EXPEDITED));
    EXPECT_EQ(drive_->work.urgent, 1u);
    EXPECT_EQ(drive_->work.wakeups.count, 1u);
    EXPECT_EQ(drive_->turn.exp_waiters.notified, told);
}

} // namespace
