/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The word by which a reader is boosted: who takes it, who gives it back; and the locks that records need, as debug
 * builds check it.
 */
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

TEST_F(Boost, TakesAWordThatNobodyUsesAndAsks)
{
    reader_record *record = world_.craft(1);
    record->thread_id = 4711;
    uint32_t armed = 99;
    reader_lock(record->leaf);
    EXPECT_FALSE(reader_is_boosted(record));
    EXPECT_TRUE(reader_boost(record, &armed));
    EXPECT_TRUE(reader_is_boosted(record));
    EXPECT_EQ(*reader_boost_word(record), 4711u) << "as if its owner had locked it";
    EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL);
    EXPECT_EQ(armed, record->armed);
    armed = 99;
    EXPECT_FALSE(reader_boost(record, &armed)) << "it is in use";
    EXPECT_EQ(armed, 99u) << "outputs stay untouched";
    reader_boost_withdraw(record, {4711});
    reader_unlock(record->leaf);
}

TEST_F(Boost, IsConfirmedByAFlagThatStandsThereStill)
{
    reader_record *record = world_.craft(1);
    uint32_t armed = 0;
    reader_lock(record->leaf);
    ASSERT_TRUE(reader_boost(record, &armed));
    EXPECT_TRUE(reader_boost_confirmed(record, &armed));
    rtrcu_word_disarm(record->self);
    EXPECT_FALSE(reader_boost_confirmed(record, &armed)) << "it was lost";
    EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL) << "and is asked for again";
    EXPECT_TRUE(reader_boost_confirmed(record, &armed));
    reader_unlock(record->leaf);
}

TEST_F(Boost, IsWithdrawnFromItsOwnerAlone)
{
    reader_record *record = world_.craft(1);
    for (uint32_t bits : {0u, waiters}) {
        record->boost = 7 | bits;
        reader_boost_withdraw(record, {8});
        EXPECT_EQ(record->boost, 7 | bits) << "the slot's next thread is boosted";
        reader_boost_withdraw(record, {7});
        EXPECT_EQ(record->boost, 0u) << "nobody but the booster waits on it";
    }
}

TEST_F(Boost, IsReleasedByItsOwnerAlone)
{
    std::thread([] {
        EXPECT_EQ(reader_self_boost_word(), nullptr);
        EXPECT_FALSE(reader_boost_release()) << "a thread without a record";
    }).join();
    as_thread([&](reader_record *record) {
        uint32_t mine = lock_thread_number();
        EXPECT_EQ(reader_self_boost_word(), reader_boost_word(record));
        EXPECT_FALSE(reader_boost_release()) << "it is not boosted";
        EXPECT_EQ(record->boost, 0u);
        for (uint32_t bits : {0u, waiters}) {
            record->boost = (mine + 1) | bits;
            EXPECT_FALSE(reader_boost_release()) << "another's";
            EXPECT_EQ(record->boost, (mine + 1) | bits);
        }
        record->boost = mine;
        EXPECT_FALSE(reader_boost_release()) << "nobody sleeps on it";
        EXPECT_EQ(record->boost, 0u);
        record->boost = mine | waiters;
        EXPECT_TRUE(reader_boost_release()) << "the kernel has to";
        EXPECT_EQ(record->boost, mine | waiters);
        record->boost = 0;
    });
}

/* ---- what debug builds check ---- */

class ReaderDeathTest : public test::Records
{
  protected:
    void SetUp() override
    {
        if (!CHECK_DEBUG)
            GTEST_SKIP() << "release builds check nothing";
    }
};

TEST_F(ReaderDeathTest, ARecordIsChangedUnderItsLeafsLock)
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

/* The words lie in the threads' own memory.  A test's death is that of a fork's child, which holds no lock of its
 * parent's. */
TEST_F(ReaderDeathTest, WhoLooksForDeadlineThreadsTakesTheirLeafsLock)
{
    reader_record *record = world_.craft(RTRCU_QSBR_ONLINE);
    registry_->deadline_count = 1;
    reader_deadline_show(record, true, true);
    EXPECT_DEATH((reader_lock(record->leaf), (void)reader_deadline_is_online(registry_)), "lock of rank");
    EXPECT_TRUE(reader_deadline_is_online(registry_));
}

TEST_F(ReaderDeathTest, ASlotThatIsFreedWasUsed)
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

TEST_F(ReaderDeathTest, AThreadWakesInASlowPath)
{
    EXPECT_DEATH(reader_idle_exit(), "INV-RD2");
    EXPECT_DEATH(reader_disarm(registry_), "INV-RD2");
}

/* ---- slots ---- */

class Slots : public test::Records
{
};

TEST_F(Slots, AreFreeBehindTheLastRoomWhicheverThatIs)
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
        EXPECT_TRUE(reader_used(record->leaf) & reader_bit(record)) << "room " << last << " has something of it";
        EXPECT_TRUE(reader_is_draining(record));
        reader_release_slot(record, last);
        EXPECT_FALSE(reader_used(record->leaf) & reader_bit(record));
        EXPECT_FALSE(reader_is_draining(record));
        reader_unlock(record->leaf);
    }
}

TEST_F(Slots, DrainBesideOthersOfTheirLeaf)
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

TEST_F(Slots, ThePeakStaysWhereItWas)
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
