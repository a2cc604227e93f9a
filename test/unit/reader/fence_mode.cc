/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From light fences to full ones and back: who is confirmed, by what, and who is not.
 */
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/records.h"

namespace
{

class FenceMode : public test::Records
{
  protected:
    bool confirm(bool visited)
    {
        return reader_fences_confirm(registry_, registry_->fence_mode, visited);
    }
    /* What a slow path of the calling thread does. */
    void disarm()
    {
        reader_slow_begin();
        reader_disarm(registry_);
        reader_slow_end();
    }
};

TEST_F(FenceMode, ANoteArmsEverybodyAndAVisitConfirms)
{
    std::vector<reader_record *> records;
    for (int i = 0; i < 70; i++)
        records.push_back(world_.craft(i % 3 == 0));
    reader_fences_switch(registry_);
    EXPECT_TRUE(reader_fences_are_full(registry_));
    ASSERT_TRUE(reader_fences_visit_begin(registry_));
    for (reader_record *record : records)
        EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL);
    EXPECT_FALSE(confirm(false)) << "no fence, nobody has acknowledged";
    EXPECT_FALSE(reader_fences_are_confirmed(registry_, registry_->fence_mode));
    EXPECT_TRUE(confirm(true));
    EXPECT_TRUE(reader_fences_are_confirmed(registry_, registry_->fence_mode));
}

TEST_F(FenceMode, OneThreadNotesAtATime)
{
    reader_fences_switch(registry_);
    ASSERT_TRUE(reader_fences_visit_begin(registry_));
    std::thread([&] { EXPECT_FALSE(reader_fences_visit_begin(registry_)); }).join();
    reader_fences_visit_end(registry_);
    std::thread([&] {
        EXPECT_TRUE(reader_fences_visit_begin(registry_));
        reader_fences_visit_end(registry_);
    }).join();
}

TEST_F(FenceMode, WhoLostTheFlagIsNotConfirmedByThisVisit)
{
    reader_record *record = world_.craft(1);
    reader_fences_switch(registry_);
    ASSERT_TRUE(reader_fences_visit_begin(registry_));
    rtrcu_word_disarm(record->self); /* an update under way overwrote the flag */
    EXPECT_FALSE(confirm(true));
    EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL) << "armed again";
    EXPECT_FALSE(confirm(true)) << "behind the visit: an update under way may lose it";
    reader_fences_visit_end(registry_);
    ASSERT_TRUE(reader_fences_visit_begin(registry_));
    EXPECT_TRUE(confirm(true));
}

/* The other kind's scan arms the reader behind our visit. */
TEST_F(FenceMode, AFlagThatAnotherHasSetBehindTheVisitDoesNotConfirm)
{
    reader_record *record = world_.craft(1);
    reader_fences_switch(registry_);
    ASSERT_TRUE(reader_fences_visit_begin(registry_));
    rtrcu_word_disarm(record->self);
    EXPECT_TRUE(arm(record));
    EXPECT_FALSE(confirm(true));
}

TEST_F(FenceMode, WhoIsInsideASlowPathIsNotConfirmedByAVisit)
{
    reader_record *record = world_.craft(1);
    reader_fences_switch(registry_);
    ASSERT_TRUE(reader_fences_visit_begin(registry_));
    record->self->slow++;
    EXPECT_FALSE(confirm(true)) << "it may have read the old mode and may yet disarm";
    record->self->slow--;
    EXPECT_TRUE(confirm(true));
}

TEST_F(FenceMode, AcknowledgmentsConfirmWithoutAVisit)
{
    as_thread([&](reader_record *record) {
        reader_record *other = world_.craft(0);
        reader_fences_switch(registry_);
        EXPECT_FALSE(confirm(false));
        disarm();
        EXPECT_EQ(record->fence_ack, registry_->fence_mode);
        EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL) << "in this mode the flag stays";
        EXPECT_FALSE(confirm(false)) << "the other has said nothing";
        rtrcu_store_release(&other->fence_ack, registry_->fence_mode);
        EXPECT_TRUE(confirm(false));
    });
}

