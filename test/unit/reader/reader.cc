/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of records and their registry: slots, growth, the special flag, fork. */
#include <algorithm>
#include <set>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/records.h"
#include "../../support/stepped.h"
#include "../../support/sync.h"
#include "../../support/variant.h"

namespace
{

class Reader : public test::Records
{
  protected:
    static void let_go(reader_record *record, reader_room room)
    {
        reader_lock(record->leaf);
        reader_release_slot(record, room);
        reader_unlock(record->leaf);
    }
    static void free_slot(reader_record *record)
    {
        for (int room = 0; room < READER_HOLDERS; room++)
            let_go(record, static_cast<reader_room>(room));
    }
};

/* An update in progress overwrites the booster's flag, and another thread sets it again.  A later update may overwrite
 * that flag too, so the booster needs another fence. */
TEST_F(Reader, FlagSetByAnotherThreadDoesNotConfirmABoost)
{
    reader_record *record = world_.craft(0);
    uint32_t armed = 0;
    world_.set_inside(record, 1);
    reader_lock(record->leaf);
    EXPECT_TRUE(reader_boost(record, &armed));
    rtrcu_word_disarm(record->self); /* overwritten */
    EXPECT_TRUE(reader_arm(record)) << "the other kind's scan sets the flag";
    EXPECT_FALSE(reader_boost_confirmed(record, &armed));
    EXPECT_TRUE(reader_boost_confirmed(record, &armed));
    reader_boost_withdraw(record, {record->thread_id});
    EXPECT_EQ(record->boost, 0u);
    reader_unlock(record->leaf);
}

/* docs/readers.md has this number of bytes. */
TEST_F(Reader, ThreadTakesTheDocumentedNumberOfBytes)
{
    constexpr size_t told_bytes = 650;
    size_t bytes = sizeof(struct domain_leaf) / READER_FANOUT;
    EXPECT_GT(bytes, told_bytes - 50);
    EXPECT_LT(bytes, told_bytes + 50);
}

/* The test places other data after the leaf: the leaf's records must not overlap it. */
TEST_F(Reader, RecordsOfALeafLieWithinIt)
{
    struct Pages {
        reader_leaf leaf;
        reader_record behind;
    };
    auto pages = test::zeroed<Pages>();
    reader_leaf_init(&pages->leaf);
    EXPECT_EQ(pages->leaf.record[READER_FANOUT - 1].slot, READER_FANOUT - 1u);
    EXPECT_EQ(pages->leaf.record[READER_FANOUT - 1].leaf, &pages->leaf);
    EXPECT_EQ(pages->behind.slot, 0u);
    EXPECT_EQ(pages->behind.leaf, nullptr);
}

TEST_F(Reader, StartsWithOneLeafAndTheSharedRecord)
{
    EXPECT_EQ(reader_leaf_count(registry_), 1u);
    EXPECT_EQ(reader_leaf_at(registry_, 0)->used, 1u);
    EXPECT_EQ(reader_shared_record(registry_)->slot, 0u);
    EXPECT_FALSE(reader_is_registered(reader_shared_record(registry_)));
}

TEST_F(Reader, SlotsAreTakenFromTheFrontAndFreed)
{
    reader_record *first = world_.craft(0), *second = world_.craft(0);
    EXPECT_EQ(first->slot, 1u);
    EXPECT_EQ(second->slot, 2u);
    world_.withdraw(first);
    EXPECT_EQ(reader_slot_take(registry_), first);
}

/* A late daemon, which served the slot's previous thread, frees it after a new thread has taken it. */
TEST_F(Reader, SlotBeingTakenIsNotFreed)
{
    reader_record *record = reader_slot_take(registry_);
    free_slot(record);
    EXPECT_NE(reader_slot_take(registry_), record);
    reader_record *left = world_.craft(0);
    world_.withdraw(left);
    ASSERT_EQ(reader_slot_take(registry_), left);
    free_slot(left);
    EXPECT_NE(reader_slot_take(registry_), left);
}

TEST_F(Reader, RegisteredSlotIsNotFreed)
{
    reader_record *record = world_.craft(0);
    free_slot(record);
    EXPECT_NE(reader_slot_take(registry_), record);
}

TEST_F(Reader, SharedRecordsSlotIsNeverFreed)
{
    free_slot(reader_shared_record(registry_));
    EXPECT_EQ(reader_leaf_at(registry_, 0)->used, 1u);
}

TEST_F(Reader, GrowsToThousandsOfRecords)
{
    constexpr uint32_t wanted = 5000;
    std::set<reader_record *> records;
    for (uint32_t i = 0; i < wanted; i++) {
        reader_record *record = world_.craft(0);
        ASSERT_TRUE(records.insert(record).second) << "the slot was returned twice";
        ASSERT_EQ(reader_leaf_at(registry_, record->leaf->index), record->leaf);
        ASSERT_EQ(&record->leaf->record[record->slot], record);
    }
    EXPECT_EQ(reader_leaf_count(registry_), (wanted + 1 + READER_FANOUT - 1) / READER_FANOUT);
    EXPECT_EQ(registry_->registered, wanted);
    for (reader_record *record : records)
        world_.withdraw(record);
    EXPECT_TRUE(records.count(reader_slot_take(registry_)));
    EXPECT_EQ(reader_leaf_count(registry_), (wanted + 1 + READER_FANOUT - 1) / READER_FANOUT);
}

/* Another thread has linked a leaf meanwhile, so this thread unmaps the pages of its own. */
TEST_F(Reader, ThreadThatLosesTheRaceToAddALeafFreesItsPages)
{
    static reader_leaf *(*lay_out)(void *);
    static void *pages;
    reader_registry *registry = world_.registry();
    world_.fill_last_leaf();
    ASSERT_NE(reader_slot_take(registry), nullptr);
    ASSERT_EQ(reader_leaf_count(registry), 2u);
    registry->leaf_count = 1; /* the value that the losing thread read */
    lay_out = registry->plan.lay_out;
    registry->plan.lay_out = [](void *fresh) {
        pages = fresh;
        return lay_out(fresh);
    };
    reader_record *record = reader_slot_take(registry);
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(record->leaf, registry->leaf[1]);
    unsigned char resident;
    EXPECT_EQ(mincore(pages, 1, &resident), -1) << "the pages are still mapped";
}

TEST_F(Reader, ConcurrentGrowthGivesDistinctSlots)
{
    constexpr size_t threads = 8, each = 500;
    std::vector<std::vector<reader_record *>> taken(threads);
    test::Steps start;
    std::vector<std::thread> all;
    for (auto &mine : taken) {
        all.emplace_back([&] {
            start.wait(1);
            for (size_t i = 0; i < each; i++)
                mine.push_back(reader_slot_take(registry_));
        });
    }
    start.reach(1);
    for (auto &thread : all)
        thread.join();
    std::set<reader_record *> distinct;
    for (auto &mine : taken)
        distinct.insert(mine.begin(), mine.end());
    EXPECT_EQ(distinct.size(), threads * each);
    EXPECT_EQ(distinct.count(nullptr), 0u);
    EXPECT_EQ(reader_leaf_count(registry_), (threads * each + 1 + READER_FANOUT - 1) / READER_FANOUT)
        << "a leaf is linked only if all leaves before it are full";
    for (uint32_t i = 0; i < reader_leaf_count(registry_); i++)
        EXPECT_NE(reader_leaf_at(registry_, i), nullptr);
}

#if defined(__x86_64__)

reader_registry *growing;
long hung_steps, torn_steps;

/* Checks the new leaf as another thread would see it after this step. */
void check_after_a_step(int, siginfo_t *, void *)
{
    const reader_leaf *leaf = rtrcu_load_acquire(&growing->leaf[1]);
    hung_steps += leaf != nullptr;
    torn_steps += leaf && (leaf->index != 1 || !leaf->scanned.above);
}

/* Another thread may take a slot of a new leaf as soon as the leaf is linked. */
TEST_F(Reader, LeafIsCompleteBeforeItIsLinked)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delays signals";
    test::SteppedBy traps(check_after_a_step);
    world_.fill_last_leaf();
    growing = registry_;
    hung_steps = torn_steps = 0;
    test::SteppedBy::begin();
    const reader_record *record = reader_slot_take(registry_);
    test::SteppedBy::end();
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(reader_leaf_index(record->leaf), 1u);
    EXPECT_GT(hung_steps, 0);
    EXPECT_EQ(torn_steps, 0);
}

