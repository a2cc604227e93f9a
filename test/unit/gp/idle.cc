/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of threads that grace periods make idle, so that scans skip them. */
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

class GpIdle : public testing::Test
{
  protected:
    test::World world_;
    struct gp *gp_ = world_.gp();
    gp_machine *normal_ = &world_.gp()->machine[GP_NORMAL];

    /* Advance one grace period to its end; returns the number of readers that the scan found inside. */
    uint32_t turn(uint32_t scans, bool fenced = true, gp_kind kind = GP_NORMAL)
    {
        lock_acquire(&gp_->machine[kind].gp_lock);
        gp_begin(gp_, kind, 1);
        if (fenced && kind == GP_NORMAL)
            gp_idle_propose(gp_, scans);
        if (kind == GP_NORMAL)
            gp_idle_settle(gp_, fenced);
        gp_scan(gp_, kind);
        uint32_t inside = 0;
        for (reader_leaf *leaf = nullptr; (leaf = gp_next_holdout_leaf(gp_, kind, leaf));) {
            for (uint32_t left = gp_holdouts(gp_, kind, leaf); reader_record *record = reader_next(leaf, &left);) {
                inside++;
                gp_report(gp_, record);
            }
        }
        gp_end(gp_, kind, 2);
        lock_release(&gp_->machine[kind].gp_lock);
        return inside;
    }
    bool is_awake(const reader_record *record)
    {
        return reader_scanned_slots(record->leaf) & reader_bit(record);
    }
};

TEST_F(GpIdle, ThreadBecomesIdleAfterIdleScans)
{
    std::vector<reader_record *> idle;
    for (uint32_t leaf = 0; leaf < 40; leaf++) {
        idle.push_back(world_.craft(0));
        world_.fill_last_leaf();
    }
    reader_record *busy = world_.craft(1);
    for (int scan = 0; scan < 3; scan++) {
        EXPECT_EQ(turn(3), 1u);
        for (auto *record : idle)
            EXPECT_TRUE(is_awake(record)) << scan;
    }
    EXPECT_EQ(turn(3), 1u);
    for (auto *record : idle)
        EXPECT_FALSE(is_awake(record));
    EXPECT_TRUE(is_awake(busy));
    EXPECT_EQ(reader_next_scanned(world_.registry(), nullptr), busy->leaf) << "scans visit no other leaf";
    EXPECT_EQ(reader_next_scanned(world_.registry(), busy->leaf), nullptr);
    EXPECT_FALSE(normal_->idle_possible) << "the next scan has no candidates";
}

TEST_F(GpIdle, OccasionalReadersAreScanned)
{
    reader_record *record = world_.craft(0);
    EXPECT_EQ(turn(2), 0u);
    world_.set_inside(record, 1);
    EXPECT_EQ(turn(2), 1u);
    world_.set_inside(record, 0);
    turn(2);
    turn(2);
    EXPECT_TRUE(is_awake(record)) << "the scans are counted from the thread's last section";
    turn(2);
    EXPECT_FALSE(is_awake(record));
}

TEST_F(GpIdle, CountOfScansRestartsForAThreadThatReads)
{
    reader_record *record = world_.craft(0);
    while (is_awake(record))
        turn(3);
    (void)reader_scanned_add(&record->leaf->scanned, reader_bit(record));
    for (int i = 0; i < 3; i++)
        turn(3);
    EXPECT_TRUE(is_awake(record)) << "its earlier scans do not count";
    turn(3);
    EXPECT_FALSE(is_awake(record));
}

TEST_F(GpIdle, NoThreadBecomesIdleWithoutTheKernelsFence)
{
    reader_record *record = world_.craft(0);
    for (int i = 0; i < 5; i++)
        turn(1, false);
    EXPECT_TRUE(is_awake(record)) << "no fence was issued";
    EXPECT_EQ(record->outside_scans, 0u) << "scans without a fence do not count";
    for (int i = 0; i < 5; i++)
        turn(1, true, GP_EXPEDITED);
    EXPECT_TRUE(is_awake(record)) << "expedited grace periods make no thread idle";
    for (int i = 0; i < 5; i++)
        turn(0);
    EXPECT_TRUE(is_awake(record)) << "0 scans means never";
    reader_fences_switch(world_.registry());
    for (int i = 0; i < 5; i++)
        turn(1);
    EXPECT_TRUE(is_awake(record)) << "readers are in full-fence mode";
    EXPECT_EQ(reader_idle_candidates(record->leaf), 0u);
}

