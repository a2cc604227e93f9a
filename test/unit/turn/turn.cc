/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of advancing a grace period: the effect of one step, waiting callers, and immediate grace periods. */
#include <cerrno>
#include <string>

#include "../../support/probes.h"
#include "../../support/sandbox.h"
#include "../../support/threads.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "../../support/driving.h"

namespace
{

class Turn : public DriveWorld
{
  protected:
    uint64_t seq(gp_kind kind = GP_NORMAL)
    {
        return gp_seq(world_.gp(), kind);
    }
    bool request_reports(gp_kind kind = GP_NORMAL)
    {
        return gp_request(world_.gp(), kind, gp_snap(world_.gp(), kind));
    }
    bool take_first_step(gp_kind kind)
    {
        turn_gp_lock(turn_gp_state(&drive_->turn, kind));
        bool ended = turn_first(turn_gp_state(&drive_->turn, kind));
        turn_gp_unlock(turn_gp_state(&drive_->turn, kind));
        return ended;
    }
};

TEST_F(Turn, StepWithoutANeededGracePeriodDoesNothing)
{
    uint64_t before = seq();
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_EQ(seq(), before);
}

TEST_F(Turn, StepBeginsAndEndsWithoutReaders)
{
    (void)world_.craft(0);
    request_reports();
    uint64_t before = seq();
    EXPECT_TRUE(turn_step(normal_));
    EXPECT_EQ(seq(), before + SEQ_STEP);
    EXPECT_EQ(drive_->turn.gp_state[GP_NORMAL].by_caller.count, 0u);
    EXPECT_FALSE(turn_step(normal_));
}

TEST_F(Turn, OnlyTheSecondStepRequestsReports)
{
    SKIP_WITHOUT_MEMBARRIER();
    reader_record *record = world_.craft(1);
    request_reports();
    uint64_t before = seq();
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_TRUE(gp_is_running(world_.gp(), GP_NORMAL));
    uint32_t word = rtrcu_word_of(record->self);
    EXPECT_FALSE(turn_step(normal_));
    EXPECT_NE(rtrcu_word_of(record->self), word);
    test::World::set_inside(record, 0);
    EXPECT_TRUE(turn_step(normal_));
    EXPECT_EQ(seq(), before + SEQ_STEP);
}

/* Threads that leave the steps to the driver wait for the count of releases of the normal gp lock. */
TEST_F(Turn, ReleasesOfTheGpLockAreCountedWhileThreadsWaitForIt)
{
    request_reports();
    EXPECT_TRUE(turn_step(normal_));
    EXPECT_EQ(drive_->turn.gp_lock_releases, 0u);
    tally_raise(&drive_->turn.driver_waiters);
    request_reports(GP_EXPEDITED);
    EXPECT_TRUE(turn_step(expedited_));
    EXPECT_EQ(drive_->turn.gp_lock_releases, 0u) << "only the normal kind is counted";
    request_reports();
    EXPECT_TRUE(turn_step(normal_));
    EXPECT_EQ(drive_->turn.gp_lock_releases, 1u);
}

TEST_F(Turn, StepReturnsIfAnotherThreadHoldsTheGpLock)
{
    request_reports();
    test::Worker holder;
    holder.run([&] { turn_gp_lock(normal_); });
    EXPECT_FALSE(turn_step(normal_));
    holder.run([&] { turn_gp_unlock(normal_); });
    EXPECT_TRUE(turn_step(normal_));
}

/* The caller's step waits for readers for a moment only. */
TEST_F(Turn, StepOfAnExpeditedCallerEndsTheGracePeriodUnlessAReaderStays)
{
    reader_record *record = world_.craft(0);
    uint64_t before = seq(GP_EXPEDITED);
    EXPECT_TRUE(take_first_step(GP_EXPEDITED));
    EXPECT_EQ(seq(GP_EXPEDITED), before + SEQ_STEP);
    EXPECT_EQ(drive_->turn.gp_state[GP_EXPEDITED].by_caller.count, 1u);
    EXPECT_EQ(drive_->turn.exp_waiters.ended[0] + drive_->turn.exp_waiters.ended[1] +
                  drive_->turn.exp_waiters.ended[2] + drive_->turn.exp_waiters.ended[3],
              1u);
    test::World::set_inside(record, 1);
    EXPECT_FALSE(take_first_step(GP_EXPEDITED));
    EXPECT_TRUE(gp_is_running(world_.gp(), GP_EXPEDITED));
    EXPECT_FALSE(take_first_step(GP_EXPEDITED)) << "the reader is still inside";
    test::World::set_inside(record, 0);
    EXPECT_TRUE(take_first_step(GP_EXPEDITED));
    EXPECT_EQ(seq(GP_EXPEDITED), before + 2 * SEQ_STEP);
    EXPECT_EQ(drive_->turn.gp_state[GP_EXPEDITED].by_caller.count, 2u);
}

/* The caller polls for spin_us, and ends the step when the readers have left.  It also polls if one of the readers was
 * last seen on its own CPU and another one elsewhere. */
TEST_F(Turn, StepOfAnExpeditedCallerSpinsBriefly)
{
    static const uint32_t elsewhere = UINT32_MAX;
    static uint32_t here;
    reader_record *kept = world_.craft(1), *runs = world_.craft(1);
    kept->cpu = &here;
    runs->cpu = &elsewhere;
    config_.spin_us = 3600000000;
    bool ended = false;
    test::Worker caller;
    caller.run([] {
        here = static_cast<uint32_t>(sched_getcpu());
        EXPECT_EQ(plat_cpu_bind(static_cast<int>(here)), 0);
    });
    caller.start([&] { ended = take_first_step(GP_EXPEDITED); });
    EXPECT_TRUE(test::eventually([&] {
        return caller.is_done() ||
               gp_holdouts(world_.gp(), GP_EXPEDITED, runs->leaf) == (reader_bit(kept) | reader_bit(runs));
    }));
    test::World::set_inside(kept, 0);
    test::World::set_inside(runs, 0);
    caller.wait();
    EXPECT_TRUE(ended);
}

/* An ordinary thread does not wait for the gp lock itself, but sleeps until its release. */
TEST_F(Turn, OrdinaryCallerSleepsWhileAnotherThreadHoldsTheGpLock)
{
    tally *sleeping = &drive_->turn.gp_state[GP_NORMAL].sleeping;
    uint64_t cookie = gp_snap(world_.gp(), GP_NORMAL);
    test::Worker holder, caller;
    holder.run([&] { turn_gp_lock(normal_); });
    caller.start([&] { turn_synchronize(normal_, cookie); });
    EXPECT_TRUE(test::eventually([&] { return tally_acquire(sleeping) == 1; }));
    EXPECT_FALSE(gp_reached(world_.gp(), GP_NORMAL, cookie));
    holder.run([&] { turn_gp_unlock(normal_); });
    caller.wait();
    EXPECT_TRUE(gp_reached(world_.gp(), GP_NORMAL, cookie));
    EXPECT_EQ(tally_read(sleeping), 0u);
    EXPECT_EQ(drive_->turn.gp_state[GP_NORMAL].by_caller.count, 1u);
}

/* A caller that has left the steps to the driver wakes it again at growing intervals. */
TEST_F(Turn, PausesOfALowPriorityCallerGrow)
{
    constexpr uint32_t weak = 33; /* rtrcu_self.sched: a thread of low priority, cached */
    constexpr int64_t tick_ns = 1000000, waits = 200;
    ASSERT_TRUE(work_thread_hold(&drive_->work.thread)); /* the driver is being created */
    drive_->work.thread.sleeping = WORK_ASLEEP;
    config_.tick_us = tick_ns / 1000;
    uint64_t cookie = gp_snap(world_.gp(), GP_NORMAL);
    test::Worker caller;
    int64_t began = plat_clock_now();
    caller.start([&] {
        rtrcu_self.sched = weak;
        turn_synchronize(normal_, cookie);
    });
    EXPECT_TRUE(test::eventually([&] { return plat_clock_now() - began >= waits * tick_ns; }));
    EXPECT_LT(counter_read(&drive_->work.wakeups), uint64_t(waits / 2));
    EXPECT_TRUE(test::eventually([&] { return counter_read(&drive_->work.wakeups) >= 3; }));
    EXPECT_TRUE(turn_step(normal_));
    caller.wait();
    EXPECT_TRUE(gp_reached(world_.gp(), GP_NORMAL, cookie));
    (void)work_thread_release(&drive_->work.thread);
}

constexpr int rests_watched = 10;
int64_t rests_ns[rests_watched];
int rests_seen;
test::Steps *rested;

/* In place of a futex wait: notes its timeout, then times out; the last wait lasts until the test ends it. */
long rest_and_note()
{
    const auto *rest = reinterpret_cast<const struct timespec *>(test::fourth_argument.load());
    if (rests_seen < rests_watched)
        rests_ns[rests_seen++] = rest->tv_sec * INT64_C(1000000000) + rest->tv_nsec;
    if (rests_seen == rests_watched) {
        rested->reach(1);
        rested->wait(2);
    }
    return -ETIMEDOUT;
}

void expect_rests_that_grow(int64_t first_ns)
{
    constexpr int64_t longest_ns = 100000000;
    EXPECT_EQ(rests_ns[0], first_ns);
    for (int i = 1; i < rests_watched; i++)
        EXPECT_EQ(rests_ns[i], rests_ns[i - 1] < longest_ns ? 2 * rests_ns[i - 1] : rests_ns[i - 1]) << i;
    EXPECT_EQ(rests_ns[rests_watched - 1], rests_ns[rests_watched - 2]) << "the pause has reached its maximum";
}

/* The pauses of a caller that leaves the steps to the driver double until a maximum. */
TEST_F(Turn, PauseOfALowPriorityCallerIsBounded)
{
    constexpr uint32_t weak = 33; /* rtrcu_self.sched: a thread of low priority, cached */
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    ASSERT_TRUE(work_thread_hold(&drive_->work.thread)); /* the driver is being created */
    drive_->work.thread.sleeping = WORK_ASLEEP;
    config_.tick_us = 12500; /* so that the longest pause differs from the others */
    uint64_t cookie = gp_snap(world_.gp(), GP_NORMAL);
    test::Steps steps;
    rested = &steps;
    rests_seen = 0;
    bool trapped = true;
    test::Worker caller;
    caller.run([&] { trapped = test::trap(SYS_futex, &drive_->turn.gp_lock_releases, rest_and_note); });
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
    caller.start([&] {
        rtrcu_self.sched = weak;
        turn_synchronize(normal_, cookie);
    });
    EXPECT_TRUE(test::eventually([&] { return steps.at() >= 1; }));
    EXPECT_TRUE(turn_step(normal_));
    steps.reach(2);
    caller.wait();
    expect_rests_that_grow(config_.tick_us * 1000);
    (void)work_thread_release(&drive_->work.thread);
}

/* The pauses of a thread that finds another thread taking the step double until a maximum. */
TEST_F(Turn, PauseOfAHelperIsBounded)
{
    static const turn_options options = {};
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    config_.tick_us = 12500; /* so that the longest pause differs from the others */
    request_reports();
    test::Steps steps;
    rested = &steps;
    rests_seen = 0;
    bool trapped = true;
    test::Worker holder, helper;
    helper.run([&] { trapped = test::trap(SYS_futex, &drive_->turn.gp_state[GP_NORMAL].event, rest_and_note); });
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
    holder.run([&] { turn_gp_lock(normal_); });
    helper.start([&] { turn_if_needed(normal_, &options); });
    EXPECT_TRUE(test::eventually([&] { return steps.at() >= 1; }));
    holder.run([&] { turn_gp_unlock(normal_); });
    steps.reach(2);
    helper.wait();
    expect_rests_that_grow(config_.tick_us * 1000);
}

/* A thread is marked asleep only while it waits for the gp lock. */
TEST_F(Turn, ThreadIsNotMarkedAsleepAfterWaitingForTheGpLock)
{
    test::Worker holder, waiter;
    pid_t id = 0;
    holder.run([&] { turn_gp_lock(normal_); });
    waiter.run([&] {
        rcu_read_lock();
        rcu_read_unlock();
        id = pid_t(lock_thread_number());
    });
    bool away = true;
    waiter.start([&] {
        turn_gp_lock(normal_);
        away =
            reader_self_is(READER_STATE_ASLEEP) || rtrcu_load_acquire(&reader_self()->fence_ack) == READER_FENCES_ANY;
        turn_gp_unlock(normal_);
    });
    EXPECT_TRUE(test::eventually([&] { return waiter.is_done() || test::is_asleep(id); }));
    holder.run([&] { turn_gp_unlock(normal_); });
    waiter.wait();
    EXPECT_FALSE(away);
}

TEST_F(Turn, SleeperIsUncountedIfItsFenceFails)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    keep();
    tally *sleeping = &drive_->turn.gp_state[GP_NORMAL].sleeping;
    reader_record *record = world_.craft(0);
    uint64_t cookie = gp_snap(world_.gp(), GP_NORMAL);
    config_.tick_us = 3600000000;
    config_.membarrier = RTRCU_MEMBARRIER_OFF; /* leaves only the visit to every CPU */
    reader_fences_switch(world_.registry());
    bool refused = true;
    test::Worker caller;
    uint32_t id = 0;
    caller.run([&] {
        id = lock_thread_number();
        refused = test::refuse({{SYS_sched_setaffinity, EPERM}}, 0);
    });
    if (!refused)
        GTEST_SKIP() << "no sandbox is to be had here";
    caller.start([&] { turn_synchronize(normal_, cookie); });
    EXPECT_TRUE(test::eventually([&] { return peek(&drive_->turn.gp_state[GP_NORMAL].poller.number) == id; }));
    EXPECT_EQ(tally_acquire(sleeping), 1u);
    rtrcu_store_release(&record->fence_ack, reader_fences_mode(world_.registry()));
    rtrcu_fetch_add(&drive_->turn.gp_state[GP_NORMAL].event, 1);
    plat_futex_wake(&drive_->turn.gp_state[GP_NORMAL].event, INT32_MAX);
    caller.wait();
    EXPECT_TRUE(gp_reached(world_.gp(), GP_NORMAL, cookie));
    EXPECT_EQ(tally_read(sleeping), 0u);
}

