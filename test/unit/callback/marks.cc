/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of marks of leaves, and of the iteration over marked leaves. */
#include "world.h"

class CallbackMarks : public CallbackWorld
{
  protected:
    std::unique_ptr<callback_marks, test::Freer> memory_of_marks_ = test::zeroed<callback_marks>();
    callback_marks *marks_ = memory_of_marks_.get();

    reader_leaf *leaf(uint32_t index)
    {
        return reader_leaf_at(world_.registry(), index);
    }
    void grow_to(uint32_t leaves)
    {
        while (reader_leaf_count(world_.registry()) < leaves)
            world_.craft(0);
    }
    std::vector<uint32_t> way()
    {
        std::vector<uint32_t> found;
        for (reader_leaf *at = nullptr; (at = callback_next_marked(marks_, world_.registry(), at));)
            found.push_back(reader_leaf_index(at));
        return found;
    }
};

TEST_F(CallbackMarks, IterationVisitsOnlyMarkedLeaves)
{
    grow_to(131);
    EXPECT_EQ(way(), (std::vector<uint32_t>{}));
    for (uint32_t index : {0u, 63u, 64u, 130u})
        callback_mark(marks_, leaf(index));
    EXPECT_EQ(way(), (std::vector<uint32_t>{0, 63, 64, 130}));
    callback_unmark(marks_, leaf(63));
    callback_unmark(marks_, leaf(64));
    EXPECT_EQ(way(), (std::vector<uint32_t>{0, 130}));
}

TEST_F(CallbackMarks, LeafMarkedTwiceIsUnmarkedByOneCall)
{
    grow_to(3);
    callback_mark(marks_, leaf(1));
    callback_mark(marks_, leaf(1));
    callback_mark(marks_, leaf(2));
    callback_unmark(marks_, leaf(1));
    callback_unmark(marks_, leaf(1));
    EXPECT_EQ(way(), (std::vector<uint32_t>{2}));
    callback_marks_forget(marks_, 3);
    EXPECT_EQ(way(), (std::vector<uint32_t>{}));
}

TEST_F(CallbackMarks, LeafIsMarkedWhileItHasCallbacks)
{
    reader_record *record = world_.craft(0);
    EXPECT_FALSE(callback_anything_new(cb_));
    enqueue(record);
    EXPECT_TRUE(callback_anything_new(cb_));
    EXPECT_EQ(callback_next_busy(cb_, nullptr), nullptr);
    callback_collect(cb_);
    EXPECT_FALSE(callback_anything_new(cb_));
    EXPECT_EQ(callback_next_busy(cb_, nullptr), record->leaf);
    grace_period();
    advance(record);
    callback_queues_lock(record->leaf);
    callback_unmark_if_empty(cb_, record->leaf);
    callback_queues_unlock(record->leaf);
    EXPECT_EQ(callback_next_busy(cb_, nullptr), record->leaf) << "the leaf has ready callbacks";
    EXPECT_EQ(invoke(record, everything()), 1u);
    callback_queues_lock(record->leaf);
    callback_unmark_if_empty(cb_, record->leaf);
    callback_queues_unlock(record->leaf);
    EXPECT_EQ(callback_next_busy(cb_, nullptr), nullptr);
}