/* The candidate is proposed twice, as after a refused fence, and settled without a fence. */
TEST_F(GpIdle, CandidateStaysScannedIfTheFenceFailed)
{
    reader_record *record = world_.craft(0);
    turn(1);
    lock_acquire(&normal_->gp_lock);
    gp_begin(gp_, GP_NORMAL, 1);
    gp_idle_propose(gp_, 1);
    EXPECT_EQ(reader_idle_candidates(record->leaf), reader_bit(record));
    gp_idle_propose(gp_, 1);
    gp_idle_settle(gp_, false);
    EXPECT_EQ(reader_idle_candidates(record->leaf), 0u);
    EXPECT_TRUE(is_awake(record));
    EXPECT_EQ(record->outside_scans, 0u);
    gp_scan(gp_, GP_NORMAL);
    gp_end(gp_, GP_NORMAL, 2);
    lock_release(&normal_->gp_lock);
}

TEST_F(GpIdle, TaskOnItsListKeepsAThreadScannedUntilPromotion)
{
    reader_record *record = world_.craft(0);
    struct rcu_task task = {};
    turn(1);
    parked_add_to_thread(record, &task);
    lock_acquire(&normal_->gp_lock);
    gp_begin(gp_, GP_NORMAL, 1);
    gp_idle_propose(gp_, 1);
    gp_idle_settle(gp_, true);
    EXPECT_TRUE(is_awake(record)) << "the other kind must also find the task";
    EXPECT_FALSE(gp_nobody_reads(gp_));
    gp_scan(gp_, GP_NORMAL);
    EXPECT_EQ(parked_on_leaf(record->leaf), 1u);
    reader_lock(record->leaf);
    (void)gp_unpark(gp_, record->leaf, &task);
    reader_unlock(record->leaf);
    gp_end(gp_, GP_NORMAL, 2);
    lock_release(&normal_->gp_lock);
    turn(1);
    turn(1);
    EXPECT_FALSE(is_awake(record));
    EXPECT_TRUE(gp_nobody_reads(gp_));
}

TEST_F(GpIdle, ForksChildHasNoCandidates)
{
    reader_record *record = world_.craft(0), *other = world_.craft(0);
    turn(1);
    lock_acquire(&normal_->gp_lock);
    gp_begin(gp_, GP_NORMAL, 1);
    gp_idle_propose(gp_, 1);
    ASSERT_EQ(reader_idle_candidates(record->leaf), reader_bit(record) | reader_bit(other));
    gp_after_fork_child(gp_);
    reader_after_fork_child(world_.registry(), record);
    rtrcu_self.locks_held = 0;
    EXPECT_EQ(reader_idle_candidates(record->leaf), 0u);
    EXPECT_TRUE(is_awake(record));
    EXPECT_EQ(turn(1), 0u);
    turn(1);
    EXPECT_FALSE(is_awake(record));
}

/* The thread that advances needs no fence for its own section state. */
TEST_F(GpIdle, AdvancingThreadNeedsNoFence)
{
    std::thread([&] {
        reader_record *self = reader_slot_take(world_.registry());
        test::publish(world_.registry(), self, &rtrcu_self);
        EXPECT_FALSE(gp_needs_fence(gp_)) << "no other thread is scanned";
        reader_record *online = world_.craft(RTRCU_QSBR_ONLINE);
        rtrcu_store_relaxed(&online->leaf->quiescent, reader_bit(online));
        EXPECT_FALSE(gp_needs_fence(gp_));
        world_.craft(0);
        EXPECT_TRUE(gp_needs_fence(gp_));
        world_.withdraw(self);
    }).join();
}

/* Slots are numbered per leaf: the same slot of another leaf belongs to another thread. */
TEST_F(GpIdle, ThreadWithTheSameSlotInAnotherLeafNeedsAFence)
{
    std::thread([&] {
        reader_record *self = reader_slot_take(world_.registry());
        test::publish(world_.registry(), self, &rtrcu_self);
        world_.fill_last_leaf();
        std::vector<reader_record *> before;
        reader_record *other = world_.craft(0);
        for (; reader_bit(other) != reader_bit(self); other = world_.craft(0))
            before.push_back(other);
        for (reader_record *record : before)
            world_.withdraw(record);
        ASSERT_NE(other->leaf, self->leaf);
        EXPECT_TRUE(gp_needs_fence(gp_));
        world_.withdraw(other);
        EXPECT_FALSE(gp_needs_fence(gp_)) << "no other thread is scanned";
        world_.withdraw(self);
    }).join();
}

} // namespace
