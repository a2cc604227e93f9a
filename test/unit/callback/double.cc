/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the set of queued heads, by which checked builds find a head that is queued twice. */
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
        callback_double_enter(cb_, &head, CALLBACK_NATIVE);
        EXPECT_EQ(tracked(&head), 1u);
        callback_double_leave(cb_, &head, CALLBACK_NATIVE);
        EXPECT_EQ(tracked(&head), 0u);
    }
}

TEST_F(Double, SecondCallEndsTheProgram)
{
    rcu_head head = {};
    callback_double_enter(cb_, &head, CALLBACK_NATIVE);
    EXPECT_DEATH(callback_double_enter(cb_, &head, CALLBACK_NATIVE),
                 "is queued already and its callback has not begun");
}

TEST_F(Double, EveryHeadOfALargeBacklogIsTracked)
{
    constexpr size_t count = CALLBACK_DOUBLE_SLOTS * 2;
    auto heads = std::make_unique<rcu_head[]>(count);
    for (size_t i = 0; i < count; i++)
        callback_double_enter(cb_, &heads[i], CALLBACK_NATIVE);
    ASSERT_NE(cb_->queued_more[0], nullptr) << "the first table cannot hold all heads";

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
    EXPECT_DEATH(callback_double_enter(cb_, &heads[count - 1], CALLBACK_NATIVE), "is queued already");

    for (size_t i = 0; i < count; i++)
        callback_double_leave(cb_, &heads[i], CALLBACK_NATIVE);
    for (size_t i = 0; i < count; i++)
        callback_double_enter(cb_, &heads[i], CALLBACK_NATIVE);
}

TEST_F(Double, HeadMayNotBeInTwoKindsOfQueues)
{
    rcu_head head = {};
    callback_double_enter(cb_, &head, CALLBACK_OF_DOMAIN);
    EXPECT_DEATH(callback_double_enter(cb_, &head, CALLBACK_NATIVE), "call_rcu\\(\\): head .* is queued already");
    EXPECT_DEATH(callback_double_enter(cb_, &head, CALLBACK_OF_DOMAIN), "call_srcu\\(\\): head .* is queued already");
    callback_double_leave(cb_, &head, CALLBACK_OF_DOMAIN);
    callback_double_enter(cb_, &head, CALLBACK_NATIVE);
}

TEST_F(Double, ForksChildTracksOnlyHeadsOfTheNativeDomain)
{
    rcu_head kept = {}, dropped = {};
    callback_double_enter(cb_, &kept, CALLBACK_NATIVE);
    callback_double_enter(cb_, &dropped, CALLBACK_OF_DOMAIN);
    callback_double_after_fork(cb_);
    callback_double_enter(cb_, &dropped, CALLBACK_OF_DOMAIN);
    EXPECT_DEATH(callback_double_enter(cb_, &kept, CALLBACK_NATIVE), "is queued already");
}

/* Two threads queue the same head simultaneously: at least one of them ends the program. */
TEST_F(Double, RaceOfTwoCallsEndsTheProgram)
{
    EXPECT_DEATH(
        {
            for (;;) { /* the program ends in the first round */
                rcu_head head = {};
                std::thread other([&] { callback_double_enter(cb_, &head, CALLBACK_NATIVE); });
                callback_double_enter(cb_, &head, CALLBACK_NATIVE);
                other.join();
            }
        },
        "is queued already");
}

TEST_F(Double, DisabledSetTracksNoHeads)
{
    rcu_head head = {};
    cb_->tracks_heads = false;
    callback_double_enter(cb_, &head, CALLBACK_NATIVE);
    callback_double_enter(cb_, &head, CALLBACK_NATIVE);
    EXPECT_EQ(tracked(&head), 0u);
    callback_double_leave(cb_, &head, CALLBACK_NATIVE);
}

} // namespace
