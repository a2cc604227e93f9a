/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of lists of parked tasks: the placement table, boundaries, and promotion. */
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

struct Row {
    const char *state; /* G, E: the list has a normal, expedited boundary; t, x: that kind waits for the thread */
    enum parked_place place;
};

constexpr reader_kinds NONE = {0}, NORMAL = {1}, EXPEDITED = {2}, BOTH = {3};

/* The kinds of grace period whose letter, @normal or @expedited, is in @state. */
reader_kinds kinds(const char *state, char normal, char expedited)
{
    return {(strchr(state, normal) ? 1u : 0u) | (strchr(state, expedited) ? 2u : 0u)};
}
reader_kinds tasks(const Row &row)
{
    return kinds(row.state, 'G', 'E');
}
reader_kinds thread(const Row &row)
{
    return kinds(row.state, 't', 'x');
}

/* The sixteen rows, written independently of the switch in parked_place(). */
const Row rows[] = {
    {"", PARKED_AT_HEAD},      {"E", PARKED_AT_HEAD},     {"Et", PARKED_AT_HEAD},   {"G", PARKED_AT_HEAD},
    {"GE", PARKED_AT_HEAD},    {"x", PARKED_AT_TAIL},     {"t", PARKED_AT_TAIL},    {"tx", PARKED_AT_TAIL},
    {"Gx", PARKED_AT_TAIL},    {"Gtx", PARKED_AT_TAIL},   {"GEtx", PARKED_AT_TAIL}, {"Ex", PARKED_AFTER_EXP},
    {"Etx", PARKED_AFTER_EXP}, {"GEx", PARKED_AFTER_EXP}, {"Gt", PARKED_AFTER_GP},  {"GEt", PARKED_AFTER_GP},
};

TEST(Place, EveryStateOfLeafAndThreadGivesTheDocumentedPlace)
{
    unsigned int seen = 0;
    for (const Row &row : rows) {
        EXPECT_EQ(parked_place(tasks(row), thread(row)), row.place) << "row {" << row.state << "}";
        seen |= 1u << (tasks(row).bits | thread(row).bits << 2);
    }
    EXPECT_EQ(seen, 0xffffu);
}

/* The query clears the bit of a thread whose list it finds empty. */
TEST(Holders, HoldersAreSlotsWithNonEmptyTaskLists)
{
    test::World world;
    reader_record *record = world.craft(0);
    uint32_t *holders = &parked_leaf(reader_leaf_of(record))->holders;
    for (uint32_t count : {1u, 0u}) {
        *holders = reader_bit(record);
        parked_slot(record)->count = count;
        reader_lock(record->leaf);
        parked_holds_nothing(record);
        reader_unlock(record->leaf);
        EXPECT_EQ(*holders != 0, count != 0);
    }
}

/* The child has no other thread, so it moves all tasks that it keeps to the leaf's list. */
TEST(ParkedFork, ForksChildMovesKeptTasksToTheLeafsList)
{
    constexpr uint32_t elsewhere = 0x7ffffff0;
    for (uint32_t stay : {0u, 1u, 2u, 3u}) {
        test::World world;
        reader_record *record = world.craft(0);
        reader_leaf *leaf = record->leaf;
        rcu_task on_thread = {}, on_leaf = {};
        on_thread.mounted = stay & 1 ? 0 : elsewhere;
        on_leaf.mounted = stay & 2 ? 0 : elsewhere;
        reader_lock(leaf);
        parked_add_to_leaf(leaf, &on_leaf, BOTH);
        reader_unlock(leaf);
        parked_add_to_thread(record, &on_thread);
        EXPECT_NE(parked_holders(leaf), 0u);
        reader_after_fork_child(world.registry(), nullptr);
        parked_after_fork_child(world.registry());
        EXPECT_EQ(parked_holders(leaf), 0u) << "no scan needs to request a report";
        EXPECT_EQ(parked_on_thread(record), 0u);
        EXPECT_EQ(parked_on_leaf(leaf), (stay & 1) + (stay >> 1));
        EXPECT_EQ(parked_anywhere(world.registry()), stay != 0);
        EXPECT_EQ(leaf->scanned.listed, stay != 0) << "scans visit the leaf";
        for (const rcu_task *task : {&on_thread, &on_leaf}) {
            bool stays = task->mounted == 0;
            EXPECT_EQ(task->where, static_cast<uint32_t>(stays ? PARKED_ON_LEAF : PARKED_NOWHERE));
            EXPECT_EQ(task->leaf, stays ? leaf : nullptr);
            EXPECT_EQ(task->record, nullptr);
            EXPECT_FALSE(parked_is_waited_for(task));
        }
        reader_lock(leaf);
        EXPECT_EQ(parked_begin(leaf, GP_NORMAL), stay != 0);
        reader_unlock(leaf);
    }
}

