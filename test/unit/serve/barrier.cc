/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who waits for callbacks: is woken by their end, and reported where it does not come.
 */
#include <cstring>

#include "../../support/driving.h"

namespace
{

class Progress : public DriveWorld
{
  protected:
    static bool is_set(struct serve *, void *flag)
    {
        return rtrcu_load_acquire(static_cast<uint32_t *>(flag)) != 0;
    }
    /* A queue of so many, of which one is at the limit, with a driver that nobody is: ticks are an hour. */
    reader_record *flood(int count)
    {
        config_.tick_us = 3600000000;
        config_.qmax = 1;
        reader_record *record = world_.craft(0);
        queue(record, count);
        drive_->work.thread.state = WORK_RUNNING;
        return record;
    }
};

/* Not by its tick, which is an hour here. */
TEST_F(Progress, WhoWaitsForItIsWoken)
{
    config_.tick_us = 3600000000;
    uint32_t flag = 0, id = 0;
    test::Worker waiter;
    waiter.run([&] { id = lock_thread_number(); });
    waiter.start([&] { serve_progress_wait(&drive_->serve, is_set, &flag, PLAT_FOREVER); });
    ASSERT_TRUE(test::eventually([&] { return tally_acquire(&drive_->serve.progress_waiters) == 1; }));
    ASSERT_TRUE(test::eventually([&] { return test::is_asleep(pid_t(id)); }));
    rtrcu_store_release(&flag, 1);
    serve_progress(&drive_->serve);
    bool woken = test::eventually([&] { return waiter.is_done(); });
    EXPECT_TRUE(woken);
    while (!waiter.is_done()) /* ends where the wake-up is missing */
        plat_futex_wake(&drive_->serve.progress, INT32_MAX);
    EXPECT_EQ(tally_read(&drive_->serve.progress_waiters), 0u);
}

/* A backlog that stands still is waited for as long as patience goes, and not for a tick, which is an hour here. */
TEST_F(Progress, ABacklogThatStandsStillIsNotWaitedForATick)
{
    reader_record *record = flood(2);
    EXPECT_FALSE(serve_wait_below_qmax(&drive_->serve, record));
    EXPECT_EQ(tally_read(&drive_->serve.progress_waiters), 0u);
}

/* A section of a task holds the grace period up: only its own thread may end it, which may be the caller. */
TEST_F(Progress, ABacklogThatOnlyATaskCanReleaseIsNotWaitedFor)
{
    reader_record *record = flood(2);
    rcu_task task = {};
    parked_add_to_thread(world_.craft(1), &task);
    EXPECT_FALSE(serve_wait_below_qmax(&drive_->serve, record));
    EXPECT_EQ(cb_->blocked_at_qmax.count, 0u);
    ASSERT_TRUE(parked_remove_from_thread(&task));
    EXPECT_FALSE(serve_wait_below_qmax(&drive_->serve, record)) << "it stands still";
    EXPECT_EQ(cb_->blocked_at_qmax.count, 1u);
}

/* Ready callbacks need no grace period any more. */
TEST_F(Progress, ReadyCallbacksAreWaitedForBesideATask)
{
    reader_record *record = flood(2);
    rcu_task task = {};
    parked_add_to_thread(world_.craft(1), &task);
    rtrcu_store_release(&callback_slot(record)->queue.has_ready, 1u);
    test::Worker caller;
    bool below = false;
    caller.start([&] { below = serve_wait_below_qmax(&drive_->serve, record); });
    EXPECT_TRUE(
        test::eventually([&] { return tally_acquire(&drive_->serve.progress_waiters) == 1 || caller.is_done(); }));
    EXPECT_FALSE(caller.is_done());
    rtrcu_store_release(&callback_slot(record)->queue.invoked, uint64_t{2});
    serve_progress(&drive_->serve);
    caller.wait();
    EXPECT_TRUE(below);
    EXPECT_EQ(cb_->blocked_at_qmax.count, 1u);
    ASSERT_TRUE(parked_remove_from_thread(&task));
}

/* One that has moved is waited for anew, and given up all the same when it stands still. */
TEST_F(Progress, ABacklogThatMovesOnceIsGivenUpAllTheSame)
{
    reader_record *record = flood(3);
    uint64_t *invoked = &callback_slot(record)->queue.invoked;
    bool below = true;
    test::Worker caller;
    caller.start([&] { below = serve_wait_below_qmax(&drive_->serve, record); });
    EXPECT_TRUE(test::eventually([&] { return tally_acquire(&drive_->serve.progress_waiters) == 1; }));
    rtrcu_store_release(invoked, 1);
    serve_progress(&drive_->serve);
    EXPECT_TRUE(test::eventually([&] { return caller.is_done(); }));
    rtrcu_store_release(invoked, 3); /* ends a wait that has no end */
    caller.wait();
    EXPECT_FALSE(below);
}

/* Under an owner's policy the caller runs none while it waits, so daemons must know.  A wait may be missed on a busy
 * machine. */
TEST_F(Progress, WhoWaitsForItsOwnBacklogSaysSo)
{
    reader_record *record = flood(2);
    struct callback_slot *slot = callback_slot(record);
    bool said = false;
    for (int attempt = 0; attempt < 30 && !said; attempt++) {
        rtrcu_store_release(&slot->queue.invoked, uint64_t{0});
        test::Worker caller;
        caller.start([&] { serve_wait_for_backlog(&drive_->serve, record, 1); });
        while (!caller.is_done() && !said)
            said = rtrcu_load_acquire(&slot->owner_waits) == 1;
        rtrcu_store_release(&slot->queue.invoked, uint64_t{2});
        serve_progress(&drive_->serve);
        caller.wait();
        EXPECT_EQ(slot->owner_waits, 0u);
    }
    EXPECT_TRUE(said);
}

/* One that moves again and again is waited for longer than one that stands still: on a busy machine it may seem to
 * stand, not each time. */
TEST_F(Progress, ABacklogThatMovesIsWaitedForAnew)
{
    reader_record *record = flood(3);
    uint64_t *invoked = &callback_slot(record)->queue.invoked;
    bool waited = false;
    for (int attempt = 0; attempt < 30 && !waited; attempt++) {
        bool below = false;
        rtrcu_store_release(invoked, 0);
        test::Worker caller;
        caller.start([&] { below = serve_wait_below_qmax(&drive_->serve, record); });
        int64_t began_ns = plat_clock_now();
        for (uint64_t move = 0; !caller.is_done() && !waited; move++) {
            rtrcu_store_release(invoked, move & 1);
            serve_progress(&drive_->serve);
            waited = plat_clock_now() - began_ns > int64_t{3} * WORK_PATIENCE_NS;
        }
        rtrcu_store_release(invoked, 3);
        serve_progress(&drive_->serve);
        caller.wait();
        waited &= below;
    }
    EXPECT_TRUE(waited);
}

TEST_F(Progress, WhereNobodyWaitsNothingIsCounted)
{
    serve_progress(&drive_->serve);
    EXPECT_EQ(drive_->serve.progress, 0u);
}

/* A callback has unregistered the caller, and another thread has its slot. */
TEST_F(Progress, ABarrierWhoseCallerHasLeftNamesNoDeadline)
{
    config_.policy = RTRCU_POLICY_INLINE;
    drive_->work.row = driver_of(RTRCU_DRIVER_SCHED); // the caller runs it
    static reader_record *slot;
    slot = rtrcu_self.record = world_.craft(0);
    callback_set_deadline(slot, 5);
    queue(world_.craft(0), 1, [](rcu_head *) {
        rtrcu_self.record = nullptr;
        callback_set_deadline(slot, 7);
    });
    serve_barrier(&drive_->serve);
    EXPECT_EQ(rtrcu_self.record, nullptr);
    EXPECT_EQ(callback_deadline(slot), 7);
}

/* A callback that it runs forks: the barrier goes on in the child, and is counted there until its end. */
TEST_F(Progress, ABarrierThatGoesOnInAChildIsCountedOutThere)
{
    static struct domain_drive *forked;
    static uint32_t counted;
    forked = drive_;
    drive_->work.row = &driver_sched; /* the caller runs callbacks */
    reader_record *record = world_.craft(0);
    queue(record, 1, [](rcu_head *) {
        forked->serve.fork.generation++;
        tally_reset(&forked->serve.cb->barriers);
    });
    queue(world_.craft(0), 1, [](rcu_head *) { counted = tally_read(&forked->serve.cb->barriers); });
    serve_barrier(&drive_->serve);
    EXPECT_LE(counted, 1u);
    EXPECT_EQ(tally_read(&cb_->barriers), 0u);
}

/* ---- reports ---- */

std::atomic<int> reported;

void count_reports(const char *line)
{
    if (strstr(line, "rcu_barrier() has waited"))
        reported++;
}

/* The first when it is as old as the setting says, each further one at three times the age. */
TEST_F(Progress, ABarrierIsReportedAtGrowingAges)
{
    keep();
    reported = 0;
    config_.stall_timeout_ms = 20;
    watch_set_handler(drive_->work.watch, count_reports);
    static test::Steps *blocked;
    test::Steps steps;
    blocked = &steps;
    queue(world_.craft(0), 1, [](rcu_head *) { blocked->wait(1); });
    test::Worker caller;
    int64_t began = plat_clock_now();
    caller.start([&] { serve_barrier(&drive_->serve); });
    for (int64_t age_ms = 20, count = 1; age_ms <= 180; age_ms *= 3, count++) {
        EXPECT_TRUE(test::eventually([&] { return reported >= count; }));
        EXPECT_GE(plat_clock_now() - began, age_ms * 1000000) << count;
    }
    steps.reach(1);
    caller.wait();
    /* Who said them sleeps until the next. */
    struct work_worker *reporter = &drive_->work.worker[WORK_WORKER_REPORT];
    EXPECT_TRUE(
        test::eventually([&] { return test::is_asleep(pid_t(plat_thread_tid(&reporter->thread.plat).number)); }));
}

} // namespace
