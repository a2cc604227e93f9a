/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The set of queued heads that checked builds keep: a head that is queued again is found, however many are queued.
 */
#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "world.h"

namespace
{

class Double : public CallbackWorld
{
  protected:
    void SetUp() override
    {
        CallbackWorld::SetUp();
        if (!CHECK_DEBUG)
            GTEST_SKIP() << "only checked builds keep the set";
        cb_->tracks_heads = true;
    }
    void TearDown() override
    {
        for (uint32_t table = 1; table <= CALLBACK_DOUBLE_MORE; table++)
            if (rcu_head **slots = cb_->queued_more[table - 1])
                plat_mem_release(slots, (static_cast<size_t>(CALLBACK_DOUBLE_SLOTS) << (2 * table)) * sizeof(*slots));
        CallbackWorld::TearDown();
    }
    size_t tracked(const rcu_head *head)
    {
        size_t count = std::count(std::begin(cb_->queued), std::end(cb_->queued), head);
        for (uint32_t table = 1; table <= CALLBACK_DOUBLE_MORE; table++) {
            if (rcu_head **slots = cb_->queued_more[table - 1])
                count += std::count(slots, slots + (static_cast<size_t>(CALLBACK_DOUBLE_SLOTS) << (2 * table)), head);
        }
        return count;
    }
};

TEST_F(Double, HeadIsTrackedFromItsCallUntilItsCallback)
{
    rcu_head head = {};
    for (int time = 0; time < 2; time++) {
        callback_double_enter(cb_, &head);
        EXPECT_EQ(tracked(&head), 1u);
        callback_double_leave(cb_, &head);
        EXPECT_EQ(tracked(&head), 0u);
    }
}

TEST_F(Double, SecondCallEndsTheProgram)
{
    rcu_head head = {};
    callback_double_enter(cb_, &head);
    EXPECT_DEATH(callback_double_enter(cb_, &head), "is queued already and its callback has not begun");
}

TEST_F(Double, EveryHeadOfALargeBacklogIsTracked)
{
    constexpr size_t count = CALLBACK_DOUBLE_SLOTS * 2;
    auto heads = std::make_unique<rcu_head[]>(count);
    for (size_t i = 0; i < count; i++)
        callback_double_enter(cb_, &heads[i]);
    ASSERT_NE(cb_->queued_more[0], nullptr) << "the first table cannot hold them all";

    std::vector<const rcu_head *> all;
    for (rcu_head *head : cb_->queued)
        all.push_back(head);
    for (uint32_t table = 1; table <= CALLBACK_DOUBLE_MORE; table++) {
        if (rcu_head **slots = cb_->queued_more[table - 1])
            all.insert(all.end(), slots, slots + (static_cast<size_t>(CALLBACK_DOUBLE_SLOTS) << (2 * table)));
    }
    std::sort(all.begin(), all.end());
    for (size_t i = 0; i < count; i++)
        ASSERT_TRUE(std::binary_search(all.begin(), all.end(), &heads[i])) << "head " << i;
    EXPECT_DEATH(callback_double_enter(cb_, &heads[count - 1]), "is queued already");

    for (size_t i = 0; i < count; i++)
        callback_double_leave(cb_, &heads[i]);
    for (size_t i = 0; i < count; i++)
        callback_double_enter(cb_, &heads[i]);
}

/* Two threads queue one head at the same moment: at least one of them finds the other. */
TEST_F(Double, RaceOfTwoCallsEndsTheProgram)
{
    EXPECT_DEATH(
        {
            for (;;) { /* ends at the first round */
                rcu_head head = {};
                std::thread other([&] { callback_double_enter(cb_, &head); });
                callback_double_enter(cb_, &head);
                other.join();
            }
        },
        "is queued already");
}

TEST_F(Double, NothingIsTrackedWhereTheSetIsOff)
{
    rcu_head head = {};
    cb_->tracks_heads = false;
    callback_double_enter(cb_, &head);
    callback_double_enter(cb_, &head);
    EXPECT_EQ(tracked(&head), 0u);
    callback_double_leave(cb_, &head);
}

} // namespace
