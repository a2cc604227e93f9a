/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Dispatching: whom a pass looks at, and what it lets alone.
 */
#include <gtest/gtest.h>

#include "world.h"

namespace
{

using Dispatch = DriveWorld;

TEST_F(Dispatch, ALeafWithoutCallbacksIsNotLocked)
{
    reader_record *busy = world_.craft(0);
    world_.fill_last_leaf();
    reader_record *idle = world_.craft(0);
    ASSERT_NE(busy->leaf, idle->leaf);
    queue_and_collect(busy);
    test::Worker holder, driver;
    holder.run([&] { reader_lock(idle->leaf); });
    bool ready = true;
    driver.start([&] { ready = drive_dispatch(drive_); });
    EXPECT_TRUE(test::eventually([&] { return driver.is_done(); }));
    holder.run([&] { reader_unlock(idle->leaf); });
    driver.wait();
    EXPECT_FALSE(ready);
}

TEST_F(Dispatch, FindsWhatWaitsAndWhatIsReady)
{
    reader_record *record = world_.craft(0);
    queue_and_collect(record);
    EXPECT_FALSE(drive_dispatch(drive_)) << "its grace period is not over";
    grace_period();
    EXPECT_TRUE(drive_dispatch(drive_));
    EXPECT_TRUE(callback_has_ready(record));
    EXPECT_TRUE(drive_dispatch(drive_)) << "as long as it is not run";
    callback_budget budget = {};
    budget.count_max = 10;
    budget.may_wait = true;
    EXPECT_EQ(callback_invoke(cb_, record, &budget), 1u);
    EXPECT_FALSE(drive_dispatch(drive_));
}

/* The lender asks for the thread that it needs until there is one: whoever was making it may have been refused.
 * Before the next test, whose driver allows no worker. */
TEST(Lending, AsksAgainForItsNudger)
{
    struct drive *drive = &rtrcu_domain.drive;
    struct drive_thread *nudger = &drive->worker[DRIVE_WORKER_NUDGE].thread;
    int allowed = -1;
    std::thread([&] { allowed = plat_sched_set(1, 0); }).join();
    if (allowed != 0)
        GTEST_SKIP() << "real-time scheduling is refused";
    ASSERT_TRUE(drive_thread_hold(nudger));
    EXPECT_TRUE(test::eventually([&] {
        drive_boost(drive, GP_NORMAL);
        return (rtrcu_load_acquire(&nudger->state) & DRIVE_ASKED) != 0;
    }));
    (void)drive_thread_let(nudger);
    EXPECT_TRUE(test::eventually([&] {
        drive_boost(drive, GP_NORMAL);
        return drive_thread_runs(nudger);
    }));
}

/* The slow path asks for a driver; one that has no thread is there at once. */
TEST(Sched, LeavesTheFastPathOfCallbacksAlone)
{
    static rcu_head head;
    rtrcu_config config;
    rtrcu_config_get(&config);
    config.driver = RTRCU_DRIVER_SCHED;
    config.policy = RTRCU_POLICY_INLINE;
    ASSERT_EQ(rtrcu_configure(&config), 0);
    call_rcu(&head, [](rcu_head *) {});
    EXPECT_TRUE(drive_thread_runs(&rtrcu_domain.drive.thread));
    EXPECT_GT(callback_slot(reader_self())->queue.look_at, 2u) << "the next call need not look";
    rcu_barrier();
}

/* Who watched the last grace period may be gone: the next one has a watcher of its own, or nobody looks once a tick. */
TEST_F(Dispatch, AGracePeriodBeginsWithoutAWatcher)
{
    for (int kind = 0; kind < GP_KINDS; kind++) {
        drive_->turning[kind].watcher = 77;
        (void)gp_request(world_.gp(), gp_kind(kind), gp_snap(world_.gp(), gp_kind(kind)));
        EXPECT_TRUE(drive_step(drive_, gp_kind(kind))) << "nobody reads";
        EXPECT_EQ(drive_->turning[kind].watcher, 0u);
    }
}

/* It gives its deadline up, lest what it runs itself stops at it for ever. */
TEST(Barrier, GivesTheCallerItsDeadlineBack)
{
    std::thread([] {
        ASSERT_EQ(rtrcu_register_thread(0), 0);
        int64_t deadline_ns = plat_clock_now() + INT64_C(3600000000000);
        callback_set_deadline(reader_self(), deadline_ns);
        rcu_barrier();
        EXPECT_EQ(callback_deadline(reader_self()), deadline_ns);
    }).join();
}

/* A daemon of the parent had a slot when its last callback had let it go: it is on no list of the child, for whoever
 * takes it next. */
TEST_F(Dispatch, AForksChildHasNoQueueOnADaemonsList)
{
    reader_record *record = world_.craft(0);
    drive_slot(record)->listed = 1;
    drive_slot(record)->next_ready = record;
    drive_slot(record)->lender = 77;
    world_.withdraw(record);
    EXPECT_NE(world_.craft(0), record) << "a daemon has it";
    drive_after_fork_child(drive_, 0);
    EXPECT_EQ(drive_slot(record)->listed, 0u);
    EXPECT_EQ(drive_slot(record)->next_ready, nullptr);
    EXPECT_EQ(drive_slot(record)->lender, 0u) << "who lent is not there";
    EXPECT_EQ(world_.craft(0), record);
}

} // namespace
