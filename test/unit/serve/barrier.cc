/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of threads that wait for callbacks or for a smaller backlog, and of reports of long waits. */
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
    /* A queue of @count callbacks with qmax 1, a tick of an hour, and a driver that counts as running. */
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

/* A tick lasts an hour, so only a wake-up can end the wait. */
TEST_F(Progress, ProgressWakesTheWaiter)
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
    while (!waiter.is_done()) /* ends a wait that was not woken */
        plat_futex_wake(&drive_->serve.progress, INT32_MAX);
    EXPECT_EQ(tally_read(&drive_->serve.progress_waiters), 0u);
}

/* The backlog makes no progress, so the wait ends without success, long before the tick of an hour. */
TEST_F(Progress, WaitForAStuckBacklogEnds)
{
    reader_record *record = flood(2);
    EXPECT_FALSE(serve_wait_below_full(&drive_->serve, record));
    EXPECT_EQ(tally_read(&drive_->serve.progress_waiters), 0u);
}

/* A parked task holds up the grace period, and its section may have to end on the caller's thread. */
TEST_F(Progress, BacklogHeldUpByATaskIsNotWaitedFor)
{
    reader_record *record = flood(2);
    rcu_task task = {};
    parked_add_to_thread(world_.craft(1), &task);
    EXPECT_FALSE(serve_wait_below_full(&drive_->serve, record));
    EXPECT_EQ(cb_->blocked_at_qmax.count, 0u);
    ASSERT_TRUE(parked_remove_from_thread(&task));
    EXPECT_FALSE(serve_wait_below_full(&drive_->serve, record)) << "the backlog makes no progress";
    EXPECT_EQ(cb_->blocked_at_qmax.count, 1u);
}

/* A producer waits for ready callbacks although a task is parked: they need no further grace period. */
TEST_F(Progress, ReadyCallbacksAreWaitedForDespiteATask)
{
    reader_record *record = flood(2);
    rcu_task task = {};
    parked_add_to_thread(world_.craft(1), &task);
    rtrcu_store_release(&callback_slot(record)->queue.has_ready, 1u);
    test::Worker caller;
    bool below = false;
    caller.start([&] { below = serve_wait_below_full(&drive_->serve, record); });
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

/* Progress restarts the time limit of the wait; without further progress the wait ends. */
TEST_F(Progress, WaitEndsIfProgressStops)
{
    reader_record *record = flood(3);
    uint64_t *invoked = &callback_slot(record)->queue.invoked;
    bool below = true;
    test::Worker caller;
    caller.start([&] { below = serve_wait_below_full(&drive_->serve, record); });
    EXPECT_TRUE(test::eventually([&] { return tally_acquire(&drive_->serve.progress_waiters) == 1; }));
    rtrcu_store_release(invoked, 1);
    serve_progress(&drive_->serve);
    EXPECT_TRUE(test::eventually([&] { return caller.is_done(); }));
    rtrcu_store_release(invoked, 3); /* ends a wait that would otherwise not end */
    caller.wait();
    EXPECT_FALSE(below);
}

/* An owner that waits for its own backlog runs no callbacks, so the wait is marked for daemons.  On a busy machine the
 * test may miss a single wait. */
TEST_F(Progress, OwnerThatWaitsForItsOwnBacklogIsMarked)
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

/* The caller waits longer while the backlog makes progress.  On a busy machine the test may be too slow to make
 * progress, but not each time. */
TEST_F(Progress, MovingBacklogExtendsTheWait)
{
    reader_record *record = flood(3);
    uint64_t *invoked = &callback_slot(record)->queue.invoked;
    bool waited = false;
    for (int attempt = 0; attempt < 30 && !waited; attempt++) {
        bool below = false;
        rtrcu_store_release(invoked, 0);
        test::Worker caller;
        caller.start([&] { below = serve_wait_below_full(&drive_->serve, record); });
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

TEST_F(Progress, ProgressIsNotCountedWithoutWaiters)
{
    serve_progress(&drive_->serve);
    EXPECT_EQ(drive_->serve.progress, 0u);
}

/* A callback that the barrier runs unregisters the caller, and another thread takes its slot and sets a deadline. */
TEST_F(Progress, BarrierDoesNotRestoreTheDeadlineOfAnUnregisteredCaller)
{
    config_.policy = RTRCU_POLICY_INLINE;
    drive_->work.row = driver_of(RTRCU_DRIVER_SCHED); // with this driver the caller runs callbacks
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

/* A callback that the barrier runs forks.  The barrier continues in the child, where its count must not wrap. */
TEST_F(Progress, BarrierContinuedInAForkedChildDoesNotWrapItsCount)
{
    static struct domain_drive *forked;
    static uint32_t counted;
    forked = drive_;
    drive_->work.row = &driver_sched; /* with this driver the caller runs callbacks */
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

/* The first report is due at the configured age, each further one at three times the previous age. */
TEST_F(Progress, BarrierIsReportedAtGrowingAges)
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
    /* The thread that prints reports sleeps until the next one. */
    struct work_worker *reporter = &drive_->work.worker[WORK_WORKER_REPORT];
    EXPECT_TRUE(
        test::eventually([&] { return test::is_asleep(pid_t(plat_thread_tid(&reporter->thread.plat).number)); }));
}

} // namespace
