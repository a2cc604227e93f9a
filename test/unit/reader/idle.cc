/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of threads that become idle: each reason to stay scanned, and the end of idleness. */
#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/sandbox.h"

namespace
{

class ReaderIdle : public testing::Test
{
  protected:
    test::World world_;
    reader_record *record_ = world_.craft(0);
    reader_leaf *leaf_ = record_->leaf;

    void SetUp() override
    {
        record_->outside_scans = 3;
        lock_acquire(&leaf_->lock);
    }
    void TearDown() override
    {
        lock_release(&leaf_->lock);
    }
    bool is_awake()
    {
        return reader_scanned_slots(leaf_) & reader_bit(record_);
    }
    void settle()
    {
        reader_idle_settle(leaf_, reader_idle_confirmed(record_) ? reader_bit(record_) : 0);
    }
};

TEST_F(ReaderIdle, QuietThreadBecomesIdleWithItsFlagSet)
{
    ASSERT_TRUE(reader_idle_propose(leaf_, 3));
    EXPECT_TRUE(is_awake()) << "a candidate is still scanned";
    EXPECT_EQ(reader_idle_candidates(leaf_), reader_bit(record_));
    EXPECT_EQ(rtrcu_word_of(record_->self) >> 24, RTRCU_FLAG_SPECIAL);
    settle();
    EXPECT_FALSE(is_awake());
    EXPECT_EQ(leaf_->scanned.slept.count, 1u);
    EXPECT_FALSE(reader_idle_propose(leaf_, 3)) << "no candidate is left";
}

TEST_F(ReaderIdle, OnlyThreadsOutsideForIdleScansBecomeCandidates)
{
    EXPECT_FALSE(reader_idle_propose(leaf_, 4));
    EXPECT_TRUE(reader_count_scan(record_, false, 4)) << "the fourth scan";
    EXPECT_TRUE(reader_count_scan(record_, false, 4)) << "the count stops at idle_scans";
    EXPECT_EQ(record_->outside_scans, 4u);
    EXPECT_FALSE(reader_count_scan(record_, true, 4)) << "a scan that finds the thread inside resets the count";
    EXPECT_FALSE(reader_count_scan(record_, false, 4));
    EXPECT_EQ(record_->outside_scans, 1u);
}

TEST_F(ReaderIdle, ThreadInsideOrInASlowPathStaysScanned)
{
    ASSERT_TRUE(reader_idle_propose(leaf_, 3));
    world_.set_inside(record_, 1);
    EXPECT_FALSE(reader_idle_confirmed(record_));
    world_.set_inside(record_, RTRCU_QSBR_ONLINE);
    EXPECT_FALSE(reader_idle_confirmed(record_));
    world_.set_inside(record_, 0);
    EXPECT_TRUE(reader_idle_confirmed(record_));
    record_->self->slow = 1;
    EXPECT_FALSE(reader_idle_confirmed(record_));
    record_->self->slow = 0;
    rtrcu_word_disarm(record_->self);
    EXPECT_FALSE(reader_idle_confirmed(record_)) << "the flag is clear";
    settle();
    EXPECT_TRUE(is_awake());
    EXPECT_EQ(reader_idle_candidates(leaf_), 0u);
    EXPECT_EQ(leaf_->scanned.slept.count, 0u);
}

TEST_F(ReaderIdle, CandidateWhoseFlagAnotherThreadSetAgainIsNotConfirmed)
{
    ASSERT_TRUE(reader_idle_propose(leaf_, 3));
    rtrcu_word_disarm(record_->self); /* as if an update in progress had overwritten the flag */
    ASSERT_TRUE(reader_arm(record_));
    EXPECT_FALSE(reader_idle_confirmed(record_));
}

TEST_F(ReaderIdle, CandidateWhoseFlagWasAlreadySetIsConfirmed)
{
    ASSERT_TRUE(reader_arm(record_));
    ASSERT_TRUE(reader_idle_propose(leaf_, 3));
    EXPECT_FALSE(reader_arm(record_)) << "the flag was set already";
    EXPECT_TRUE(reader_idle_confirmed(record_));
}

TEST_F(ReaderIdle, DeadlineThreadsStayScanned)
{
    for (bool qsbr : {false, true}) {
        reader_deadline_show(record_, true, qsbr);
        EXPECT_FALSE(reader_idle_propose(leaf_, 3));
        reader_deadline_show(record_, false, qsbr);
    }
    ASSERT_TRUE(reader_idle_propose(leaf_, 3));
    reader_deadline_show(record_, true, false);
    EXPECT_FALSE(reader_idle_confirmed(record_)) << "it became a deadline thread since it was proposed";
}

TEST_F(ReaderIdle, ThreadThatReturnsMeanwhileIsScanned)
{
    ASSERT_TRUE(reader_idle_propose(leaf_, 3));
    bool still = reader_idle_confirmed(record_);
    reader_scanned_add(&leaf_->scanned, reader_bit(record_));
    reader_idle_settle(leaf_, still ? reader_bit(record_) : 0);
    EXPECT_TRUE(is_awake());
    EXPECT_EQ(leaf_->scanned.slept.count, 0u) << "the thread did not become idle";
    EXPECT_FALSE(reader_scanned_add(&leaf_->scanned, reader_bit(record_)));
}

TEST_F(ReaderIdle, SlotsNextThreadStartsWithZeroScans)
{
    lock_release(&leaf_->lock);
    world_.withdraw(record_);
    EXPECT_EQ(reader_scanned_of(&leaf_->scanned) & reader_bit(record_), 0u);
    EXPECT_EQ(world_.craft(0), record_);
    lock_acquire(&leaf_->lock);
    EXPECT_EQ(record_->outside_scans, 0u);
}

/* This test uses the calling thread's record in the process's registry. */
TEST(ReaderIdleExit, ThreadThatExitsFromIdlenessIsCountedOnce)
{
    rcu_read_lock();
    rcu_read_unlock();
    reader_record *record = rtrcu_self.record;
    reader_leaf *leaf = record->leaf;
    reader_lock(leaf);
    record->outside_scans = 1;
    bool dozes = reader_idle_propose(leaf, 1);
    reader_idle_settle(leaf, reader_bit(record));
    reader_unlock(leaf);
    ASSERT_TRUE(dozes);
    uint64_t woken = leaf->scanned.woken.count;
    EXPECT_FALSE(reader_scanned_slots(leaf) & reader_bit(record));
    rcu_read_lock();
    EXPECT_TRUE(reader_scanned_slots(leaf) & reader_bit(record));
    EXPECT_EQ(leaf->scanned.woken.count - woken, 1u);
    rcu_read_lock();
    rcu_read_unlock();
    rcu_read_unlock();
    EXPECT_EQ(leaf->scanned.woken.count - woken, 1u);
    EXPECT_EQ(rtrcu_word_read() >> 24, test::membarrier_is_refused() ? RTRCU_FLAG_SPECIAL : RTRCU_FLAG_FAST);
    rtrcu_unregister_thread();
}

} // namespace
