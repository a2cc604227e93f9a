/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the word by which a reader is boosted, of checks of debug builds on records, and of slots. */
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/records.h"

namespace
{

constexpr uint32_t waiters = UINT32_C(1) << 31;

class Boost : public test::Records
{
};

TEST_F(Boost, BoostTakesAFreeWordAndSetsTheReadersFlag)
{
    reader_record *record = world_.craft(1);
    record->thread_id = 4711;
    uint32_t armed = 99;
    reader_lock(record->leaf);
    EXPECT_FALSE(reader_is_boosted(record));
    EXPECT_TRUE(reader_boost(record, &armed));
    EXPECT_TRUE(reader_is_boosted(record));
    EXPECT_EQ(*reader_boost_word(record), 4711u) << "the word looks as if its owner had locked it";
    EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL);
    EXPECT_EQ(armed, record->armed);
    armed = 99;
    EXPECT_FALSE(reader_boost(record, &armed)) << "the word is in use";
    EXPECT_EQ(armed, 99u) << "outputs stay untouched";
    reader_boost_withdraw(record, {4711});
    reader_unlock(record->leaf);
}

TEST_F(Boost, BoostIsConfirmedIfTheReadersFlagIsStillSet)
{
    reader_record *record = world_.craft(1);
    uint32_t armed = 0;
    reader_lock(record->leaf);
    ASSERT_TRUE(reader_boost(record, &armed));
    EXPECT_TRUE(reader_boost_confirmed(record, &armed));
    rtrcu_word_disarm(record->self);
    EXPECT_FALSE(reader_boost_confirmed(record, &armed)) << "the flag was lost";
    EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL) << "the flag is set again";
    EXPECT_TRUE(reader_boost_confirmed(record, &armed));
    reader_unlock(record->leaf);
}

TEST_F(Boost, WithdrawalAffectsOnlyTheBoostedThread)
{
    reader_record *record = world_.craft(1);
    for (uint32_t bits : {0u, waiters}) {
        record->boost = 7 | bits;
        reader_boost_withdraw(record, {8});
        EXPECT_EQ(record->boost, 7 | bits) << "the slot's next thread is boosted";
        reader_boost_withdraw(record, {7});
        EXPECT_EQ(record->boost, 0u) << "only the booster waits on the word";
    }
}

TEST_F(Boost, OnlyTheBoostedThreadReleasesTheWord)
{
    std::thread([] {
        EXPECT_EQ(reader_self_boost_word(), nullptr);
        EXPECT_FALSE(reader_boost_release()) << "a thread without a record has no word";
    }).join();
    as_thread([&](reader_record *record) {
        uint32_t mine = lock_thread_number();
        EXPECT_EQ(reader_self_boost_word(), reader_boost_word(record));
        EXPECT_FALSE(reader_boost_release()) << "the thread is not boosted";
        EXPECT_EQ(record->boost, 0u);
        for (uint32_t bits : {0u, waiters}) {
            record->boost = (mine + 1) | bits;
            EXPECT_FALSE(reader_boost_release()) << "the word belongs to another thread";
            EXPECT_EQ(record->boost, (mine + 1) | bits);
        }
        record->boost = mine;
        EXPECT_FALSE(reader_boost_release()) << "no thread sleeps on the word, so it is released here";
        EXPECT_EQ(record->boost, 0u);
        record->boost = mine | waiters;
        EXPECT_TRUE(reader_boost_release()) << "a thread sleeps on the word, so the kernel must release it";
        EXPECT_EQ(record->boost, mine | waiters);
        record->boost = 0;
    });
}

/* ---- checks of debug builds ---- */

class ReaderDeathTest : public test::Records
{
  protected:
    void SetUp() override
    {
        if (!CHECK_DEBUG)
            GTEST_SKIP() << "only debug builds check";
    }
};

TEST_F(ReaderDeathTest, RecordChangesOnlyUnderItsLeafLock)
{
    uint32_t armed = 0;
    reader_record *record = world_.craft(0), *boosted = world_.craft(0);
    boosted->boost = 1;
    const std::vector<std::pair<const char *, std::function<void()>>> calls = {
        {"withdraw", [&] { reader_withdraw(registry_, record); }},
        {"let go", [&] { reader_release_slot(record, READER_PARKED); }},
        {"arm", [&] { (void)reader_arm(record); }},
        {"boost", [&] { (void)reader_boost(boosted, &armed); }},
        {"confirm", [&] { (void)reader_boost_confirmed(boosted, &armed); }},
        {"seen", [&] { (void)reader_count_scan(record, false, 3); }},
        {"doze", [&] { (void)reader_idle_propose(record->leaf, 3); }},
        {"kept still", [&] { (void)reader_idle_confirmed(record); }},
    };
    for (const auto &[name, call] : calls)
        EXPECT_DEATH(call(), "check failed: lock_is_mine") << name;
}