/* The first waiter polls once per tick; a second one does not. */
TEST_F(Turn, FirstWaiterBecomesThePoller)
{
    reader_record *record = world_.craft(1);
    uint64_t cookie = gp_snap(world_.gp(), GP_NORMAL);
    test::Worker first, second;
    uint32_t id = 0;
    first.run([&] { id = lock_thread_number(); });
    first.start([&] { turn_synchronize(normal_, cookie); });
    uint32_t *poller = &drive_->turn.gp_state[GP_NORMAL].poller.number;
    tally *sleeping = &drive_->turn.gp_state[GP_NORMAL].sleeping;
    EXPECT_TRUE(test::eventually([&] { return peek(poller) == id; }));
    second.start([&] { turn_synchronize(normal_, cookie); });
    EXPECT_TRUE(test::eventually([&] { return tally_acquire(sleeping) == 2; }));
    EXPECT_EQ(peek(poller), id);
    test::World::set_inside(record, 0);
    first.wait();
    second.wait();
    EXPECT_TRUE(gp_reached(world_.gp(), GP_NORMAL, cookie));
    EXPECT_GE(drive_->turn.gp_state[GP_NORMAL].slept.count, 1u);
}

/* Waiters other than the poller poll at growing intervals. */
TEST_F(Turn, OtherWaitersPollAtGrowingIntervals)
{
    constexpr long ticks = 60;
    config_.tick_us = 1000;
    reader_record *record = world_.craft(1);
    uint64_t cookie = gp_snap(world_.gp(), GP_NORMAL);
    test::Worker first, second;
    uint32_t one = 0, other = 0;
    first.run([&] { one = lock_thread_number(); });
    second.run([&] { other = lock_thread_number(); });
    first.start([&] { turn_synchronize(normal_, cookie); });
    EXPECT_TRUE(test::eventually([&] { return peek(&drive_->turn.gp_state[GP_NORMAL].poller.number) == one; }));
    second.start([&] { turn_synchronize(normal_, cookie); });
    long before = test::sleeps_of(pid_t(one)), before_other = test::sleeps_of(pid_t(other));
    EXPECT_TRUE(test::eventually([&] { return test::sleeps_of(pid_t(one)) - before >= ticks; }));
    EXPECT_LT(test::sleeps_of(pid_t(other)) - before_other, ticks / 2);
    test::World::set_inside(record, 0);
    first.wait();
    second.wait();
}

