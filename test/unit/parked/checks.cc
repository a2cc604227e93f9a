/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the checks of debug builds on lists of parked tasks, and of queries about parked tasks. */
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

constexpr reader_kinds none = {0};

class ParkedDeathTest : public testing::Test
{
  protected:
    using Calls = std::vector<std::pair<const char *, std::function<void()>>>;

    test::World world_;
    reader_record *record_ = world_.craft(0);
    reader_leaf *leaf_ = record_->leaf;
    rcu_task on_leaf_ = {}, on_thread_ = {}, counted_ = {}, fresh_ = {};

    void SetUp() override
    {
        if (!CHECK_DEBUG)
            GTEST_SKIP() << "only debug builds check";
        reader_lock(leaf_);
        parked_add_to_leaf(leaf_, &on_leaf_, none);
        reader_unlock(leaf_);
        parked_add_to_thread(record_, &on_thread_);
        parked_add_counted(world_.registry(), &counted_, READER_PHASE_ODD);
    }
};

TEST_F(ParkedDeathTest, LeafsListChangesOnlyUnderItsLock)
{
    uint32_t moved = 0;
    reader_record *empty = world_.craft(0);
    const Calls calls = {
        {"holds nothing", [&] { parked_holds_nothing(record_); }},
        {"follow", [&] { (void)parked_follow_on_leaf(leaf_, &on_leaf_, &fresh_); }},
        {"add", [&] { (void)parked_add_to_leaf(leaf_, &fresh_, none); }},
        {"promote", [&] { (void)parked_promote(empty, none, &moved); }},
        {"promoted", [&] { parked_promoted(empty, 0); }},
        {"begin", [&] { (void)parked_begin(leaf_, GP_NORMAL); }},
        {"first", [&] { (void)parked_first_waited_for(leaf_, GP_NORMAL); }},
        {"remove", [&] { (void)parked_remove_from_leaf(leaf_, &on_leaf_); }},
    };
    for (const auto &[name, call] : calls)
        EXPECT_DEATH(call(), "check failed: lock_is_mine") << name;
}

/* Each case takes the lock itself: a death test runs in a fork's child, where the locks of its parent are not held. */
TEST_F(ParkedDeathTest, OtherListsChangeOnlyUnderTheirLock)
{
    lock held;
    lock_init(&held, LOCK_RANK_TASKS);
    const Calls calls = {
        {"holds nothing", [&] { parked_holds_nothing(record_); }},
        {"add", [&] { parked_add_to_thread(record_, &fresh_); }},
        {"follow", [&] { (void)parked_follow_on_thread(&on_thread_, &fresh_); }},
        {"hold", [&] { parked_lock_list(record_); }},
        {"promoted", [&] { parked_promoted(record_, 1); }},
        {"remove", [&] { (void)parked_remove_from_thread(&on_thread_); }},
        {"count", [&] { parked_add_counted(world_.registry(), &fresh_, READER_PHASE_EVEN); }},
        {"uncount", [&] { (void)parked_remove_counted(world_.registry(), &counted_); }},
    };
    for (const auto &[name, call] : calls)
        EXPECT_DEATH((reader_lock(leaf_), lock_acquire(&held), call()), "lock of rank") << name;
}

TEST_F(ParkedDeathTest, BeginWithAnOldBoundaryIsRefused)
{
    EXPECT_DEATH((reader_lock(leaf_), parked_begin(leaf_, GP_NORMAL), parked_begin(leaf_, GP_NORMAL)), "INV-BL1");
}

TEST_F(ParkedDeathTest, PositionsDoNotDecreaseAlongTheList)
{
    rcu_task behind = {};
    reader_lock(leaf_);
    (void)parked_follow_on_leaf(leaf_, &on_leaf_, &behind);
    reader_unlock(leaf_);
    behind.position--;
    EXPECT_DEATH((reader_lock(leaf_), (void)parked_remove_from_leaf(leaf_, &on_leaf_)), "INV-BL2");
}

/* ---- queries: which threads have parked tasks ---- */

TEST(Parking, QueriesFindATaskOnAnyLeafsList)
{
    test::World world;
    reader_record *record = world.craft(0);
    world.fill_last_leaf();
    reader_record *far = world.craft(0);
    for (reader_record *at : {record, far}) {
        rcu_task task = {};
        EXPECT_FALSE(parked_any(world.registry()));
        EXPECT_FALSE(parked_anywhere(world.registry()));
        reader_lock(at->leaf);
        parked_add_to_leaf(at->leaf, &task, none);
        EXPECT_TRUE(parked_any(world.registry()));
        EXPECT_TRUE(parked_anywhere(world.registry()));
        EXPECT_EQ(parked_first_waited_for(at->leaf, GP_NORMAL), nullptr);
        EXPECT_TRUE(parked_begin(at->leaf, GP_NORMAL));
        EXPECT_EQ(parked_first_waited_for(at->leaf, GP_NORMAL), &task);
        EXPECT_EQ(parked_first_waited_for(at->leaf, GP_EXPEDITED), nullptr);
        EXPECT_EQ(parked_next(at->leaf, &task), nullptr);
        parked_remove_from_leaf(at->leaf, &task);
        reader_unlock(at->leaf);
    }
    EXPECT_FALSE(parked_any(world.registry()));
    EXPECT_FALSE(parked_anywhere(world.registry()));
}

