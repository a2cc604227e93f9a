/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the limit of the process's backlog: its sums, its flag, and each queue's share. */
#include "world.h"

namespace
{

class Bound : public CallbackWorld
{
  protected:
    void SetUp() override
    {
        CallbackWorld::SetUp();
        config_.qmax = 1000;
    }
    void enqueue_some(reader_record *record, int count)
    {
        for (int i = 0; i < count; i++)
            enqueue(record);
    }
    uint64_t pending() const
    {
        return cb_->bound.collected - cb_->bound.returned;
    }
    void add(uint64_t count)
    {
        cb_->bound.collected += count;
        callback_bound_judge(cb_);
    }
    bool exceeded() const
    {
        return callback_bound_is_exceeded(cb_);
    }
};

TEST_F(Bound, CountsCollectedAndReturnedCallbacks)
{
    reader_record *record = world_.craft(0);
    enqueue_some(record, 5);
    ASSERT_FALSE(callback_free(cb_, record, {malloc(1), free}) & CALLBACK_NO_MEMORY);
    EXPECT_EQ(pending(), 0u) << "no thread has collected them";
    make_ready(record);
    EXPECT_EQ(pending(), 6u);
    EXPECT_EQ(invoke(record, at_most(2)), 2u);
    EXPECT_EQ(pending(), 4u);
    EXPECT_EQ(invoke(record, everything()), 4u);
    EXPECT_EQ(pending(), 0u);
    EXPECT_EQ(callback_bound_returned(cb_), 6u);
}

TEST_F(Bound, CountsTheQueuesThatHaveABacklog)
{
    reader_record *a = world_.craft(0), *b = world_.craft(0);
    enqueue_some(a, 2);
    enqueue_some(b, 1);
    make_ready(a);
    EXPECT_EQ(tally_read(&cb_->bound.queues), 2u);
    enqueue_some(a, 1);
    callback_collect(cb_);
    EXPECT_EQ(tally_read(&cb_->bound.queues), 2u) << "a is counted already";
    invoke(a, everything());
    EXPECT_EQ(tally_read(&cb_->bound.queues), 2u) << "one of a waits for its grace period";
    advance(b);
    invoke(b, everything());
    EXPECT_EQ(tally_read(&cb_->bound.queues), 1u);
    grace_period();
    advance(a);
    invoke(a, everything());
    EXPECT_EQ(tally_read(&cb_->bound.queues), 0u);
}

TEST_F(Bound, SharesApplyAboveTheLimitUntilSevenEighthsOfIt)
{
    config_.qmax_process = 16;
    reader_record *a = world_.craft(0), *b = world_.craft(0);
    enqueue_some(a, 16);
    callback_collect(cb_);
    EXPECT_EQ(callback_full_at(cb_), 1000u) << "the limit itself is allowed";
    enqueue_some(b, 1);
    callback_collect(cb_);
    EXPECT_EQ(callback_full_at(cb_), 8u) << "of two queues each has half";
    grace_period();
    advance(a);
    EXPECT_EQ(invoke(a, at_most(2)), 2u);
    EXPECT_TRUE(exceeded()) << "15 of 16";
    EXPECT_EQ(invoke(a, at_most(1)), 1u);
    EXPECT_EQ(callback_full_at(cb_), 1000u) << "14 of 16";
}

TEST_F(Bound, ShareOfManyQueuesIsAtLeastOne)
{
    config_.qmax_process = 1;
    reader_record *a = world_.craft(0), *b = world_.craft(0);
    enqueue_some(a, 1);
    enqueue_some(b, 1);
    callback_collect(cb_);
    EXPECT_EQ(callback_full_at(cb_), 1u);
}

TEST_F(Bound, ProcessLimitIsAMillionByDefault)
{
    config_.qmax = 2000;
    add(1000000);
    EXPECT_FALSE(exceeded());
    add(1);
    EXPECT_TRUE(exceeded());
}

TEST_F(Bound, ProcessLimitIsSixteenTimesALargeQmaxByDefault)
{
    config_.qmax = 100000;
    add(1600000);
    EXPECT_FALSE(exceeded());
    add(1);
    EXPECT_TRUE(exceeded());
    EXPECT_EQ(callback_full_at(cb_), 100000u) << "a share above qmax changes nothing";
}

TEST_F(Bound, ChangedLimitIsComparedWithTheBacklogAgain)
{
    add(100);
    config_.qmax_process = 99;
    callback_bound_judge(cb_);
    EXPECT_TRUE(exceeded());
    config_.qmax_process = 200;
    callback_bound_judge(cb_);
    EXPECT_FALSE(exceeded());
}

TEST_F(Bound, OwnersCheckTheirBacklogOnceSharesApply)
{
    config_.qmax_process = 20;
    reader_record *a = world_.craft(0), *b = world_.craft(0);
    enqueue_some(a, 15);
    enqueue_some(b, 4);
    EXPECT_EQ(callback_check_limits(cb_, a), CALLBACK_CALM);
    EXPECT_EQ(callback_check_limits(cb_, b), CALLBACK_CALM);
    EXPECT_FALSE(enqueue(a) & CALLBACK_CHECK_LIMITS);
    EXPECT_FALSE(enqueue(b) & CALLBACK_CHECK_LIMITS);
    callback_collect(cb_);
    EXPECT_TRUE(enqueue(a) & CALLBACK_CHECK_LIMITS);
    EXPECT_TRUE(enqueue(b) & CALLBACK_CHECK_LIMITS);
    EXPECT_EQ(callback_check_limits(cb_, a), CALLBACK_OVER);
    EXPECT_EQ(callback_check_limits(cb_, b), CALLBACK_CALM) << "6 of 10";
}

/* An owner checks its backlog early, since further queues with a backlog make its share smaller. */
TEST_F(Bound, OwnersCheckTheirBacklogAfterAnEighthOfTheirShare)
{
    config_.qmax_process = 400;
    reader_record *a = world_.craft(0), *b = world_.craft(0);
    enqueue_some(a, 401);
    callback_collect(cb_);
    ASSERT_TRUE(exceeded());
    EXPECT_EQ(callback_check_limits(cb_, b), CALLBACK_CALM);
    int calls = 1;
    while (!(enqueue(b) & CALLBACK_CHECK_LIMITS))
        calls++;
    EXPECT_LE(calls, 400 / 8 + 1);
    EXPECT_GT(calls, 1);
}

TEST_F(Bound, ForkedChildCountsTheCallbacksInItsQueues)
{
    config_.qmax_process = 8;
    reader_record *a = world_.craft(0), *b = world_.craft(0);
    queue_ready(a, 6);
    enqueue_some(b, 4); /* callbacks that the parent has not collected */
    EXPECT_EQ(invoke(a, at_most(1)), 1u);
    EXPECT_FALSE(exceeded());
    callback_bound_after_fork_child(cb_);
    EXPECT_EQ(pending(), 9u);
    EXPECT_EQ(tally_read(&cb_->bound.queues), 1u);
    EXPECT_TRUE(exceeded());
    callback_collect(cb_);
    EXPECT_EQ(pending(), 9u) << "they are not counted twice";
    EXPECT_EQ(tally_read(&cb_->bound.queues), 2u);
    grace_period();
    advance(b);
    EXPECT_EQ(invoke(a, everything()), 5u);
    EXPECT_EQ(invoke(b, everything()), 4u);
    EXPECT_EQ(pending(), 0u);
    EXPECT_FALSE(exceeded());
}

} // namespace
