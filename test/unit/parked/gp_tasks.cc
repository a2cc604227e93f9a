/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of grace periods that wait for parked tasks. */
#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

class GpTasks : public testing::Test
{
  protected:
    test::World world_;
    struct gp *gp_ = world_.gp();
    reader_record *record_ = world_.craft(0);
    rcu_task task_[4] = {};

    /* Like section_task_park() for a thread that is inside with nesting 1. */
    void park(rcu_task *task)
    {
        if (!reader_kinds_any(gp_waits_for_thread(gp_, record_))) {
            parked_add_to_thread(record_, task);
        } else {
            reader_lock(record_->leaf);
            gp_park(gp_, record_, task);
            reader_unlock(record_->leaf);
        }
        world_.set_inside(record_, 0);
    }
    gp_actions unlock(rcu_task *task)
    {
        if (parked_remove_from_thread(task))
            return GP_ACTION_NONE;
        reader_leaf *leaf = task->leaf;
        reader_lock(leaf);
        gp_actions actions = gp_unpark(gp_, leaf, task);
        reader_unlock(leaf);
        return actions;
    }
};

TEST_F(GpTasks, GracePeriodWaitsForEarlierParkedTask)
{
    world_.set_inside(record_, 1);
    park(&task_[0]);
    uint32_t came = gp_tasks_came(gp_, GP_NORMAL);
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    EXPECT_TRUE(gp_->level0[0].word[GP_NORMAL] & GP_NODE_PARKED);
    EXPECT_NE(gp_tasks_came(gp_, GP_NORMAL), came) << "the task's scheduler must be notified";
    stepper.poll(true);
    EXPECT_FALSE(stepper.is_clear());
    EXPECT_EQ(unlock(&task_[0]), GP_ACTION_WAKE_NORMAL);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

/* A thread that is a holdout is not an arrived task, so it does not notify the schedulers of tasks. */
TEST_F(GpTasks, ThreadInsideDoesNotCountAsATaskArrival)
{
    world_.set_inside(record_, 1);
    uint32_t came = gp_tasks_came(gp_, GP_NORMAL);
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    stepper.poll(true);
    EXPECT_FALSE(stepper.is_clear());
    EXPECT_EQ(gp_tasks_came(gp_, GP_NORMAL), came);
    world_.set_inside(record_, 0);
    stepper.poll(true);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(GpTasks, GracePeriodDoesNotWaitForLaterParkedTask)
{
    test::GpStepper stepper(gp_);
    EXPECT_FALSE(stepper.begin_and_scan());
    world_.set_inside(record_, 1);
    park(&task_[0]);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
    EXPECT_EQ(unlock(&task_[0]), GP_ACTION_NONE);
}

TEST_F(GpTasks, GracePeriodWaitsForTaskThatAHoldoutParks)
{
    world_.set_inside(record_, 1);
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    park(&task_[0]);
    stepper.poll(true); /* the thread is outside, so the poll clears its bit; the flag of parked tasks stays */
    EXPECT_EQ(gp_holdouts(gp_, GP_NORMAL, reader_leaf_at(world_.registry(), 0)), 0u);
    EXPECT_FALSE(stepper.is_clear());
    EXPECT_EQ(unlock(&task_[0]), GP_ACTION_WAKE_NORMAL);
    stepper.end();
}

/* A race: the thread found no waiting grace period, and put the task on its own list after the scan had set its bit. */
TEST_F(GpTasks, TaskThatParksDuringAScanIsPromotedBeforeTheBitIsCleared)
{
    world_.set_inside(record_, 1);
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    parked_add_to_thread(record_, &task_[0]); /* the thread chose the list before the bit was set */
    world_.set_inside(record_, 0);
    stepper.poll(true);
    EXPECT_FALSE(stepper.is_clear());
    EXPECT_EQ(unlock(&task_[0]), GP_ACTION_WAKE_NORMAL);
    stepper.end();
}

/* A promotion that moves tasks counts as an arrival, which notifies the schedulers of tasks. */
TEST_F(GpTasks, PromotionIsAnArrivalOnlyIfItMovesTasks)
{
    world_.set_inside(record_, 1);
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    uint32_t came = gp_tasks_came(gp_, GP_NORMAL), others = gp_tasks_came(gp_, GP_EXPEDITED);
    reader_lock(record_->leaf);
    gp_promote_parked(gp_, record_);
    reader_unlock(record_->leaf);
    EXPECT_EQ(gp_tasks_came(gp_, GP_NORMAL), came);
    parked_add_to_thread(record_, &task_[0]);
    world_.set_inside(record_, 0);
    stepper.poll(true);
    EXPECT_EQ(gp_tasks_came(gp_, GP_NORMAL), came + 1);
    EXPECT_EQ(gp_tasks_came(gp_, GP_EXPEDITED), others) << "the expedited kind waits for no task";
    unlock(&task_[0]);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(GpTasks, ArrivedTaskIsCountedForTheWaitingKindOnly)
{
    world_.set_inside(record_, 1);
    test::GpStepper expedited(gp_, GP_EXPEDITED);
    EXPECT_TRUE(expedited.begin_and_scan());
    uint32_t came = gp_tasks_came(gp_, GP_EXPEDITED), others = gp_tasks_came(gp_, GP_NORMAL);
    park(&task_[0]);
    EXPECT_EQ(gp_tasks_came(gp_, GP_EXPEDITED), came + 1);
    EXPECT_EQ(gp_tasks_came(gp_, GP_NORMAL), others) << "the normal kind waits for no task";
    expedited.poll(true);
    unlock(&task_[0]);
    EXPECT_TRUE(expedited.is_clear());
    expedited.end();
}

TEST_F(GpTasks, BothKindsWaitForTheSameTask)
{
    world_.set_inside(record_, 1);
    park(&task_[0]);
    test::GpStepper normal(gp_);
    EXPECT_TRUE(normal.begin_and_scan());
    lock_release(&gp_->machine[GP_NORMAL].gp_lock);
    {
        test::GpStepper expedited(gp_, GP_EXPEDITED);
        EXPECT_TRUE(expedited.begin_and_scan());
        EXPECT_EQ(unlock(&task_[0]), gp_actions(GP_ACTION_WAKE_NORMAL | GP_ACTION_WAKE_EXPEDITED));
        expedited.end();
    }
    lock_acquire(&gp_->machine[GP_NORMAL].gp_lock);
    normal.end();
}

/* A promotion moves a limited number of tasks per hold of the lock.  The thread stays a holdout until the last task is
 * on the leaf's list. */
TEST_F(GpTasks, ManyTasksArePromotedInParts)
{
    std::deque<rcu_task> tasks(3 * PARKED_PROMOTE_MAX + 1);
    for (rcu_task &task : tasks) {
        task = rcu_task{};
        world_.set_inside(record_, 1);
        parked_add_to_thread(record_, &task);
        world_.set_inside(record_, 0);
    }
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    EXPECT_EQ(parked_slot(record_)->count, tasks.size() - PARKED_PROMOTE_MAX);
    EXPECT_EQ(gp_holdouts(gp_, GP_NORMAL, record_->leaf), reader_bit(record_));
    stepper.poll(true);
    EXPECT_EQ(parked_slot(record_)->count, 0u);
    EXPECT_EQ(gp_holdouts(gp_, GP_NORMAL, record_->leaf), 0u);
    for (rcu_task &task : tasks) {
        EXPECT_FALSE(stepper.is_clear());
        EXPECT_TRUE(parked_is_waited_for(&task));
        unlock(&task);
    }
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(GpTasks, ExitingThreadLeavesItsTasksOnTheLeaf)
{
    world_.set_inside(record_, 1);
    park(&task_[0]);
    reader_lock(record_->leaf);
    gp_promote(gp_, record_);
    reader_withdraw(world_.registry(), record_);
    reader_unlock(record_->leaf);
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    unlock(&task_[0]);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

} // namespace