/* A waiter with the lowest real-time priority polls once per tick, beside the poller. */
TEST_F(Turn, RealTimeWaiterPollsOncePerTick)
{
    constexpr long ticks = 60;
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    config_.tick_us = 1000;
    reader_record *record = world_.craft(1);
    uint64_t cookie = gp_snap(world_.gp(), GP_NORMAL);
    test::Worker first, second;
    uint32_t one = 0, other = 0;
    first.run([&] { one = lock_thread_number(); });
    second.run([&] {
        other = lock_thread_number();
        EXPECT_EQ(plat_sched_set(1, 0), 0);
    });
    first.start([&] { turn_synchronize(normal_, cookie); });
    EXPECT_TRUE(test::eventually([&] { return peek(&drive_->turn.gp_state[GP_NORMAL].poller.number) == one; }));
    second.start([&] { turn_synchronize(normal_, cookie); });
    long before = test::sleeps_of(pid_t(one)), before_other = test::sleeps_of(pid_t(other));
    EXPECT_TRUE(test::eventually([&] { return test::sleeps_of(pid_t(one)) - before >= ticks; }));
    EXPECT_GE(test::sleeps_of(pid_t(other)) - before_other, ticks / 2);
    test::World::set_inside(record, 0);
    first.wait();
    second.wait();
}