/* The search reads memory of the threads, which therefore may not exit meanwhile.  A death test runs in a fork's child,
 * where the locks of its parent are not held. */
TEST_F(ReaderDeathTest, SearchForDeadlineThreadsNeedsTheLeafLock)
{
    reader_record *record = world_.craft(RTRCU_QSBR_ONLINE);
    registry_->deadline_count = 1;
    reader_deadline_show(record, true, true);
    EXPECT_DEATH((reader_lock(record->leaf), (void)reader_deadline_is_online(registry_)), "lock of rank");
    EXPECT_TRUE(reader_deadline_is_online(registry_));
}

TEST_F(ReaderDeathTest, FreeingAnUnusedSlotIsRefused)
{
    reader_record *record = world_.craft(0);
    reader_lock(record->leaf);
    reader_withdraw(registry_, record);
    reader_release_slot(record, READER_PARKED);
    reader_release_slot(record, READER_SERVE);
    reader_slot_return(record);
    reader_unlock(record->leaf);
    EXPECT_DEATH((reader_lock(record->leaf), reader_release_slot(record, READER_CALLBACK)), "INV-RD1");
}

TEST_F(ReaderDeathTest, IdlenessEndsOnlyInASlowPath)
{
    EXPECT_DEATH(reader_idle_exit(), "INV-RD2");
    EXPECT_DEATH(reader_disarm(registry_), "INV-RD2");
}

/* ---- slots ---- */

class Slots : public test::Records
{
};

TEST_F(Slots, SlotIsFreeOnceEveryRoomHasReleasedIt)
{
    for (reader_room last : {READER_PARKED, READER_CALLBACK, READER_SERVE}) {
        reader_record *record = world_.craft(0);
        reader_lock(record->leaf);
        reader_withdraw(registry_, record);
        EXPECT_TRUE(reader_is_draining(record));
        for (reader_room room : {READER_PARKED, READER_CALLBACK, READER_SERVE}) {
            if (room != last)
                reader_release_slot(record, room);
        }
        EXPECT_TRUE(reader_used(record->leaf) & reader_bit(record)) << "room " << last << " has not released the slot";
        EXPECT_TRUE(reader_is_draining(record));
        reader_release_slot(record, last);
        EXPECT_FALSE(reader_used(record->leaf) & reader_bit(record));
        EXPECT_FALSE(reader_is_draining(record));
        reader_unlock(record->leaf);
    }
}

TEST_F(Slots, SlotsOfOneLeafDrainIndependently)
{
    reader_record *one = world_.craft(0), *two = world_.craft(0);
    ASSERT_EQ(one->leaf, two->leaf);
    reader_lock(one->leaf);
    reader_withdraw(registry_, one);
    reader_withdraw(registry_, two);
    for (reader_record *record : {one, two}) {
        EXPECT_TRUE(reader_is_draining(record));
        for (reader_room room : {READER_PARKED, READER_CALLBACK, READER_SERVE})
            reader_release_slot(record, room);
        EXPECT_FALSE(reader_used(record->leaf) & reader_bit(record));
    }
    reader_unlock(one->leaf);
}

TEST_F(Slots, PeakIsNotLoweredByExits)
{
    struct rtrcu_stats stats = {};
    for (int turn = 0; turn < 3; turn++) {
        reader_record *one = world_.craft(0), *two = world_.craft(0);
        world_.withdraw(one);
        world_.withdraw(two);
    }
    world_.craft(0);
    reader_stats(registry_, &stats);
    EXPECT_EQ(stats.threads_registered, 1u);
    EXPECT_EQ(stats.threads_peak, 2u);
    EXPECT_EQ(stats.threads_deadline, 0u);
    EXPECT_EQ(stats.full_fences, 0u);
    registry_->deadline_count = 4;
    reader_fences_start_full(registry_);
    EXPECT_TRUE(reader_fences_are_confirmed(registry_, reader_fences_mode(registry_)));
    reader_stats(registry_, &stats);
    EXPECT_EQ(stats.threads_deadline, 4u);
    EXPECT_EQ(stats.full_fences, 1u);
}

} // namespace