#endif

TEST_F(Reader, WithdrawnRecordIsUnregisteredAndItsSlotReused)
{
    reader_record *record = world_.craft(0);
    rtrcu_thread *self = record->self;
    EXPECT_TRUE(reader_is_registered(record));
    EXPECT_EQ(self->record, record);
    EXPECT_EQ(flag(record), RTRCU_FLAG_FAST);
    EXPECT_EQ(registry_->registered, 1u);
    world_.craft(0);
    EXPECT_EQ(registry_->registered, 2u);
    world_.withdraw(record);
    EXPECT_FALSE(reader_is_registered(record));
    EXPECT_EQ(rtrcu_word_of(self) >> 24, RTRCU_FLAG_UNREGISTERED);
    EXPECT_EQ(self->record, nullptr);
    EXPECT_EQ(record->self, nullptr) << "the record no longer points to the thread's memory";
    EXPECT_EQ(registry_->registered, 1u);
    EXPECT_EQ(registry_->registered_peak, 2u);
    EXPECT_EQ(reader_slot_take(registry_), record);
}

TEST_F(Reader, SlotIsKeptUntilEveryRoomReleasesIt)
{
    reader_record *record = world_.craft(0);
    let_go(record, READER_PARKED); /* no effect while the thread is registered */
    reader_lock(record->leaf);
    reader_withdraw(registry_, record);
    reader_unlock(record->leaf);
    for (reader_room room : {READER_SERVE, READER_PARKED, READER_CALLBACK}) {
        EXPECT_NE(reader_slot_take(registry_), record);
        let_go(record, room);
    }
    EXPECT_EQ(reader_slot_take(registry_), record);
}