/* Before a waiter reports a stall, it polls the readers: the last one may have left without a report. */
TEST_F(Turn, EndedGracePeriodIsNotReported)
{
    SKIP_WITHOUT_MEMBARRIER();
    config_.tick_us = 3600000000;
    config_.stall_timeout_ms = 3600000;
    config_.boost = 0;
    reader_record *record = world_.craft(1);
    uint64_t cookie = gp_snap(world_.gp(), GP_NORMAL);
    test::Worker holder, caller;
    pid_t id = 0;
    caller.run([&] { id = pid_t(lock_thread_number()); });
    caller.start([&] { turn_synchronize(normal_, cookie); });
    tally *sleeping = &drive_->turn.gp_state[GP_NORMAL].sleeping;
    EXPECT_TRUE(test::eventually([&] { return tally_acquire(sleeping) == 1 && test::is_asleep(id); }));
    holder.run([&] {
        turn_gp_lock(normal_);
        test::World::set_inside(record, 0);
        world_.gp()->machine[GP_NORMAL].began_ns -= INT64_C(7200000000000);
        turn_gp_unlock(normal_);
    });
    caller.wait();
    EXPECT_TRUE(gp_reached(world_.gp(), GP_NORMAL, cookie));
    for (bool waits : drive_->work.watch->waits)
        EXPECT_FALSE(waits);
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_REPORT].thread.state, static_cast<uint32_t>(WORK_NONE));
}