TEST(Parking, TaskOnAnotherThreadsListIsFoundOnlyByParkedAnywhere)
{
    test::World world;
    rcu_task task = {};
    reader_record *other = world.craft(0);
    parked_add_to_thread(other, &task);
    EXPECT_EQ(parked_holders(other->leaf), reader_bit(other));
    EXPECT_FALSE(parked_any(world.registry())) << "the task is on another thread's list";
    EXPECT_TRUE(parked_anywhere(world.registry()));
    EXPECT_TRUE(parked_remove_from_thread(&task));
    EXPECT_FALSE(parked_anywhere(world.registry()));
    std::thread([&] {
        reader_record *self = reader_slot_take(world.registry());
        test::publish(world.registry(), self, &rtrcu_self);
        EXPECT_FALSE(parked_any(world.registry()));
        parked_add_to_thread(self, &task);
        EXPECT_TRUE(parked_any(world.registry()));
        EXPECT_TRUE(parked_remove_from_thread(&task));
        EXPECT_FALSE(parked_any(world.registry()));
        world.withdraw(self);
    }).join();
}

TEST(Parking, CountedTaskIsFoundInItsPhase)
{
    test::World world;
    reader_registry *registry = world.registry();
    for (reader_phase group : {READER_PHASE_EVEN, READER_PHASE_ODD}) {
        rcu_task task = {}, other = {};
        parked_add_counted(registry, &task, group);
        parked_add_counted(registry, &other, group);
        EXPECT_TRUE(parked_is_counted(task.where));
        EXPECT_EQ(parked_phase(task.where), group);
        EXPECT_TRUE(parked_is_waited_for(&task)) << "a grace period may wait for a counted task";
        EXPECT_FALSE(parked_anywhere(registry))
            << "the query reads the registry's count, which this test has not raised";
        uint32_t where = task.where;
        EXPECT_EQ(parked_remove_counted(registry, &task), where);
        EXPECT_EQ(parked_remove_counted(registry, &task), static_cast<uint32_t>(PARKED_NOWHERE))
            << "a task is removed once";
        EXPECT_TRUE(parked_is_counted(other.where)) << "the other task stays";
        (void)parked_remove_counted(registry, &other);
        reader_anonymous_enter(registry, group);
        EXPECT_TRUE(parked_anywhere(registry));
        (void)reader_anonymous_leave(registry, group);
    }
    const rtrcu_link *head = &parked_leaf(reader_leaf_at(registry, 0))->counted.tasks;
    EXPECT_EQ(head->next, head);
}

/* A grace period that waits for a section also waits for the task that takes the section over. */
TEST(Parking, TaskThatTakesOverIsListedDirectlyAfterThePreviousTask)
{
    test::World world;
    reader_record *record = world.craft(0);
    rcu_task first = {}, last = {}, between = {}, alone = {};
    EXPECT_FALSE(parked_follow_on_thread(&alone, &between)) << "the first task is on no list";
    parked_add_to_thread(record, &first);
    parked_add_to_thread(record, &last);
    EXPECT_TRUE(parked_follow_on_thread(&first, &between));
    EXPECT_EQ(first.link.next, &between.link);
    EXPECT_EQ(between.link.next, &last.link);
    EXPECT_EQ(between.record, record);
    EXPECT_EQ(between.where, static_cast<uint32_t>(PARKED_ON_THREAD));
    EXPECT_EQ(parked_on_thread(record), 3u);
    for (rcu_task *task : {&first, &between, &last})
        EXPECT_TRUE(parked_remove_from_thread(task));
    EXPECT_EQ(parked_on_thread(record), 0u);

    rcu_task old = {}, waited = {}, follower = {};
    reader_lock(record->leaf);
    parked_add_to_leaf(record->leaf, &waited, {2});
    parked_add_to_leaf(record->leaf, &old, none);
    EXPECT_EQ(parked_follow_on_leaf(record->leaf, &waited, &follower).bits, 2u);
    EXPECT_EQ(parked_follow_on_leaf(record->leaf, &old, &between).bits, 0u);
    EXPECT_EQ(follower.position, waited.position);
    EXPECT_EQ(parked_next(record->leaf, &waited), &follower);
    EXPECT_EQ(parked_next(record->leaf, &old), &between);
    EXPECT_EQ(parked_on_leaf(record->leaf), 4u);
    EXPECT_EQ(parked_remove_from_leaf(record->leaf, &waited).bits, 0u);
    EXPECT_TRUE(parked_is_waited_for(&follower));
    EXPECT_FALSE(parked_is_waited_for(&between));
    EXPECT_EQ(parked_remove_from_leaf(record->leaf, &follower).bits, 2u)
        << "it was the last task that the expedited kind waited for";
    (void)parked_remove_from_leaf(record->leaf, &old);
    (void)parked_remove_from_leaf(record->leaf, &between);
    EXPECT_EQ(parked_on_leaf(record->leaf), 0u);
    reader_unlock(record->leaf);
}

} // namespace