/* The holder does not exist in the child, where a thread that needs the lock would wait for ever. */
TEST(ParkedFork, ForksChildResetsTheTaskLocksOfAMissingThread)
{
    constexpr uint32_t elsewhere = 0x3ffffff0;
    test::World world;
    reader_record *record = world.craft(0);
    struct parked_leaf *part = parked_leaf(record->leaf);
    for (lock *held : {&part->counted.lock, &part->slot[1].lock})
        rtrcu_store_relaxed(&held->word, elsewhere);
    parked_after_fork_child(world.registry());
    for (lock *held : {&part->counted.lock, &part->slot[1].lock}) {
        ASSERT_TRUE(lock_try(held));
        lock_release(held);
    }
    rcu_task task = {};
    parked_add_counted(world.registry(), &task, READER_PHASE_ODD);
    EXPECT_EQ(parked_remove_counted(world.registry(), &task), static_cast<uint32_t>(PARKED_COUNTED_ODD));
}

class Parked : public testing::Test
{
  protected:
    test::World world_;
    reader_record *record_ = world_.craft(0);
    reader_leaf *leaf_ = record_->leaf;
    struct parked_leaf *part_ = ::parked_leaf(leaf_);
    rcu_task task_[8] = {};

    unsigned int promote(reader_kinds thread, uint32_t *moved)
    {
        parked_lock_list(record_);
        unsigned int fresh = parked_promote(record_, thread, moved).bits;
        parked_unlock_list(record_);
        return fresh;
    }
    void SetUp() override
    {
        reader_lock(leaf_);
    }
    void TearDown() override
    {
        reader_unlock(leaf_);
    }
    bool waited(int i) const
    {
        return parked_is_waited_for(&task_[i]);
    }
    std::vector<int> order() const
    {
        std::vector<int> result;
        for (rtrcu_link *link = part_->tasks.next; link != &part_->tasks; link = link->next)
            result.push_back(static_cast<int>(container_of(link, rcu_task, link) - task_));
        return result;
    }
};

TEST_F(Parked, TaskParkedBetweenGracePeriodsIsNotWaitedFor)
{
    EXPECT_EQ(parked_add_to_leaf(leaf_, &task_[0], NONE).bits, 0u);
    EXPECT_FALSE(waited(0));
    EXPECT_EQ(part_->count, 1u);
}

TEST_F(Parked, GracePeriodWaitsOnlyForTasksParkedBeforeItsBegin)
{
    parked_add_to_leaf(leaf_, &task_[0], NONE);
    parked_add_to_leaf(leaf_, &task_[1], NONE);
    EXPECT_TRUE(parked_begin(leaf_, 0));
    parked_add_to_leaf(leaf_, &task_[2], NONE);
    EXPECT_TRUE(waited(0) && waited(1));
    EXPECT_FALSE(waited(2));
    EXPECT_EQ(parked_remove_from_leaf(leaf_, &task_[1]).bits, 0u);
    EXPECT_EQ(parked_remove_from_leaf(leaf_, &task_[0]).bits, 1u)
        << "it was the last task that the normal kind waited for";
    EXPECT_EQ(part_->boundary[0], nullptr);
    EXPECT_EQ(order(), std::vector<int>{2});
}