TEST_F(Turn, OnlyNeededGracePeriodsAreAdvanced)
{
    const turn_options options = {};
    uint64_t before = seq();
    turn_if_needed(normal_, &options);
    EXPECT_EQ(seq(), before);
    request_reports();
    turn_if_needed(normal_, &options);
    EXPECT_EQ(seq(), before + SEQ_STEP);
    EXPECT_EQ(drive_->turn.gp_state[GP_NORMAL].by_caller.count, 0u);
}

TEST_F(Turn, ThreadThatDoesNotReadBecomesIdle)
{
    config_.idle_scans = 1;
    reader_record *record = world_.craft(0);
    for (int turn = 0; turn < 3; turn++) {
        request_reports();
        EXPECT_TRUE(turn_step(normal_));
    }
    if (reader_fences_are_full(world_.registry()))
        GTEST_SKIP() << "membarrier() is refused here";
    EXPECT_EQ(reader_scanned_slots(record->leaf) & reader_bit(record), 0u);
}

/* Each time that a step of another thread wakes it, the caller wakes the driver once and sleeps again. */
TEST_F(Turn, LowPriorityCallerSleepsAgainAfterAStepOfAnotherThread)
{
    constexpr uint32_t weak = 33;                        /* rtrcu_self.sched: a thread of low priority, cached */
    ASSERT_TRUE(work_thread_hold(&drive_->work.thread)); /* the driver is being created */
    drive_->work.thread.sleeping = WORK_ASLEEP;
    config_.tick_us = 3600000000;
    uint64_t cookie = gp_snap(world_.gp(), GP_NORMAL);
    test::Worker caller;
    pid_t id = 0;
    caller.run([&] { id = pid_t(lock_thread_number()); });
    caller.start([&] {
        rtrcu_self.sched = weak;
        turn_synchronize(normal_, cookie);
    });
    for (uint64_t sleep = 1; sleep <= 10 && !HasFailure(); sleep++) {
        EXPECT_TRUE(test::eventually([&] {
            uint64_t woken = counter_read(&drive_->work.wakeups);
            return woken > sleep || (woken == sleep && test::is_asleep(id));
        }));
        EXPECT_EQ(counter_read(&drive_->work.wakeups), sleep);
        EXPECT_EQ(tally_acquire(&drive_->turn.driver_waiters), 1u);
        rtrcu_fetch_add(&drive_->turn.gp_lock_releases, 1);
        plat_futex_wake(&drive_->turn.gp_lock_releases, INT32_MAX);
    }
    EXPECT_TRUE(turn_step(normal_));
    caller.wait();
    EXPECT_TRUE(gp_reached(world_.gp(), GP_NORMAL, cookie));
    EXPECT_EQ(tally_read(&drive_->turn.driver_waiters), 0u);
    (void)work_thread_release(&drive_->work.thread);
}