TEST_F(Reader, InsideStateContainsNestingAndDisciplineButNotTheFlag)
{
    reader_record *record = world_.craft(0);
    EXPECT_EQ(reader_inside(record), 0u);
    world_.set_inside(record, 3);
    EXPECT_EQ(reader_inside(record), 3u);
    world_.set_inside(record, RTRCU_QSBR_ONLINE);
    EXPECT_EQ(reader_inside(record), static_cast<uint32_t>(RTRCU_QSBR_ONLINE));
    arm(record);
    EXPECT_EQ(reader_inside(record), static_cast<uint32_t>(RTRCU_QSBR_ONLINE)) << "the flag does not count as nesting";
}

TEST_F(Reader, ArmReturnsTrueIfTheFlagWasClear)
{
    reader_record *record = world_.craft(1);
    EXPECT_TRUE(arm(record));
    EXPECT_FALSE(arm(record));
    EXPECT_EQ(flag(record), RTRCU_FLAG_SPECIAL);
    EXPECT_EQ(reader_inside(record), 1u);
}

TEST_F(Reader, DeadlineThreadIsPublishedInItsDiscipline)
{
    reader_record *record = world_.craft(0);
    const uint32_t *shown = record->leaf->deadline, bit = reader_bit(record);
    EXPECT_FALSE(reader_deadline_is_online(world_.registry())) << "there is no deadline thread";
    world_.registry()->deadline_count = 1;
    EXPECT_FALSE(reader_deadline_is_online(world_.registry()));
    uint32_t *beside = &record->leaf->quiescent;
    rtrcu_store_relaxed(beside, reader_bit(record));
    reader_deadline_show(record, true, false);
    EXPECT_EQ(*beside, reader_bit(record)) << "the neighbouring word is unchanged";
    EXPECT_EQ(shown[0], bit);
    EXPECT_EQ(shown[1], 0u);
    EXPECT_TRUE(reader_deadline_is_online(world_.registry())) << "a preemptible deadline thread counts as online";
    reader_deadline_show(record, true, true);
    EXPECT_EQ(shown[0], 0u);
    EXPECT_EQ(shown[1], bit);
    EXPECT_FALSE(reader_deadline_is_online(world_.registry())) << "the deadline thread is offline";
    world_.set_inside(record, RTRCU_QSBR_ONLINE);
    EXPECT_TRUE(reader_deadline_is_online(world_.registry()));
    reader_deadline_show(record, false, true);
    EXPECT_EQ(shown[0] | shown[1], 0u);
    EXPECT_FALSE(reader_deadline_is_online(world_.registry()));
    world_.set_inside(record, 0);
}

