/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of readers of a liburcu flavour that register, unregister and exit. */
#include <functional>
#include <thread>
#include <vector>

#include "../../support/no_memory.h"
#include "../../support/variant.h"
#include "world.h"

namespace
{

using Words = AdoptWorld;

/* An ordinary thread may reuse the block of a server's thread. */
TEST_F(Words, BlockIsResetForItsNextThread)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_BP);
    ASSERT_TRUE(urcu_register(adopted));
    rtrcu_adopted_reader *self = urcu_self(adopted);
    self->in_callbacks = 1;
    self->server = &adopted->ordinary;
    urcu_unregister(adopted);
    ASSERT_TRUE(urcu_register(adopted));
    ASSERT_EQ(urcu_self(adopted), self);
    EXPECT_EQ(self->in_callbacks, 0U);
    EXPECT_EQ(self->server, nullptr);
    urcu_unregister(adopted);
}

/* `waiting` is cleared, or the thread's next quiescent state would make a needless wake-up. */
TEST_F(Words, UnregisteringWakesTheSleeperAndClearsTheRequest)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_QSBR);
    ASSERT_TRUE(urcu_register(adopted));
    block()->waiting = 1;
    sleeper_ = UINT32_MAX;
    urcu_unregister(adopted);
    EXPECT_EQ(block()->waiting, 0u);
    EXPECT_EQ(block()->word, 0u);
    EXPECT_EQ(sleeper_, 0u) << "unregistering wakes the sleeper";
}

/* The count of destructor rounds restarts, for a thread that registers again in a destructor. */
TEST_F(Words, UnregisteringRestartsTheCountOfDestructorRounds)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_TRUE(urcu_register(adopted));
    block()->exit_rounds = 3;
    urcu_unregister(adopted);
    EXPECT_EQ(block()->exit_rounds, 0u);
}

/* There are so many readers that their records are in several chunks of memory. */
TEST_F(Words, GracePeriodWaitsForTheLastOfManyReaders)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    std::vector<test::Worker> readers(40);
    for (test::Worker &reader : readers)
        reader.run([&] { ASSERT_TRUE(urcu_register(adopted)); });
    ASSERT_NE(adopted->first.next, nullptr);
    readers.back().run([&] {
        rtrcu_store_release(&block()->word, generation_); /* inside */
    });
    test::Worker updater;
    updater.start([&] { urcu_wait(adopted, urcu_snap(adopted)); });
    EXPECT_TRUE(test::eventually([&] { return updater.is_done() || rtrcu_load_acquire(&adopted->busy) == 1; }));
    EXPECT_FALSE(updater.is_done());
    readers.back().run([&] {
        rtrcu_store_release(&block()->word, 0);
        urcu_wake_sleeper(adopted);
    });
    updater.wait();
    for (test::Worker &reader : readers)
        reader.run([&] { urcu_unregister(adopted); });
}

/* A holdout that unregisters is subtracted once; the next owner of its record must not be subtracted again. */
TEST_F(Words, UnregisteringHoldoutIsSubtractedOnce)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_TRUE(urcu_register(adopted));
    adopt_record *record = block()->record;
    record->is_holdout = true;
    adopted->holdouts = 2;
    urcu_unregister(adopted);
    EXPECT_EQ(adopted->holdouts, 1u);
    EXPECT_FALSE(record->is_holdout);
}

/* Signals are blocked during a registration, since a handler that reads would register the thread a second time. */
TEST_F(Words, RegistrationIsNotInterrupted)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_BP);
    was_blocked = false;
    ASSERT_TRUE(urcu_register(adopted));
    EXPECT_NE(urcu_self(adopted), nullptr);
    EXPECT_TRUE(was_blocked);
    EXPECT_FALSE(signals_are_blocked());
    was_blocked = false;
    urcu_unregister(adopted);
    EXPECT_EQ(urcu_self(adopted), nullptr);
    EXPECT_TRUE(was_blocked);
    EXPECT_FALSE(signals_are_blocked());
}

thread_local rtrcu_adopted_reader *own_block;
std::function<void()> as_it_leaves;

void set_own_block(rtrcu_adopted_reader *block)
{
    own_block = block;
    if (!block)
        as_it_leaves();
}

/* If a new thread took the block while it is cleared, grace periods would not see that thread as a reader. */
TEST_F(Words, BlockIsReleasedAfterItIsCleared)
{
    rtrcu_adopt_flavour flavour = {};
    flavour.kind = RTRCU_ADOPT_BP;
    flavour.name = "crafted";
    flavour.generation = &generation_;
    flavour.futex = &sleeper_;
    flavour.light = &light_;
    flavour.self = [] { return own_block; };
    flavour.be = set_own_block;
    rtrcu_adopted *adopted = urcu_flavour(&all_, &flavour);
    ASSERT_TRUE(urcu_register(adopted));
    const rtrcu_adopted_reader *leaving = own_block, *taken = nullptr;
    test::Worker newcomer;
    as_it_leaves = [&] {
        newcomer.run([&] {
            EXPECT_TRUE(urcu_register(adopted));
            taken = own_block;
        });
    };

    urcu_unregister(adopted);
    EXPECT_NE(taken, leaving) << "a thread that registers during the clearing gets another block";

    as_it_leaves = [] {};
    newcomer.run([&] { urcu_unregister(adopted); });
    ASSERT_TRUE(urcu_register(adopted));
    EXPECT_EQ(own_block, leaving) << "the block is free after the clearing";
    urcu_unregister(adopted);
}