TEST_F(Parked, TaskOfAHoldoutIsWaitedFor)
{
    EXPECT_EQ(parked_add_to_leaf(leaf_, &task_[0], NORMAL).bits, 1u);
    EXPECT_EQ(parked_add_to_leaf(leaf_, &task_[1], NORMAL).bits, 0u) << "the boundary is set already";
    EXPECT_TRUE(waited(0) && waited(1));
    EXPECT_EQ(parked_add_to_leaf(leaf_, &task_[2], EXPEDITED).bits, 2u);
    EXPECT_EQ(parked_remove_from_leaf(leaf_, &task_[2]).bits, 2u);
    EXPECT_EQ(parked_remove_from_leaf(leaf_, &task_[0]).bits, 0u);
    EXPECT_EQ(parked_remove_from_leaf(leaf_, &task_[1]).bits, 1u);
}

/* In every row of the table, each kind that waits for the thread also waits for its task. */
TEST_F(Parked, TaskOfAHoldoutIsWaitedForInEveryStateOfTheLeaf)
{
    for (const Row &row : rows) {
        rcu_task before[2] = {}, task = {};
        if (reader_kinds_has(tasks(row), 0))
            parked_add_to_leaf(leaf_, &before[0], NORMAL);
        if (reader_kinds_has(tasks(row), 1))
            parked_add_to_leaf(leaf_, &before[1], EXPEDITED);
        parked_add_to_leaf(leaf_, &task, thread(row));
        if (reader_kinds_has(thread(row), 0)) {
            EXPECT_GE(task.position, part_->boundary_position[0]) << row.state;
        }
        if (reader_kinds_has(thread(row), 1)) {
            EXPECT_GE(task.position, part_->boundary_position[1]) << row.state;
        }
        parked_remove_from_leaf(leaf_, &task);
        for (rcu_task &other : before) {
            if (other.where == PARKED_ON_LEAF)
                parked_remove_from_leaf(leaf_, &other);
        }
        EXPECT_EQ(part_->boundary[0], nullptr);
        EXPECT_EQ(part_->boundary[1], nullptr);
    }
}

TEST_F(Parked, PromotionEmptiesTheThreadsList)
{
    for (int i = 0; i < 3; i++)
        parked_add_to_thread(record_, &task_[i]);
    EXPECT_EQ(parked_slot(record_)->count, 3u);
    while (parked_slot(record_)->count) {
        uint32_t moved = 0, before = parked_slot(record_)->count;
        EXPECT_EQ(promote(NONE, &moved), 0u);
        EXPECT_GE(moved, 1u);
        EXPECT_LE(moved, static_cast<uint32_t>(PARKED_PROMOTE_MAX)) << "the limit for one hold of the lock";
        parked_promoted(record_, moved);
        EXPECT_EQ(parked_slot(record_)->count, before - moved);
    }
    EXPECT_EQ(part_->count, 3u);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(task_[i].where, (uint32_t)PARKED_ON_LEAF);
        EXPECT_FALSE(parked_remove_from_thread(&task_[i])) << "the task has left the thread's list";
    }
}

TEST_F(Parked, PromotionOfAHoldoutSetsTheBoundary)
{
    parked_add_to_thread(record_, &task_[0]);
    uint32_t moved = 0;
    EXPECT_EQ(promote(BOTH, &moved), 3u);
    parked_promoted(record_, moved);
    EXPECT_TRUE(waited(0));
    EXPECT_EQ(parked_remove_from_leaf(leaf_, &task_[0]).bits, 3u);
}

/* The owner clears its bit without the leaf lock if its record shows no parked tasks.  So a promotion sets the flag of
 * tasks in the leaf's word first; otherwise a grace period could end despite a parked task. */