TEST_F(FenceMode, AHandlerInsideASlowPathDoesNotAcknowledge)
{
    as_thread([&](reader_record *record) {
        reader_slow_begin(); /* the interrupted one: it may have read the old mode */
        reader_fences_switch(registry_);
        disarm();
        EXPECT_EQ(record->fence_ack, 0u);
        reader_fences_acknowledge(registry_);
        EXPECT_EQ(record->fence_ack, 0u);
        EXPECT_FALSE(reader_sleep_begin());
        reader_slow_end();
    });
}

TEST_F(FenceMode, WhoComesInFullFenceModeHasAcknowledged)
{
    reader_fences_switch(registry_);
    as_thread([&](reader_record *record) {
        EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL);
        EXPECT_EQ(record->fence_ack, registry_->fence_mode);
        EXPECT_TRUE(confirm(false));
    });
}

TEST_F(FenceMode, WhatWasSaidOfAnOldModeMeansNothing)
{
    as_thread([&](reader_record *record) {
        reader_fences_switch(registry_);
        disarm();
        ASSERT_TRUE(confirm(false));
        uint32_t old = registry_->fence_mode;
        reader_fences_restore(registry_);
        EXPECT_FALSE(reader_fences_are_full(registry_));
        EXPECT_FALSE(reader_fences_confirm(registry_, old + 2, false)) << "nobody has acknowledged that one";
        EXPECT_TRUE(reader_fences_confirm(registry_, old, false)) << "a late confirmation of the old mode";
        EXPECT_FALSE(reader_fences_are_confirmed(registry_, registry_->fence_mode));
        disarm();
        EXPECT_EQ(flag(record), RTRCU_FLAG_FAST);
        reader_fences_switch(registry_);
        EXPECT_FALSE(confirm(false));
        EXPECT_FALSE(confirm(false)) << "armed, but it has not said so";
    });
}

TEST_F(FenceMode, WhoIsAwayNeedNotBeWaitedFor)
{
    as_thread([&](reader_record *record) {
        disarm();
        ASSERT_EQ(flag(record), RTRCU_FLAG_FAST);
        ASSERT_TRUE(reader_sleep_begin());
        EXPECT_FALSE(reader_sleep_begin()) << "only the outermost";
        reader_fences_switch(registry_);
        EXPECT_TRUE(confirm(false));
        reader_sleep_end(registry_);
        EXPECT_EQ(record->fence_ack, registry_->fence_mode) << "it fences from now on";
        EXPECT_TRUE(confirm(false));
    });
}

/* Back again it is confirmed by what it says of the mode, where the fences were not switched too. */
TEST_F(FenceMode, WhoIsBackIsNotAway)
{
    as_thread([&](reader_record *record) {
        disarm();
        ASSERT_TRUE(reader_sleep_begin());
        EXPECT_EQ(record->fence_ack, READER_FENCES_ANY);
        reader_sleep_end(registry_);
        EXPECT_NE(record->fence_ack, READER_FENCES_ANY);
        EXPECT_FALSE(reader_self_is(READER_STATE_ASLEEP));
    });
}

/* A handler's section of a thread that is away does not rely on the acknowledgment, and leaves it behind it. */
TEST_F(FenceMode, AHandlerOfAThreadThatIsAwayComesBackAndLeavesAgain)
{
    as_thread([&](reader_record *record) {
        disarm();
        ASSERT_TRUE(reader_sleep_begin());
        EXPECT_TRUE(rtrcu_word_enter()) << "the flag is there";
        reader_sleep_interrupted();
        EXPECT_EQ(record->fence_ack, 0u);
        rtrcu_word_leave();
        disarm();
        EXPECT_EQ(record->fence_ack, READER_FENCES_ANY);
        EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL);
        reader_sleep_end(registry_);
        disarm();
        EXPECT_EQ(flag(record), RTRCU_FLAG_FAST);
    });
}

} // namespace