/* A reader that leaves after the wake-up does not call the kernel again. */
TEST_F(Words, SleeperIsWokenOnce)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    sleeper_ = UINT32_MAX;
    urcu_wake_sleeper(adopted);
    EXPECT_EQ(sleeper_, 0u);
}

class WordsWithoutMemory : public AdoptWorld
{
  protected:
    void SetUp() override
    {
        AdoptWorld::SetUp();
        if (TEST_TSAN || TEST_ASAN || TEST_EMULATED)
            GTEST_SKIP() << "memory cannot be limited";
    }
};

TEST_F(WordsWithoutMemory, FailedRegistrationLeavesNoRecord)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_BP);
    for (adopt_record &record : adopted->first.record)
        record.used = 1;
    for (size_t left : {size_t{0}, sizeof(urcu_chunk)}) {
        bool registered = true;
        {
            test::NoMemory none;
            none.leave(left);
            registered = urcu_register(adopted);
        }
        EXPECT_FALSE(registered) << "with memory for " << left;
        EXPECT_EQ(urcu_self(adopted), nullptr);
        EXPECT_EQ(adopted->first.next, nullptr);
    }
    ASSERT_TRUE(urcu_register(adopted));
    ASSERT_NE(adopted->first.next, nullptr);
    EXPECT_EQ(urcu_self(adopted), &adopted->first.next->own[0]);
    urcu_unregister(adopted);
}

TEST_F(WordsWithoutMemory, FlavourIsNotCreatedWithoutMemoryForItsBlocks)
{
    for (size_t left : {size_t{0}, sizeof(rtrcu_adopted)}) {
        const rtrcu_adopted *adopted = nullptr;
        {
            test::NoMemory none;
            none.leave(left);
            adopted = adopt(RTRCU_ADOPT_BP);
        }
        EXPECT_EQ(adopted, nullptr) << "with memory for " << left;
        EXPECT_EQ(all_.first, nullptr);
    }
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_BP);
    ASSERT_NE(adopted, nullptr);
    ASSERT_TRUE(urcu_register(adopted));
    EXPECT_EQ(urcu_self(adopted), &adopted->first.own[0]);
    urcu_unregister(adopted);
}

rtrcu_adopted *exits_from;
std::vector<bool> registered_behind;

void exit_hook(void *all)
{
    urcu_thread_exits(static_cast<struct urcu *>(all));
    registered_behind.push_back(urcu_self(exits_from)->record != nullptr);
}

/* Destructors may read in each round except the last. */
TEST_F(Words, ExitingThreadIsAReaderUntilTheLastRound)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the race detector's part of the thread does not exist in the last round";
    /* another flavour, in which the thread is not registered */
    (void)adopt(RTRCU_ADOPT_BP);
    exits_from = adopt(RTRCU_ADOPT_MEMB);
    registered_behind.clear();
    urcu_hook_exits(&all_, exit_hook);
    std::thread([&] { EXPECT_TRUE(urcu_register(exits_from)); }).join();
    EXPECT_EQ(registered_behind, (std::vector<bool>{true, true, true, false}));
    EXPECT_EQ(exits_from->first.record[0].used, 0u);
    pthread_key_delete(all_.exit_key); /* the number of keys is limited */
}

std::vector<adopt_record *> records_of_the_end;
std::vector<size_t> used_behind; /* the number of these records in use after each round */

void count_used_hook(void *all)
{
    urcu_thread_exits(static_cast<struct urcu *>(all));
    size_t used = 0;
    for (const adopt_record *record : records_of_the_end)
        used += rtrcu_load_relaxed(&record->used);
    used_behind.push_back(used);
}

/* Each round of destructors counts for both flavours, so both leave in the last one. */
TEST_F(Words, ExitingReaderOfTwoFlavoursUnregistersInTheLastRound)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the race detector's part of the thread does not exist in the last round";
    rtrcu_adopted *one = adopt(RTRCU_ADOPT_BP), *other = adopt(RTRCU_ADOPT_MEMB);
    records_of_the_end = {&one->first.record[0], &other->first.record[0]};
    used_behind.clear();
    urcu_hook_exits(&all_, count_used_hook);
    std::thread([&] { EXPECT_TRUE(urcu_register(one) && urcu_register(other)); }).join();
    EXPECT_EQ(used_behind, (std::vector<size_t>{2, 2, 2, 0}));
    pthread_key_delete(all_.exit_key);
}

} // namespace
