/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of wake-ups of the driver and of waiters. */
#include "../../support/driving.h"

namespace
{

class Wake : public DriveWorld
{
  protected:
    uint64_t woken()
    {
        return drive_->work.wakeups.count;
    }
    /* Returns how often a call wakes a driver in state @sleeping; each wake-up must also change its event. */
    uint64_t wakes(enum work_sleep sleeping, bool urgent)
    {
        uint64_t before = woken();
        uint32_t event = drive_->work.thread.event;
        drive_->work.thread.sleeping = sleeping;
        drive_->work.urgent = 0;
        work_driver_wake(&drive_->work, urgent);
        EXPECT_EQ(drive_->work.urgent, urgent ? 1u : 0u);
        EXPECT_EQ(drive_->work.thread.event - event, woken() - before);
        drive_->work.thread.sleeping = WORK_AWAKE;
        return woken() - before;
    }
    uint64_t wakes_online(enum work_sleep sleeping)
    {
        uint64_t before = woken();
        drive_->work.thread.sleeping = sleeping;
        work_driver_online(&drive_->work);
        drive_->work.thread.sleeping = WORK_AWAKE;
        return woken() - before;
    }
};

TEST_F(Wake, WakeUpOfTheDriverDependsOnItsKindOfSleep)
{
    for (enum work_sleep sleeping : {WORK_AWAKE, WORK_PACING, WORK_TICKING, WORK_ASLEEP}) {
        EXPECT_EQ(wakes(sleeping, false), sleeping >= WORK_TICKING ? 1u : 0u) << sleeping;
        EXPECT_EQ(wakes(sleeping, true), sleeping >= WORK_PACING ? 1u : 0u) << sleeping;
    }
}

/* Urgent work stays marked urgent until the driver has seen it. */
TEST_F(Wake, UrgentWorkStaysUrgentAfterOrdinaryWork)
{
    work_driver_wake_later(&drive_->work, false);
    EXPECT_EQ(drive_->work.urgent, 0u);
    work_driver_wake_later(&drive_->work, true);
    EXPECT_EQ(drive_->work.urgent, 1u);
    work_driver_wake(&drive_->work, false);
    EXPECT_EQ(drive_->work.urgent, 1u);
    EXPECT_EQ(woken(), 0u) << "the driver is awake";
    work_driver_wake_always(&drive_->work);
    EXPECT_EQ(woken(), 1u);
    EXPECT_EQ(drive_->work.thread.event, 1u);
}

/* An online deadline thread does not wake the driver, which polls at its next tick instead. */
TEST_F(Wake, OnlineDeadlineThreadWakesNoThread)
{
    test::Worker thread;
    thread.run([&] {
        ASSERT_EQ(section_register(&rtrcu_domain.gp, RTRCU_QSBR), 0);
        reader_self_set(READER_STATE_DEADLINE);
        for (enum work_sleep sleeping : {WORK_PACING, WORK_TICKING, WORK_ASLEEP}) {
            EXPECT_EQ(wakes(sleeping, true), 0u) << sleeping;
            EXPECT_EQ(wakes(sleeping, false), 0u) << sleeping;
        }
        reader_self_clear(READER_STATE_DEADLINE);
        EXPECT_EQ(wakes(WORK_ASLEEP, false), 1u);
        rcu_thread_offline();
        reader_self_set(READER_STATE_DEADLINE);
        EXPECT_EQ(wakes(WORK_ASLEEP, false), 1u) << "an offline deadline thread may make system calls";
        EXPECT_EQ(wakes(WORK_PACING, true), 1u);
        reader_self_clear(READER_STATE_DEADLINE);
        rcu_thread_online();
    });
}

/* A preemptible deadline thread wakes no thread: such a thread is never offline. */
TEST_F(Wake, PreemptibleDeadlineThreadWakesNoThread)
{
    test::Worker thread;
    thread.run([&] {
        rcu_read_lock(); /* registers */
        rcu_read_unlock();
        reader_self_set(READER_STATE_DEADLINE);
        EXPECT_EQ(wakes(WORK_ASLEEP, true), 0u);
        reader_self_clear(READER_STATE_DEADLINE);
        EXPECT_EQ(wakes(WORK_ASLEEP, true), 1u);
    });
}

/* The driver must tick while a deadline thread is online, since a deadline thread does not wake the driver. */
TEST_F(Wake, DeadlineThreadComingOnlineWakesADriverWithoutATick)
{
    test::Worker thread;
    thread.run([&] {
        EXPECT_EQ(wakes_online(WORK_ASLEEP), 0u) << "another thread wakes the driver when it has work";
        reader_self_set(READER_STATE_DEADLINE);
        EXPECT_EQ(wakes_online(WORK_ASLEEP), 1u);
        for (enum work_sleep sleeping : {WORK_AWAKE, WORK_PACING, WORK_TICKING})
            EXPECT_EQ(wakes_online(sleeping), 0u) << sleeping;
        reader_self_clear(READER_STATE_DEADLINE);
    });
}

int notified, came_online, gone_away;

/* A driver without a thread is notified instead of woken. */
TEST_F(Wake, DriverWithoutAThreadIsNotified)
{
    work_driver row = {.name = "told",
                       .body = nullptr,
                       .notify = [](struct driver *) { notified++; },
                       .online = [](struct driver *) { came_online++; },
                       .leave = [](struct driver *) { gone_away++; }};
    notified = came_online = gone_away = 0;
    work_driver_change(&drive_->work, &row, drive_->work.attr);
    EXPECT_EQ(wakes(WORK_ASLEEP, true), 0u) << "the driver has no thread";
    EXPECT_EQ(wakes(WORK_ASLEEP, false), 0u);
    EXPECT_EQ(notified, 2);
    EXPECT_EQ(wakes_online(WORK_ASLEEP), 0u);
    EXPECT_EQ(came_online, 1);
    work_driver_leave(&drive_->work);
    EXPECT_EQ(gone_away, 1);
    row.body = [](struct driver *) {};
    EXPECT_EQ(wakes(WORK_ASLEEP, false), 1u);
    EXPECT_EQ(notified, 3);
}

/* A thread that needs a driver during a change starts its replacement, which takes over the remaining work. */
TEST_F(Wake, NewDriverIsStartedForRequestsDuringAChange)
{
    work_driver row = {
        .name = "left", .body = nullptr, .notify = nullptr, .online = nullptr, .leave = [](struct driver *) {
            gone_away++;
        }};
    gone_away = 0;
    ASSERT_TRUE(work_driver_hold(&drive_->work));
    EXPECT_FALSE(work_driver_hold(&drive_->work)) << "another thread holds it";
    work_driver_change(&drive_->work, &row, &drive_->work.process);
    EXPECT_EQ(work_driver_row(&drive_->work), &row);
    EXPECT_EQ(work_attr(&drive_->work), &drive_->work.process);
    work_driver_changed(&drive_->work);
    EXPECT_EQ(drive_->work.thread.state, static_cast<uint32_t>(WORK_NONE)) << "no thread needed the driver";
    EXPECT_EQ(gone_away, 0);
    ASSERT_TRUE(work_driver_hold(&drive_->work));
    EXPECT_EQ(work_driver_start(&drive_->work), 0);
    work_driver_changed(&drive_->work);
    EXPECT_TRUE(work_driver_runs(&drive_->work));
    EXPECT_EQ(gone_away, 1);
}

/* A report wakes a sleeper of its kind.  A deadline thread wakes none. */
TEST_F(Wake, ReportWakesAWaiterOfItsKind)
{
    const auto events = [&](gp_actions actions) {
        for (struct gp_state &gp_state : drive_->turn.gp_state)
            gp_state.event = 0;
        turn_perform(&drive_->turn, actions);
        return std::pair(drive_->turn.gp_state[GP_NORMAL].event, drive_->turn.gp_state[GP_EXPEDITED].event);
    };
    const auto both = gp_actions(GP_ACTION_WAKE_NORMAL | GP_ACTION_WAKE_EXPEDITED);
    EXPECT_EQ(events(both), std::pair(0u, 0u)) << "no thread sleeps";
    tally_raise(&drive_->turn.gp_state[GP_EXPEDITED].sleeping);
    EXPECT_EQ(events(both), std::pair(0u, 1u));
    tally_raise(&drive_->turn.gp_state[GP_NORMAL].sleeping);
    EXPECT_EQ(events(both), std::pair(1u, 1u));
    EXPECT_EQ(events(GP_ACTION_WAKE_NORMAL), std::pair(1u, 0u));
    EXPECT_EQ(events(GP_ACTION_WAKE_EXPEDITED), std::pair(0u, 1u));
    EXPECT_EQ(events(GP_ACTION_NONE), std::pair(0u, 0u));
    test::Worker thread;
    thread.run([&] {
        reader_self_set(READER_STATE_DEADLINE);
        EXPECT_EQ(events(both), std::pair(0u, 0u));
        reader_self_clear(READER_STATE_DEADLINE);
    });
}

/* A thread that waits for callbacks marks urgent work, and wakes the driver whatever its sleep. */
TEST_F(Wake, WaiterForCallbacksWakesTheDriverUrgently)
{
    serve_progress_wait(
        &drive_->serve, [](struct serve *, void *) { return true; }, nullptr, PLAT_FOREVER); /* does not sleep */
    EXPECT_EQ(drive_->work.urgent, 1u);
    EXPECT_EQ(woken(), 1u);
    EXPECT_EQ(tally_read(&drive_->serve.progress_waiters), 0u);
}

/* Producers do not wait for a backlog that no driver serves, or one below the limit. */
TEST_F(Wake, UnservedBacklogIsNotWaitedFor)
{
    reader_record *record = world_.craft(0);
    config_.tick_us = 3600000000;
    config_.qmax = 3;
    queue(record, 2);
    EXPECT_TRUE(serve_wait_below_full(&drive_->serve, record));
    queue(record, 1);
    EXPECT_FALSE(serve_wait_below_full(&drive_->serve, record)) << "no driver runs";
    work_driver_change(&drive_->work, driver_of(RTRCU_DRIVER_SCHED), drive_->work.attr);
    drive_->work.thread.state = WORK_RUNNING;
    EXPECT_FALSE(serve_wait_below_full(&drive_->serve, record)) << "the driver has no thread";
    EXPECT_EQ(woken(), 0u);
    config_.qmax = 4;
    EXPECT_TRUE(serve_wait_below_full(&drive_->serve, record));
}

/* The driver ticks on for some ticks after the last deadline thread went offline, then stops. */
TEST_F(Wake, DriverContinuesToTickAfterTheLastDeadlineThread)
{
    drive_->work.urgent = 1; /* so that the driver does not sleep */
    const auto since = [&](int64_t online_ns, int64_t tick_us) {
        drive_->driver.online_ns = online_ns;
        config_.tick_us = tick_us;
        driver_sleep_until_new(&drive_->driver, drive_->work.thread.event, false);
        EXPECT_EQ(drive_->work.thread.sleeping, static_cast<uint32_t>(WORK_AWAKE));
        return drive_->driver.online_ns;
    };
    int64_t now = plat_clock_now();
    EXPECT_EQ(since(0, 1000), 0);
    EXPECT_EQ(since(now - 50 * INT64_C(3600000000000), 3600000000), now - 50 * INT64_C(3600000000000));
    EXPECT_EQ(since(now - 100 * INT64_C(1000000), 1000), 0);
}

/* While callbacks are ready, the driver checks them again at the next tick. */
TEST_F(Wake, DriverTicksWhileCallbacksAreReady)
{
    config_.tick_us = 50;
    test::Worker driver;
    driver.start([&] { driver_sleep_until_new(&drive_->driver, drive_->work.thread.event, true); });
    EXPECT_TRUE(test::eventually([&] { return driver.is_done(); })) << "the driver sleeps without a timeout";
    work_thread_wake(&drive_->work.thread);
    driver.wait();
}

TEST_F(Wake, CallLeavesGracePeriodStepsToADriverWithAThread)
{
    struct serve_call_budget call_budget = {};
    test::Worker caller;
    caller.run([&] {
        drive_->work.thread.state = WORK_RUNNING;
        driver_step_here(&drive_->driver, &call_budget, true);
        EXPECT_EQ(drive_->driver.passes.count, 0u);
    });
    drive_->work.thread.state = WORK_NONE;
}

TEST_F(Wake, CallAdvancesTheGracePeriodIfNoThreadDoes)
{
    constexpr bool requested = true;
    struct serve_call_budget call_budget = {};
    test::Worker caller;
    caller.run([&] {
        driver_step_here(&drive_->driver, &call_budget, !requested);
        EXPECT_EQ(drive_->driver.passes.count, 0u) << "a call takes steps only if it requests them";

        drive_->work.urgent = 1;
        driver_step_here(&drive_->driver, &call_budget, requested);
        EXPECT_EQ(drive_->driver.passes.count, 1u);
        EXPECT_EQ(drive_->work.urgent, 0u);

        queue(world_.craft(0), 1);
        driver_step_here(&drive_->driver, &call_budget, requested);
        EXPECT_FALSE(gp_is_needed(world_.gp(), GP_NORMAL)) << "the step completes the grace period";
    });
}

TEST_F(Wake, CallNotifiesAThreadlessDriverOfRemainingWork)
{
    work_driver threadless = {.name = "threadless",
                              .body = nullptr,
                              .notify = [](struct driver *) { notified++; },
                              .online = nullptr,
                              .leave = nullptr};
    struct serve_call_budget call_budget = {};
    test::Worker caller;
    caller.run([&] {
        notified = 0;
        work_driver_change(&drive_->work, &threadless, drive_->work.attr);
        driver_step_here(&drive_->driver, &call_budget, false);
        EXPECT_EQ(notified, 0) << "no work is left";

        call_budget.left = true;
        driver_step_here(&drive_->driver, &call_budget, false);
        EXPECT_EQ(notified, 1) << "callbacks are left";

        call_budget.left = false;
        (void)world_.craft(1);
        (void)gp_request(world_.gp(), GP_NORMAL, gp_snap(world_.gp(), GP_NORMAL));
        driver_step_here(&drive_->driver, &call_budget, false);
        EXPECT_EQ(notified, 2) << "a grace period is left";
    });
}

/* Each counter gets a different number. */
TEST_F(Wake, CountersAreReportedSeparately)
{
    struct gp_state &gp_state = drive_->turn.gp_state[GP_NORMAL];
    uint64_t number = 100;
    counter *const counters[] = {&gp_state.slept,
                                 &gp_state.unfenced,
                                 &gp_state.by_caller,
                                 &drive_->work.wakeups,
                                 &drive_->driver.passes,
                                 &drive_->work.rt_refused,
                                 &drive_->turn.boosts,
                                 &drive_->turn.boost_ns,
                                 &drive_->turn.boost_refused,
                                 &drive_->turn.boost_given_up,
                                 &drive_->serve.krcud_given,
                                 &drive_->turn.fence_refused};
    for (counter *one : counters)
        one->count = ++number;
    drive_->turn.boost_ns_max = ++number;
    struct rtrcu_stats stats = {};
    api_drive_stats(drive_, &stats);
    const uint64_t told[] = {stats.gp_slept,      stats.gp_unfenced,    stats.gp_by_caller, stats.driver_wakeups,
                             stats.driver_passes, stats.rt_refused,     stats.boosts,       stats.boost_ns,
                             stats.boost_refused, stats.boost_given_up, stats.krcud_given,  stats.fence_refused,
                             stats.boost_ns_max};
    number = 100;
    for (uint64_t one : told)
        EXPECT_EQ(one, ++number);
}

} // namespace