/* An immediate grace period also wakes threads that wait for the expedited sequence number. */
TEST_F(Turn, ImmediateGracePeriodIsCountedAndTraced)
{
    const auto ended = [&] {
        return drive_->turn.exp_waiters.ended[0] + drive_->turn.exp_waiters.ended[1] +
               drive_->turn.exp_waiters.ended[2] + drive_->turn.exp_waiters.ended[3];
    };
    for (gp_kind kind : {GP_NORMAL, GP_EXPEDITED}) {
        uint32_t ended_before = ended();
        EXPECT_TRUE(turn_try_immediate(turn_gp_state(&drive_->turn, kind), gp_snap(world_.gp(), kind)));
        EXPECT_EQ(drive_->turn.gp_state[kind].by_caller.count, 1u);
        EXPECT_EQ(ended() - ended_before, kind == GP_EXPEDITED ? 1u : 0u);
    }
}

/* The cookie needs two grace periods, as in a fork's child, where the parent's one in progress does not count. */
TEST_F(Turn, ImmediateGracePeriodAdvancesTheSequenceByOneGracePeriod)
{
    uint64_t cookie = gp_snap(world_.gp(), GP_NORMAL) + SEQ_STEP;
    EXPECT_FALSE(turn_try_immediate(normal_, cookie));
    EXPECT_FALSE(gp_reached(world_.gp(), GP_NORMAL, cookie));
    EXPECT_TRUE(turn_try_immediate(normal_, cookie));
}

