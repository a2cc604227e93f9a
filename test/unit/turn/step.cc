/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A step of a grace period: what it notes and reports.
 */
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
    /* A grace period is asked for, and finds a reader that stays. */
    void begin_beside_a_reader()
    {
        config_.tick_us = 1000;
        config_.boost = 0;
        (void)world_.craft(1);
        request_reports();
    }
    /* A worker whose thread does nothing: it counts how often it is woken. */
    uint32_t *still(int index)
    {
        drive_->work.worker[index].thread.state = WORK_RUNNING;
        return &drive_->work.worker[index].thread.event;
    }
    /* Has a report been gathered since the last time? */
    bool gathered(gp_kind kind = GP_NORMAL)
    {
        bool waits = drive_->work.watch->waits[kind];
        drive_->work.watch->waits[kind] = false;
        return waits;
    }
};

TEST_F(Step, NotesWhatTheNextOneNeeds)
{
    struct gp_state &gp_state = drive_->turn.gp_state[GP_NORMAL];
    config_.stall_timeout_ms = 5000;
    gp_state.requested = true;
    gp_state.report_ns = 7;
    reader_record *record = world_.craft(1);
    request_reports();
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_FALSE(gp_state.unscanned);
    EXPECT_FALSE(gp_state.requested) << "a step that waits for nobody asks at the next look";
    EXPECT_TRUE(gp_state.fenced);
    EXPECT_EQ(gp_state.unfenced.count, 0u);
    EXPECT_EQ(gp_state.report_ns, INT64_C(5000000000));
    uint32_t event = gp_state.event;
    test::World::set_inside(record, 0);
    EXPECT_TRUE(turn_step(normal_));
    EXPECT_EQ(gp_state.event, event + 1) << "the crank was released";
    world_.withdraw(record);
    request_reports();
    EXPECT_TRUE(turn_step(normal_));
    EXPECT_FALSE(gp_state.fenced) << "nobody needs it";
    EXPECT_EQ(gp_state.unfenced.count, 1u);
}

/* The first report when it is as old as the setting says, the next at three times that age. */
TEST_F(Step, AGracePeriodIsReportedAtGrowingAges)
{
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
        EXPECT_FALSE(gathered(kind)) << "it has ended";
        EXPECT_EQ(*said, 2u);
        world_.withdraw(record);
    }
}

/* Without a fence it stands still, knows nothing of any reader, and says so as often. */
TEST_F(Step, WithoutAFenceItStandsStillAndSaysSo)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
    config_.stall_timeout_ms = 3600000;
    config_.membarrier = RTRCU_MEMBARRIER_OFF; /* the visit to every CPU is what is left */
    uint32_t *said = still(WORK_WORKER_REPORT);
    reader_record *record = world_.craft(0);
    reader_fences_switch(world_.registry());
    drive_->work.visit.visitor = 1; /* another's is told of */
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

TEST_F(Step, OfAForksChildBeginsWithNothingNoted)
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

/* ---- who waits, and what it does meanwhile ---- */

bool until_reached(struct serve *serve)
{
    (void)serve_dispatch(serve);
    return callback_barrier_reached(serve->cb);
}

/* As rcu_barrier() turns. */
constexpr turn_options for_barrier = {
    .never_spins = true, .never_sleeps = false, .by_caller = true, .serve = until_reached};

/* rcu_barrier() turns no longer than it waits for callbacks, and leaves its watch to whoever comes next. */
TEST_F(Step, ABarrierThatIsThroughLeavesTheRest)
{
    begin_beside_a_reader();
    while (drive_->turn.gp_state[GP_NORMAL].slept.count == 0) /* a tick may pass before its first step */
        turn_if_needed(normal_, &for_barrier);
    EXPECT_TRUE(is_running());
    EXPECT_TRUE(plat_tid_is_nobody(drive_->turn.gp_state[GP_NORMAL].poller));
    EXPECT_EQ(tally_read(&drive_->turn.gp_state[GP_NORMAL].sleeping), 0u);
    EXPECT_EQ(drive_->turn.gp_state[GP_NORMAL].slept.count, 1u);
    EXPECT_TRUE(drive_->turn.gp_state[GP_NORMAL].requested);
    drive_->turn.gp_state[GP_NORMAL].poller = {77};
    turn_if_needed(normal_, &for_barrier);
    EXPECT_TRUE(is_running());
    EXPECT_EQ(drive_->turn.gp_state[GP_NORMAL].poller.number, 77u) << "another's";
}

