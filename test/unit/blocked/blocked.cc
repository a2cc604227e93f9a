/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists of blocked tasks: the placement table row by row, boundaries that move, promotion that keeps who waits for
 * whom.
 */
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

struct Row {
    const char *state; /* g/G: normal boundary, e/E: expedited one; t: normal waits for the thread, x: expedited does */
    enum blocked_place place;
};

unsigned int bits(const char *state)
{
    unsigned int result = 0;
    for (const char *at = state; *at; at++) {
        switch (*at) {
        case 'G':
            result |= BLOCKED_GP_TASKS;
            break;
        case 'E':
            result |= BLOCKED_EXP_TASKS;
            break;
        case 't':
            result |= BLOCKED_GP_THREAD;
            break;
        case 'x':
            result |= BLOCKED_EXP_THREAD;
            break;
        }
    }
    return result;
}

/* All sixteen, said again here in other words than the switch says them. */
const Row rows[] = {
    {"", BLOCKED_AT_HEAD},      {"E", BLOCKED_AT_HEAD},     {"Et", BLOCKED_AT_HEAD},   {"G", BLOCKED_AT_HEAD},
    {"GE", BLOCKED_AT_HEAD},    {"x", BLOCKED_AT_TAIL},     {"t", BLOCKED_AT_TAIL},    {"tx", BLOCKED_AT_TAIL},
    {"Gx", BLOCKED_AT_TAIL},    {"Gtx", BLOCKED_AT_TAIL},   {"GEtx", BLOCKED_AT_TAIL}, {"Ex", BLOCKED_AFTER_EXP},
    {"Etx", BLOCKED_AFTER_EXP}, {"GEx", BLOCKED_AFTER_EXP}, {"Gt", BLOCKED_AFTER_GP},  {"GEt", BLOCKED_AFTER_GP},
};

TEST(Place, HasEveryRowOnce)
{
    unsigned int seen = 0;
    for (const Row &row : rows) {
        EXPECT_EQ(blocked_place(bits(row.state)), row.place) << "row {" << row.state << "}";
        seen |= 1u << bits(row.state);
    }
    EXPECT_EQ(seen, 0xffffu);
}

class Blocked : public testing::Test
{
  protected:
    test::World world_;
    reader_record *record_ = world_.craft(0);
    reader_leaf *leaf_ = record_->leaf;
    rcu_task task_[8] = {};

    void SetUp() override
    {
        lock_acquire(&leaf_->lock);
    }
    void TearDown() override
    {
        lock_release(&leaf_->lock);
    }
    bool waited(int i) const
    {
        return blocked_is_waited_for(&task_[i]);
    }
    std::vector<int> order() const
    {
        std::vector<int> result;
        for (rtrcu_link *link = leaf_->tasks.next; link != &leaf_->tasks; link = link->next)
            result.push_back(static_cast<int>(container_of(link, rcu_task, link) - task_));
        return result;
    }
};

TEST_F(Blocked, NobodyWaitsForATaskThatParksWhileNothingGoesOn)
{
    EXPECT_EQ(blocked_add_to_leaf(leaf_, &task_[0], 0), 0u);
    EXPECT_FALSE(waited(0));
    EXPECT_EQ(leaf_->parked, 1u);
}

TEST_F(Blocked, ABeginWaitsForAllThatAreThereAndForNoneThatComeLater)
{
    blocked_add_to_leaf(leaf_, &task_[0], 0);
    blocked_add_to_leaf(leaf_, &task_[1], 0);
    EXPECT_TRUE(blocked_begin(leaf_, 0));
    blocked_add_to_leaf(leaf_, &task_[2], 0);
    EXPECT_TRUE(waited(0) && waited(1));
    EXPECT_FALSE(waited(2));
    EXPECT_EQ(blocked_remove_from_leaf(leaf_, &task_[1]), 0u);
    EXPECT_EQ(blocked_remove_from_leaf(leaf_, &task_[0]), 1u) << "the last one that the normal kind waited for";
    EXPECT_EQ(leaf_->boundary[0], nullptr);
    EXPECT_EQ(order(), std::vector<int>{2});
}

TEST_F(Blocked, ATaskOfAThreadThatIsWaitedForIsWaitedForWithIt)
{
    EXPECT_EQ(blocked_add_to_leaf(leaf_, &task_[0], BLOCKED_GP_THREAD), 1u);
    EXPECT_EQ(blocked_add_to_leaf(leaf_, &task_[1], BLOCKED_GP_THREAD), 0u) << "the boundary stands already";
    EXPECT_TRUE(waited(0) && waited(1));
    EXPECT_EQ(blocked_add_to_leaf(leaf_, &task_[2], BLOCKED_EXP_THREAD), 2u);
    EXPECT_EQ(blocked_remove_from_leaf(leaf_, &task_[2]), 2u);
    EXPECT_EQ(blocked_remove_from_leaf(leaf_, &task_[0]), 0u);
    EXPECT_EQ(blocked_remove_from_leaf(leaf_, &task_[1]), 1u);
}