/* No reader is left, but the grace period in progress must end first. */
TEST_F(Turn, RunningGracePeriodIsNotCompletedImmediately)
{
    reader_record *record = world_.craft(1);
    request_reports(GP_EXPEDITED);
    EXPECT_FALSE(turn_step(expedited_));
    test::World::set_inside(record, 0);
    world_.withdraw(record);
    ASSERT_TRUE(gp_nobody_reads(world_.gp()));
    EXPECT_FALSE(turn_try_immediate(expedited_, gp_snap(world_.gp(), GP_EXPEDITED)));
    EXPECT_TRUE(gp_is_running(world_.gp(), GP_EXPEDITED));
    EXPECT_EQ(drive_->turn.gp_state[GP_EXPEDITED].by_caller.count, 0u);
    for (uint32_t ended : drive_->turn.exp_waiters.ended)
        EXPECT_EQ(ended, 0u);
}

/* With never_sleeps the thread keeps polling while a reader runs on another CPU. */
TEST_F(Turn, NeverSleepsKeepsAThreadPollingBesideARunningReader)
{
    static const uint32_t elsewhere = UINT32_MAX;
    const turn_options options = {.never_spins = false, .never_sleeps = true, .by_caller = false, .serve = nullptr};
    config_.tick_us = 3600000000;
    config_.boost = 0;
    reader_record *record = world_.craft(1);
    record->cpu = &elsewhere;
    request_reports();
    test::Worker advancer;
    uint32_t id = 0;
    advancer.run([&] { id = lock_thread_number(); });
    advancer.start([&] { turn_if_needed(normal_, &options); });
    EXPECT_TRUE(test::eventually([&] { return peek(&drive_->turn.gp_state[GP_NORMAL].poller.number) == id; }))
        << "the thread takes a step";
    test::World::set_inside(record, 0);
    bool found = test::eventually([&] { return advancer.is_done(); });
    EXPECT_TRUE(found);
    while (!advancer.is_done()) /* ends the wait of a thread that sleeps nevertheless */
        plat_futex_wake(&drive_->turn.gp_state[GP_NORMAL].event, INT32_MAX);
    EXPECT_EQ(drive_->turn.gp_state[GP_NORMAL].slept.count, 0u);
}

/* GP_ACTION_UNLOCK_PI is not mistaken for the wake-up of a third kind of grace period. */
TEST_F(Turn, EndOfABoostWakesNoWaiter)
{
    test::Worker reader;
    for (uint32_t i = 0; i < 4; i++)
        drive_->turn.exp_waiters.ended[i] = i + 1;
    for (struct gp_state &gp_state : drive_->turn.gp_state)
        (void)tally_raise(&gp_state.sleeping);
    reader.run([&] {
        rcu_read_lock();
        rcu_read_unlock();
        turn_perform(&drive_->turn, GP_ACTION_UNLOCK_PI);
    });
    for (uint32_t i = 0; i < 4; i++)
        EXPECT_EQ(drive_->turn.exp_waiters.ended[i], i + 1);
    for (const struct gp_state &gp_state : drive_->turn.gp_state)
        EXPECT_EQ(gp_state.event, 0u);
}

TEST(DriveProbes, TracepointsOfDriversExist)
{
    EXPECT_EQ(test::missing_probes({"gp_fence", "boost"}), std::vector<std::string>{});
}

} // namespace