TEST_F(Reader, OnlineDeadlineThreadIsFoundInAnyLeaf)
{
    reader_record *offline = world_.craft(0);
    world_.fill_last_leaf();
    reader_record *online = world_.craft(RTRCU_QSBR_ONLINE);
    ASSERT_NE(offline->leaf, online->leaf);
    registry_->deadline_count = 2;
    for (const reader_record *record : {offline, online})
        reader_deadline_show(record, true, true);
    EXPECT_TRUE(reader_deadline_is_online(registry_));
    world_.set_inside(online, 0);
    EXPECT_FALSE(reader_deadline_is_online(registry_));
}

TEST_F(Reader, OwnerDisarmsAndKeepsItsNesting)
{
    as_thread([&](reader_record *record) {
        ASSERT_FALSE(rtrcu_word_enter());
        EXPECT_TRUE(arm(record));
        EXPECT_TRUE(rtrcu_word_enter()) << "the lock sees the flag";
        EXPECT_TRUE(rtrcu_word_leave()) << "the unlock sees the flag";
        reader_slow_begin();
        reader_disarm(registry_);
        reader_slow_end();
        EXPECT_EQ(flag(record), RTRCU_FLAG_FAST);
        EXPECT_EQ(reader_inside(record), 1u);
        reader_arm_self();
        EXPECT_FALSE(arm(record)) << "the flag was set by the thread itself";
        reader_slow_begin();
        reader_disarm(registry_);
        reader_slow_end();
        EXPECT_FALSE(rtrcu_word_leave());
    });
}

/* The deepest nesting does not change the bits of the discipline and the flag. */
TEST_F(Reader, DeepNestingDoesNotReachTheFlag)
{
    as_thread([&](reader_record *record) {
        world_.set_inside(record, RTRCU_NESTING_MASK - 1);
        EXPECT_FALSE(rtrcu_word_enter());
        EXPECT_EQ(reader_inside(record), static_cast<uint32_t>(RTRCU_NESTING_MASK));
        EXPECT_EQ(flag(record), RTRCU_FLAG_FAST);
        world_.set_inside(record, 0);
    });
}

TEST_F(Reader, SectionsDoNotChangeTheUnregisteredFlag)
{
    std::thread([] {
        for (int i = 0; i < 5; i++)
            EXPECT_TRUE(rtrcu_word_enter());
        for (int i = 0; i < 5; i++)
            EXPECT_TRUE(rtrcu_word_leave());
        EXPECT_EQ(rtrcu_word_read() >> 24, RTRCU_FLAG_UNREGISTERED);
    }).join();
}

/* A thread's id is never 0, which marks a task that runs on no thread. */
TEST_F(Reader, ThreadKeepsItsUniqueNonzeroId)
{
    std::set<uint32_t> ids;
    for (int i = 0; i < 3; i++) {
        std::thread([&] {
            uint32_t id = reader_mount_id(registry_);
            EXPECT_NE(id, 0u);
            EXPECT_TRUE(ids.insert(id).second);
            EXPECT_EQ(reader_mount_id(registry_), id);
        }).join();
    }
}

/* reader_anonymous_leave() returns true to the last reader of a phase. */
TEST_F(Reader, LeaveReturnsTrueForTheLastReaderWithoutARecord)
{
    for (reader_phase group :
         {READER_PHASE_EVEN, READER_PHASE_EVEN, READER_PHASE_EVEN, READER_PHASE_ODD, READER_PHASE_ODD})
        reader_anonymous_enter(registry_, group);
    EXPECT_FALSE(reader_anonymous_leave(registry_, READER_PHASE_EVEN));
    EXPECT_FALSE(reader_anonymous_leave(registry_, READER_PHASE_EVEN));
    EXPECT_TRUE(reader_anonymous_leave(registry_, READER_PHASE_EVEN));
    EXPECT_FALSE(reader_anonymous_leave(registry_, READER_PHASE_ODD));
    EXPECT_TRUE(reader_anonymous_leave(registry_, READER_PHASE_ODD));
    reader_anonymous_enter(registry_, READER_PHASE_EVEN);
    registry_->anonymous_in
        [READER_PHASE_EVEN]++; /* another reader of this phase has raised only the first of its two counts */
    EXPECT_TRUE(reader_anonymous_leave(registry_, READER_PHASE_EVEN));
    EXPECT_EQ(registry_->anonymous, 0u);
}