/* Every row: what a grace period must wait for, it waits for, whatever was on the list before. */
TEST_F(Blocked, NoRowMissesAKindThatWaitsForTheThread)
{
    for (const Row &row : rows) {
        unsigned int state = bits(row.state), threads = state & (BLOCKED_GP_THREAD | BLOCKED_EXP_THREAD);
        rcu_task before[2] = {}, task = {};
        if (state & BLOCKED_GP_TASKS)
            blocked_add_to_leaf(leaf_, &before[0], BLOCKED_GP_THREAD);
        if (state & BLOCKED_EXP_TASKS)
            blocked_add_to_leaf(leaf_, &before[1], BLOCKED_EXP_THREAD);
        blocked_add_to_leaf(leaf_, &task, threads);
        if (threads & BLOCKED_GP_THREAD) {
            EXPECT_GE(task.position, leaf_->boundary_position[0]) << row.state;
        }
        if (threads & BLOCKED_EXP_THREAD) {
            EXPECT_GE(task.position, leaf_->boundary_position[1]) << row.state;
        }
        blocked_remove_from_leaf(leaf_, &task);
        for (rcu_task &other : before) {
            if (other.where == BLOCKED_ON_LEAF)
                blocked_remove_from_leaf(leaf_, &other);
        }
        EXPECT_EQ(leaf_->boundary[0], nullptr);
        EXPECT_EQ(leaf_->boundary[1], nullptr);
    }
}

TEST_F(Blocked, PromotionEmptiesTheThreadsList)
{
    for (int i = 0; i < 3; i++)
        blocked_add_to_thread(record_, &task_[i]);
    EXPECT_EQ(record_->parked, 3u);
    while (record_->parked) {
        uint32_t moved = 0, before = record_->parked;
        EXPECT_EQ(blocked_promote(record_, 0, &moved), 0u);
        EXPECT_GE(moved, 1u);
        EXPECT_LE(moved, static_cast<uint32_t>(BLOCKED_PROMOTE_MAX)) << "one hold of the lock";
        blocked_promoted(record_, moved);
        EXPECT_EQ(record_->parked, before - moved);
    }
    EXPECT_EQ(leaf_->parked, 3u);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(task_[i].where, (uint32_t)BLOCKED_ON_LEAF);
        EXPECT_FALSE(blocked_remove_from_thread(&task_[i])) << "it is not there any more";
    }
}

TEST_F(Blocked, PromotionOfAThreadThatIsWaitedForSetsTheBoundary)
{
    blocked_add_to_thread(record_, &task_[0]);
    uint32_t moved = 0;
    EXPECT_EQ(blocked_promote(record_, BLOCKED_GP_THREAD | BLOCKED_EXP_THREAD, &moved), 3u);
    blocked_promoted(record_, moved);
    EXPECT_TRUE(waited(0));
    EXPECT_EQ(blocked_remove_from_leaf(leaf_, &task_[0]), 3u);
}

/* The owner clears its bit without the leaf lock if its record says "none parked".  Said too early, before the leaf's
 * word has the flag of what was promoted, a grace period of another kind would end over the parked task. */
TEST_F(Blocked, TheRecordSaysNoneParkedOnlyWhenTheFlagsAreSet)
{
    uint32_t moved = 0;
    blocked_add_to_thread(record_, &task_[0]);
    EXPECT_EQ(blocked_promote(record_, BLOCKED_GP_THREAD, &moved), 1u);
    EXPECT_EQ(record_->parked, 1u) << "whoever promotes has not set the flag yet";
    blocked_add_to_thread(record_, &task_[1]);
    blocked_promoted(record_, moved);
    EXPECT_EQ(record_->parked, 1u) << "parked meanwhile";
    EXPECT_TRUE(blocked_remove_from_thread(&task_[1]));
    EXPECT_EQ(blocked_remove_from_leaf(leaf_, &task_[0]), 1u);
}

TEST_F(Blocked, ATaskOnTheThreadsListLeavesItAlone)
{
    blocked_add_to_thread(record_, &task_[0]);
    blocked_add_to_thread(record_, &task_[1]);
    EXPECT_TRUE(blocked_remove_from_thread(&task_[0]));
    EXPECT_EQ(task_[0].where, (uint32_t)BLOCKED_NOWHERE);
    EXPECT_EQ(record_->parked, 1u);
    EXPECT_FALSE(blocked_remove_from_thread(&task_[0]));
}

TEST_F(Blocked, AForksChildDropsWhatIsMountedElsewhere)
{
    blocked_add_to_leaf(leaf_, &task_[0], BLOCKED_GP_THREAD);
    blocked_add_to_leaf(leaf_, &task_[1], 0);
    blocked_add_to_thread(record_, &task_[2]);
    task_[0].mounted = 4711;
    task_[2].mounted = 17;
    rtrcu_self.mount_id = 17;
    blocked_after_fork(leaf_);
    rtrcu_self.mount_id = 0;
    EXPECT_EQ(task_[0].where, (uint32_t)BLOCKED_NOWHERE);
    EXPECT_EQ(order(), (std::vector<int>{2, 1})) << "2 is mounted on the forking thread";
    EXPECT_EQ(leaf_->boundary[0], nullptr);
    EXPECT_EQ(leaf_->parked, 2u);
    EXPECT_EQ(record_->parked, 0u) << "the child looks at no list of another thread";
}

TEST(BlockedTask, IsSmall)
{
    EXPECT_LE(sizeof(rcu_task), 128u);
}

} // namespace