TEST_F(Parked, RecordShowsNoTasksOnlyAfterTheFlagsAreSet)
{
    uint32_t moved = 0;
    parked_add_to_thread(record_, &task_[0]);
    EXPECT_EQ(promote(NORMAL, &moved), 1u);
    EXPECT_EQ(parked_slot(record_)->count, 1u) << "the promoting thread has not set the flag yet";
    parked_add_to_thread(record_, &task_[1]);
    parked_promoted(record_, moved);
    EXPECT_EQ(parked_slot(record_)->count, 1u) << "the second task was parked meanwhile";
    EXPECT_TRUE(parked_remove_from_thread(&task_[1]));
    EXPECT_EQ(parked_remove_from_leaf(leaf_, &task_[0]).bits, 1u);
}

TEST_F(Parked, TaskIsRemovedFromTheThreadsListWithoutTheLeafLock)
{
    parked_add_to_thread(record_, &task_[0]);
    parked_add_to_thread(record_, &task_[1]);
    EXPECT_TRUE(parked_remove_from_thread(&task_[0]));
    EXPECT_EQ(task_[0].where, (uint32_t)PARKED_NOWHERE);
    EXPECT_EQ(parked_slot(record_)->count, 1u);
    EXPECT_FALSE(parked_remove_from_thread(&task_[0]));
}

TEST_F(Parked, ForksChildDropsTasksMountedOnOtherThreads)
{
    parked_add_to_leaf(leaf_, &task_[0], NORMAL);
    parked_add_to_leaf(leaf_, &task_[1], NONE);
    parked_add_to_thread(record_, &task_[2]);
    task_[0].mounted = 4711;
    task_[2].mounted = 17;
    rtrcu_self.mount_id = 17;
    reader_unlock(leaf_);
    parked_after_fork_child(world_.registry());
    reader_lock(leaf_);
    rtrcu_self.mount_id = 0;
    EXPECT_EQ(task_[0].where, (uint32_t)PARKED_NOWHERE);
    EXPECT_EQ(order(), (std::vector<int>{1, 2})) << "task 2 is mounted on the forking thread";
    EXPECT_EQ(part_->boundary[0], nullptr);
    EXPECT_EQ(part_->count, 2u);
    EXPECT_EQ(parked_slot(record_)->count, 0u) << "the child has emptied the thread's list";
}

/* The child marks a leaf for scans if parked tasks are on the leaf's list. */
TEST_F(Parked, ForksChildListsKeptTasks)
{
    parked_add_to_leaf(leaf_, &task_[0], NONE);
    reader_unlock(leaf_);
    leaf_->scanned.listed = 0; /* as reader_after_fork_child() does */
    parked_after_fork_child(world_.registry());
    EXPECT_EQ(part_->count, 1u);
    EXPECT_TRUE(leaf_->scanned.listed);
    reader_lock(leaf_);
    EXPECT_EQ(parked_remove_from_leaf(leaf_, &task_[0]).bits, 0u);
    reader_unlock(leaf_);
    parked_after_fork_child(world_.registry());
    EXPECT_FALSE(leaf_->scanned.listed);
    reader_lock(leaf_);
}

/* The child clears `moving`, since its own child must not find a task there that has ended. */
TEST_F(Parked, ForksChildListsTheTaskBeingPromoted)
{
    part_->moving = &task_[0];
    reader_unlock(leaf_);
    parked_after_fork_child(world_.registry());
    reader_lock(leaf_);
    EXPECT_EQ(part_->moving, nullptr);
    EXPECT_EQ(part_->count, 1u);
    EXPECT_EQ(parked_remove_from_leaf(leaf_, &task_[0]).bits, 0u);
    reader_unlock(leaf_);
    parked_after_fork_child(world_.registry());
    EXPECT_EQ(part_->count, 0u);
    reader_lock(leaf_);
}

TEST(ParkedTask, TaskHasAtMost128Bytes)
{
    EXPECT_LE(sizeof(rcu_task), 128u);
}

} // namespace
