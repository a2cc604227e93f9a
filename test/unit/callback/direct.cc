/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of callback_direct(), which runs a callback immediately if no reader can exist, and refuses it otherwise. */
#include "../../support/sync.h"
#include "world.h"

namespace
{

int runs;

void count(rcu_head *)
{
    runs++;
}

class Direct : public CallbackWorld
{
  protected:
    rcu_head head_ = {};

    void SetUp() override
    {
        CallbackWorld::SetUp();
        runs = 0;
    }
    bool direct(bool in_handler = false)
    {
        return callback_direct(cb_, &head_, count, in_handler);
    }
    /* Run @body in the only registered thread of this world. */
    template <typename Body> void as_only_thread(Body body)
    {
        test::Worker worker;
        worker.run([&] {
            reader_record *record = reader_slot_take(world_.registry());
            test::publish(world_.registry(), record, &rtrcu_self);
            body();
            test::withdraw(world_.registry(), record);
        });
    }
};

TEST_F(Direct, CallbackOfTheOnlyThreadRunsImmediately)
{
    as_only_thread([&] { EXPECT_TRUE(direct()); });
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(cb_->direct.count, 1u);
    EXPECT_EQ(cb_->direct_refused.count, 0u);
}

TEST_F(Direct, CallbackOfAnUnregisteredThreadRunsImmediately)
{
    EXPECT_TRUE(direct());
}

TEST_F(Direct, AnotherRegisteredThreadForcesQueueing)
{
    reader_record *other = world_.craft(0);
    as_only_thread(
        [&] { EXPECT_FALSE(direct()) << "the other thread is outside now, but may have been inside before"; });
    world_.withdraw(other);
    as_only_thread([&] { EXPECT_TRUE(direct()); });
    EXPECT_EQ(cb_->direct_refused.count, 1u);
}

TEST_F(Direct, ReaderWithoutARecordForcesQueueing)
{
    world_.registry()->anonymous = 1;
    EXPECT_FALSE(direct());
}

TEST_F(Direct, ParkedTaskForcesQueueing)
{
    as_only_thread([&] {
        reader_leaf *leaf = rtrcu_self.record->leaf;
        rcu_task task = {};
        parked_add_to_thread(rtrcu_self.record, &task);
        EXPECT_FALSE(direct()) << "a task is on the thread's own list";
        EXPECT_TRUE(parked_remove_from_thread(&task));
        reader_lock(leaf);
        parked_add_to_leaf(leaf, &task, {0});
        EXPECT_FALSE(direct()) << "a task is on the leaf's list";
        parked_remove_from_leaf(leaf, &task);
        reader_unlock(leaf);
        EXPECT_TRUE(direct());
    });
}

TEST_F(Direct, OwnSectionForcesQueueing)
{
    as_only_thread([&] {
        ASSERT_FALSE(rtrcu_word_enter());
        EXPECT_FALSE(direct());
        EXPECT_FALSE(direct(true));
        ASSERT_FALSE(rtrcu_word_leave());
        rtrcu_self.bh = 1;
        EXPECT_FALSE(direct(true));
        rtrcu_self.bh = 0;
        EXPECT_TRUE(direct());
        EXPECT_TRUE(direct(true));
    });
}

/* In a handler on a quiescent-state thread, callbacks are queued: the thread may hold a reference, unless it marks its
 * sections by rcu_read_lock_bh(). */
TEST_F(Direct, HandlerOnAQuiescentStateThreadForcesQueueing)
{
    as_only_thread([&] {
        rtrcu_word_add(&rtrcu_self, RTRCU_QSBR_ONLINE);
        EXPECT_FALSE(direct(true));
        EXPECT_TRUE(direct(false)) << "the thread itself knows which references it holds";
        rtrcu_self.state |= READER_STATE_BH;
        EXPECT_TRUE(direct(true));
        rtrcu_self.state &= ~static_cast<uint32_t>(READER_STATE_BH);
        rtrcu_word_add(&rtrcu_self, -static_cast<uint32_t>(RTRCU_QSBR_ONLINE));
    });
}

callback *chain_callback;
int chain_left, chain_depth;

void call_again(rcu_head *head)
{
    chain_depth++;
    if (chain_left-- > 0 && !callback_direct(chain_callback, head, call_again, false))
        chain_left = 0;
}

TEST_F(Direct, NestingOfImmediateCallbacksIsBounded)
{
    chain_callback = cb_;
    chain_left = 100;
    chain_depth = 0;
    EXPECT_TRUE(callback_direct(cb_, &head_, call_again, false));
    EXPECT_GE(chain_depth, 2);
    EXPECT_LE(chain_depth, 8);
    EXPECT_EQ(cb_->direct_refused.count, 1u);
    EXPECT_TRUE(direct()) << "the depth is 0 again";
}

TEST_F(Direct, ObjectOfAnEmbeddedHeadIsFreedImmediately)
{
    auto *memory = static_cast<char *>(malloc(64));
    EXPECT_TRUE(
        callback_direct(cb_, reinterpret_cast<rcu_head *>(memory + 32), reinterpret_cast<rcu_callback_t>(33), false));
}

} // namespace