/* Those who sleep longer and longer rely on it: one of them has to look once a tick from then on. */
TEST_F(Step, WhoLeavesItsWatchTellsWhoeverSleeps)
{
    begin_beside_a_reader();
    struct gp_state &gp_state = drive_->turn.gp_state[GP_NORMAL];
    while (gp_state.slept.count == 0) { /* a tick may pass before its first step */
        uint32_t event = gp_state.event;
        turn_if_needed(normal_, &for_barrier);
        EXPECT_EQ(gp_state.event, event + 1);
    }
}

/* What is ready, and whose owner has gone meanwhile, does not wait for the readers. */
TEST_F(Step, WhoServesServesBetweenItsSteps)
{
    static constexpr turn_options serves = {
        .never_spins = true, .never_sleeps = false, .by_caller = false, .serve = driver_serve_meanwhile};
    static constexpr turn_options does_not = {
        .never_spins = true, .never_sleeps = false, .by_caller = false, .serve = nullptr};
    config_.tick_us = 1000;
    config_.boost = 0;
    for (serve_daemon &daemon : drive_->serve.daemon)
        daemon.thread.state = WORK_RUNNING; /* keeps what it is given */
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
        EXPECT_FALSE(is_running()) << "it has turned to the end";
    }
}

/* A deadline thread wakes nobody, and a driver without a thread turns nothing: so a weak caller turns it itself. */
TEST_F(Step, AWeakCallerLeavesItOnlyToADriverThatHasAThread)
{
    constexpr uint32_t weak = 33;                        /* and so it was at the last look */
    ASSERT_TRUE(work_thread_hold(&drive_->work.thread)); /* somebody is making it: nobody turns */
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

/* The handler is told once of the tasks that came, by a thread that holds nothing. */
TEST_F(Step, TheHandlerIsToldOfTasksThatCame)
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
    EXPECT_EQ(*told, 1u) << "it was told";
    test::World::set_inside(record, 0);
    EXPECT_TRUE(turn_step(normal_));
}

/* The thread that is to tell cannot be made yet: the next step tries again. */
TEST_F(Step, AHandlerThatWasNotToldIsToldLater)
{
    reader_record *record = world_.craft(1);
    struct gp_state &gp_state = drive_->turn.gp_state[GP_NORMAL];
    work_set_blocking_handler(&drive_->work, [] {});
    config_.tick_us = 60000000;
    drive_->work.refused_ns = plat_clock_now(); /* as is believed for a tick */
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

/* While the thread that tells the handler is woken, which has looked at the tasks already. */
long have_a_task_come()
{
    ++*tasks_came;
    return 0;
}

/* Its grace period would wait until the task is scheduled by chance. */
TEST_F(Step, TheHandlerIsToldOfATaskThatComesWhileItIsTold)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
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
        GTEST_SKIP() << "no call can be trapped here";
    EXPECT_EQ(*told, 1u);
    EXPECT_EQ(*tasks_came, first + 1);
    EXPECT_EQ(drive_->turn.gp_state[GP_NORMAL].tasks_notified, first);
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_EQ(*told, 2u);
}

/* ---- expedited ones ---- */

/* A deadline thread makes no thread and wakes nobody: it leaves a note, or turns to the end. */
TEST_F(Step, ADeadlineThreadTurnsItAlone)
{
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

/* Where no worker is to be had the driver is hurried, if it is there. */
TEST_F(Step, WithoutAWorkerTheDriverIsHurried)
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