TEST_F(Reader, StatisticsCoverAllLeaves)
{
    reader_record *first = world_.craft(0);
    world_.fill_last_leaf();
    reader_record *second = world_.craft(0);
    ASSERT_NE(first->leaf, second->leaf);
    first->leaf->scanned.slept.count = 2;
    second->leaf->scanned.slept.count = 3;
    first->leaf->scanned.woken.count = 20;
    second->leaf->scanned.woken.count = 30;
    first->slow_calls.count = 200;
    second->slow_calls.count = 300;
    struct rtrcu_stats stats = {};
    reader_stats(registry_, &stats);
    EXPECT_EQ(stats.threads_slept, 5u);
    EXPECT_EQ(stats.threads_woken, 50u);
    EXPECT_EQ(stats.slow_locks, 500u);
    EXPECT_EQ(stats.threads_registered, 2u);
}

/* ---- fork ---- */

TEST_F(Reader, ForkedChildKeepsOnlyTheForkingThreadsRecord)
{
    reader_record *gone = world_.craft(2);
    as_thread([&](reader_record *survivor) {
        registry_->anonymous = 5;
        registry_->anonymous_in[0] = registry_->anonymous_in[1] = 5;
        registry_->anonymous_phase = 9;
        registry_->fence_confirmer = 7;
        registry_->deadline_count = 3;
        uint32_t(&deadline)[2] = survivor->leaf->deadline;
        deadline[0] = deadline[1] = reader_bit(gone) | reader_bit(survivor);
        for (reader_record *record : {gone, survivor})
            record->boost = 77;
        survivor->thread_id = 12345; /* the number of the parent's thread */
        reader_lock(survivor->leaf); /* as the fork handler does */
        rtrcu_self.locks_held = 0;
        reader_after_fork_child(registry_, survivor);
        EXPECT_EQ(registry_->registered, 1u);
        EXPECT_EQ(registry_->anonymous, 0u);
        EXPECT_EQ(registry_->anonymous_in[0] | registry_->anonymous_in[1], 0u);
        EXPECT_EQ(registry_->anonymous_phase, 9u);
        EXPECT_EQ(registry_->fence_confirmer, 0u);
        EXPECT_EQ(registry_->deadline_count, 0u);
        for (uint32_t shown : deadline)
            EXPECT_EQ(shown, reader_bit(survivor)) << "the slot of the missing thread is cleared";
        EXPECT_TRUE(reader_is_registered(survivor));
        EXPECT_FALSE(reader_is_registered(gone));
        EXPECT_EQ(gone->self, nullptr);
        EXPECT_EQ(gone->cpu, nullptr) << "its memory belonged to a thread that does not exist";
        EXPECT_EQ(survivor->self, &rtrcu_self);
        EXPECT_EQ(survivor->thread_id, lock_thread_number())
            << "boosts and reports use the child's number of the thread";
        EXPECT_EQ(survivor->leaf->lock.word, 0u);
        for (const reader_record *record : {gone, survivor})
            EXPECT_EQ(record->boost, 0u) << "the booster does not exist, and no thread waits for it";
    });
}

TEST_F(Reader, ForkingThreadWithoutARecordIsCounted)
{
    world_.craft(0);
    for (uint32_t odd : {0u, 1u}) {
        std::thread([&] {
            rtrcu_self.state |= READER_STATE_ANONYMOUS | (odd ? READER_STATE_ODD : 0);
            /* counts of the parent, of readers that do not exist in the child */
            registry_->anonymous = registry_->anonymous_in[READER_PHASE_ODD] = 2;
            reader_after_fork_child(registry_, nullptr);
            rtrcu_self.state &= ~static_cast<uint32_t>(READER_STATE_ANONYMOUS | READER_STATE_ODD);
        }).join();
        EXPECT_EQ(registry_->registered, 0u);
        EXPECT_EQ(registry_->anonymous, 1u);
        EXPECT_EQ(registry_->anonymous_in[READER_PHASE_EVEN], odd ? 0u : 1u);
        EXPECT_EQ(registry_->anonymous_in[READER_PHASE_ODD], odd ? 1u : 0u);
    }
}

} // namespace
