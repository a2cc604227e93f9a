/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heads that are queued twice, or overwritten while they are queued: what is lost is said, and rcu_barrier() ends.
 *
 * The heads are appended as callback_enqueue() does behind its check of debug builds, which would end the test.
 */
#include <random>

#include "../../support/capture.h"
#include "../../support/seed.h"
#include "world.h"

namespace
{

class Double : public CallbackWorld
{
  protected:
    reader_record *record_ = nullptr;
    test::CapturedErrors errors_;

    void SetUp() override
    {
        CallbackWorld::SetUp();
        record_ = world_.craft(0);
        for (int i = 0; i < 8; i++)
            item();
    }
    void push(size_t id)
    {
        items_[id].head.func = note;
        cbqueue_push(&callback_slot(record_)->queue, &items_[id].head, CB_OWNER);
        callback_mark_new(cb_, record_);
    }
    void push_all(const std::vector<size_t> &ids)
    {
        for (size_t id : ids)
            push(id);
    }
    bool barrier_ends()
    {
        callback_barrier_set(cb_);
        for (int pass = 0; pass < 5 && !callback_barrier_reached(cb_); pass++) {
            make_ready(record_);
            invoke(record_, everything());
        }
        return callback_barrier_reached(cb_);
    }
    void expect_lost(uint64_t count)
    {
        EXPECT_TRUE(barrier_ends());
        EXPECT_EQ(callback_pending(record_), 0u);
        EXPECT_EQ(cb_->lost.count, count);
        EXPECT_EQ(errors_.contains("queued twice"), count != 0) << errors_.text();
        push(7);
        EXPECT_TRUE(barrier_ends()) << "the queue goes on";
        EXPECT_EQ(order_.back(), 7u);
        EXPECT_EQ(cb_->lost.count, count);
    }
};

TEST_F(Double, NothingIsSaidOfHeadsThatAreQueuedOnce)
{
    push_all({0, 1, 2});
    expect_lost(0);
    EXPECT_EQ(order_, (std::vector<size_t>{0, 1, 2, 7}));
}

TEST_F(Double, TwiceInARow)
{
    push_all({0, 0});
    expect_lost(1);
}

TEST_F(Double, WithOthersBetween)
{
    push_all({0, 1, 2, 0});
    expect_lost(3);
}

TEST_F(Double, WithOthersBetweenAndBehind)
{
    push_all({0, 1, 0, 2, 3});
    expect_lost(2);
}

TEST_F(Double, WhileTheFirstWaits)
{
    push_all({0, 1, 2});
    callback_collect(cb_);
    push(1);
    expect_lost(2);
}

TEST_F(Double, WhileTheFirstIsTheLastThatWaits)
{
    push_all({0, 1});
    callback_collect(cb_);
    push_all({1, 2});
    callback_collect(cb_); /* joined to the same cookie: 1 is linked to itself */
    EXPECT_TRUE(barrier_ends());
    EXPECT_EQ(callback_pending(record_), 0u);
    EXPECT_TRUE(errors_.contains("queued twice")) << errors_.text();
}

TEST_F(Double, AHeadThatIsOverwrittenWhileItIsQueued)
{
    push_all({0, 1, 2});
    callback_collect(cb_);
    items_[0].head.next = nullptr;
    expect_lost(2);
    EXPECT_TRUE(errors_.contains("head 0x")) << errors_.text();
}

TEST_F(Double, AnEnqueueUnderWayIsNoLoss)
{
    push_all({0, 1});
    callback_slot(record_)->queue.enqueued++;
    callback_slot(record_)->queue.enqueuing = &items_[2].head;
    make_ready(record_);
    EXPECT_EQ(invoke(record_, everything()), 2u);
    EXPECT_EQ(callback_pending(record_), 1u);
    callback_slot(record_)->queue.enqueued--;
    callback_slot(record_)->queue.enqueuing = nullptr;
    push(2);
    expect_lost(0);
}

/* Any head at any time, with passes between: it always ends, and never at more than was queued. */
TEST_F(Double, AtRandom)
{
    auto random = test::seeded_random("heads queued at random");
    for (int round = 0; round < 2000; round++) {
        for (int step = 0; step < 12; step++) {
            switch (random() % 5) {
            case 0:
                callback_collect(cb_);
                break;
            case 1:
                grace_period();
                advance(record_);
                break;
            case 2:
                invoke(record_, at_most(random() % 3));
                break;
            default:
                push(random() % 7);
            }
        }
        ASSERT_TRUE(barrier_ends()) << "round " << round;
        ASSERT_EQ(callback_pending(record_), 0u);
    }
}

/* Of debug builds: sixteen places are looked at, no more and no fewer. */
TEST_F(Double, ANeighbourhoodOfTheTable)
{
    if (!CHECK_DEBUG)
        GTEST_SKIP() << "there is no table";
    rcu_head *head = &items_[0].head, *other = &items_[1].head;
    callback_double_enter(cb_, head);
    uint32_t first = 0;
    while (cb_->queued[first] != head)
        ASSERT_LT(++first, static_cast<uint32_t>(CALLBACK_DOUBLE_SLOTS));
    auto place = [&](uint32_t probe) -> rcu_head *& { return cb_->queued[(first + probe) % CALLBACK_DOUBLE_SLOTS]; };
    callback_double_leave(cb_, head);
    EXPECT_EQ(place(0), nullptr);
    for (uint32_t probe = 0; probe < 15; probe++)
        place(probe) = other;
    callback_double_enter(cb_, head);
    EXPECT_EQ(place(15), head);
    errors_.text();
    EXPECT_DEATH(callback_double_enter(cb_, head), "is queued already and its callback has not begun");
    callback_double_leave(cb_, head);
    EXPECT_EQ(place(15), nullptr);
    place(15) = other;
    callback_double_enter(cb_, head);
    EXPECT_EQ(place(16), nullptr) << "a crowded one does without";
    place(16) = head;
    callback_double_enter(cb_, head);
    callback_double_leave(cb_, head);
    EXPECT_EQ(place(16), head);
    place(16) = nullptr;
    place(3) = place(5) = head; /* two threads have queued it at once, and one of the two callbacks begins */
    callback_double_leave(cb_, head);
    EXPECT_EQ(place(3), nullptr);
    EXPECT_EQ(place(5), head);
    place(5) = other;
}

} // namespace
