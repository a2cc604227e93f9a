/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the switch between light and full fences: the events that confirm a reader, and those that do not. */
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
    /* The part of the slow path that clears the calling thread's flag. */
    void disarm()
    {
        reader_slow_begin();
        reader_disarm(registry_);
        reader_slow_end();
    }
};

TEST_F(FenceMode, VisitConfirmsArmedReaders)
{
    std::vector<reader_record *> records;
    for (int i = 0; i < 70; i++)
        records.push_back(world_.craft(i % 3 == 0));
    reader_fences_switch(registry_);
    EXPECT_TRUE(reader_fences_are_full(registry_));
    ASSERT_TRUE(reader_fences_visit_begin(registry_));
    for (reader_record *record : records)
        EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL);
    EXPECT_FALSE(confirm(false)) << "the visit issued no fence, and the readers acknowledged nothing";
    EXPECT_FALSE(reader_fences_are_confirmed(registry_, registry_->fence_mode));
    EXPECT_TRUE(confirm(true));
    EXPECT_TRUE(reader_fences_are_confirmed(registry_, registry_->fence_mode));
}

TEST_F(FenceMode, OneThreadConfirmsAtATime)
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

TEST_F(FenceMode, ReaderThatLostItsFlagIsNotConfirmed)
{
    reader_record *record = world_.craft(1);
    reader_fences_switch(registry_);
    ASSERT_TRUE(reader_fences_visit_begin(registry_));
    rtrcu_word_disarm(record->self); /* an update in progress overwrote the flag */
    EXPECT_FALSE(confirm(true));
    EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL) << "the flag is set again";
    EXPECT_FALSE(confirm(true)) << "a flag set after the visit may be lost to an update in progress";
    reader_fences_visit_end(registry_);
    ASSERT_TRUE(reader_fences_visit_begin(registry_));
    EXPECT_TRUE(confirm(true));
}

/* The flag is overwritten, and the other kind's scan sets it after this visit. */
TEST_F(FenceMode, FlagSetByAnotherThreadAfterTheVisitDoesNotConfirm)
{
    reader_record *record = world_.craft(1);
    reader_fences_switch(registry_);
    ASSERT_TRUE(reader_fences_visit_begin(registry_));
    rtrcu_word_disarm(record->self);
    EXPECT_TRUE(arm(record));
    EXPECT_FALSE(confirm(true));
}

TEST_F(FenceMode, ReaderInASlowPathIsNotConfirmed)
{
    reader_record *record = world_.craft(1);
    reader_fences_switch(registry_);
    ASSERT_TRUE(reader_fences_visit_begin(registry_));
    record->self->slow++;
    EXPECT_FALSE(confirm(true)) << "the slow path may have read the old mode, and may still clear the flag";
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
        EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL) << "the flag stays set in full-fence mode";
        EXPECT_FALSE(confirm(false)) << "the other thread has acknowledged nothing";
        rtrcu_store_release(&other->fence_ack, registry_->fence_mode);
        EXPECT_TRUE(confirm(false));
    });
}

TEST_F(FenceMode, HandlerInsideASlowPathDoesNotAcknowledge)
{
    as_thread([&](reader_record *record) {
        reader_slow_begin(); /* the interrupted slow path, which may have read the old mode */
        reader_fences_switch(registry_);
        disarm();
        EXPECT_EQ(record->fence_ack, 0u);
        reader_fences_acknowledge(registry_);
        EXPECT_EQ(record->fence_ack, 0u);
        EXPECT_FALSE(reader_sleep_begin());
        reader_slow_end();
    });
}

TEST_F(FenceMode, NewReaderInFullFenceModeHasAcknowledged)
{
    reader_fences_switch(registry_);
    as_thread([&](reader_record *record) {
        EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL);
        EXPECT_EQ(record->fence_ack, registry_->fence_mode);
        EXPECT_TRUE(confirm(false));
    });
}

TEST_F(FenceMode, AcknowledgmentConfirmsItsModeOnly)
{
    as_thread([&](reader_record *record) {
        reader_fences_switch(registry_);
        disarm();
        ASSERT_TRUE(confirm(false));
        uint32_t old = registry_->fence_mode;
        reader_fences_restore(registry_);
        EXPECT_FALSE(reader_fences_are_full(registry_));
        EXPECT_FALSE(reader_fences_confirm(registry_, old + 2, false)) << "that mode was not acknowledged";
        EXPECT_TRUE(reader_fences_confirm(registry_, old, false)) << "a late confirmation of the old mode";
        EXPECT_FALSE(reader_fences_are_confirmed(registry_, registry_->fence_mode));
        disarm();
        EXPECT_EQ(flag(record), RTRCU_FLAG_FAST);
        reader_fences_switch(registry_);
        EXPECT_FALSE(confirm(false));
        EXPECT_FALSE(confirm(false)) << "the flag is set, but the thread has not acknowledged";
    });
}

TEST_F(FenceMode, ThreadAsleepInTheLibraryIsNotWaitedFor)
{
    as_thread([&](reader_record *record) {
        disarm();
        ASSERT_EQ(flag(record), RTRCU_FLAG_FAST);
        ASSERT_TRUE(reader_sleep_begin());
        EXPECT_FALSE(reader_sleep_begin()) << "only the outermost call marks the thread";
        reader_fences_switch(registry_);
        EXPECT_TRUE(confirm(false));
        reader_sleep_end(registry_);
        EXPECT_EQ(record->fence_ack, registry_->fence_mode) << "the thread uses full fences from now on";
        EXPECT_TRUE(confirm(false));
    });
}

TEST_F(FenceMode, ReturningThreadWithdrawsItsAcknowledgment)
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

/* A handler's section in a thread that sleeps in the library withdraws the acknowledgment, then restores it. */
TEST_F(FenceMode, HandlerOfASleepingThreadRestoresTheAcknowledgment)
{
    as_thread([&](reader_record *record) {
        disarm();
        ASSERT_TRUE(reader_sleep_begin());
        EXPECT_TRUE(rtrcu_word_enter()) << "the flag is set";
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
