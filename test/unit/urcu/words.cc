/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of an adopted flavour come and go.
 */
#include <functional>
#include <thread>
#include <vector>

#include "../../support/no_memory.h"
#include "../../support/variant.h"
#include "world.h"

namespace
{

using Words = AdoptWorld;

/* A block that was a server's thread's is an ordinary thread's now. */
TEST_F(Words, ABlockIsAsNewForItsNextThread)
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

/* Its next quiescent state would wake whoever sleeps then, for nothing. */
TEST_F(Words, WhoHasLeftOwesNoWakeUp)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_QSBR);
    ASSERT_TRUE(urcu_register(adopted));
    block()->waiting = 1;
    sleeper_ = UINT32_MAX;
    urcu_unregister(adopted);
    EXPECT_EQ(block()->waiting, 0u);
    EXPECT_EQ(block()->word, 0u);
    EXPECT_EQ(sleeper_, 0u) << "whoever slept was woken";
}

/* A thread that registers again in a destructor is a reader as long as any other. */
TEST_F(Words, WhoComesBackAtItsEndHasAllItsRounds)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_TRUE(urcu_register(adopted));
    block()->exit_rounds = 3;
    urcu_unregister(adopted);
    EXPECT_EQ(block()->exit_rounds, 0u);
}

/* However many there are: their records lie in several pieces. */
TEST_F(Words, TheLastOfManyIsWaitedFor)
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

/* Its record's next owner owes nothing: who is waited for is counted out once. */
TEST_F(Words, WhoLeavesIsCountedOutOnce)
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

/* A handler that reads would register its thread a second time, half way. */
TEST_F(Words, ComingAndGoingIsNotInterrupted)
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

/* Else the block is a newcomer's already while it is cleared: a reader that nobody sees. */
TEST_F(Words, WhoLeavesKeepsItsBlockUntilItIsCleared)
{
    const rtrcu_adopt_flavour flavour = {RTRCU_ADOPT_BP,
                                         "crafted",
                                         &generation_,
                                         &sleeper_,
                                         &light_,
                                         [] { return own_block; },
                                         [](rtrcu_adopted_reader *block) {
                                             own_block = block;
                                             if (!block)
                                                 as_it_leaves();
                                         },
                                         nullptr};
    rtrcu_adopted *adopted = urcu_flavour(&all_, &flavour);
    ASSERT_TRUE(urcu_register(adopted));
    test::Worker newcomer;
    const rtrcu_adopted_reader *leaving = own_block, *taken = nullptr;
    as_it_leaves = [&] {
        newcomer.run([&] {
            EXPECT_TRUE(urcu_register(adopted));
            taken = own_block;
        });
    };
    urcu_unregister(adopted);
    EXPECT_NE(taken, leaving);
    as_it_leaves = [] {};
    newcomer.run([&] { urcu_unregister(adopted); });
    ASSERT_TRUE(urcu_register(adopted));
    EXPECT_EQ(own_block, leaving) << "now it is free";
    urcu_unregister(adopted);
}

/* Who leaves behind it does not call the kernel again. */
TEST_F(Words, WhoWasWokenIsNotWokenAgain)
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
        if (TEST_TSAN || TEST_ASAN)
            GTEST_SKIP() << "the sanitizer's allocator ends the program instead";
    }
};

TEST_F(WordsWithoutMemory, NobodyIsRegisteredHalfWay)
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

TEST_F(WordsWithoutMemory, AFlavourIsThereWithItsBlocksOrNotAtAll)
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

/* What else has destructors may read in each of them but those of the last round. */
TEST_F(Words, WhoEndsIsAReaderUntilTheLastRoundOfDestructors)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the race detector's part of the thread is gone in the last round";
    (void)adopt(RTRCU_ADOPT_BP); /* an older one, of which the thread is no reader: it has nothing to wait for there */
    exits_from = adopt(RTRCU_ADOPT_MEMB);
    registered_behind.clear();
    urcu_hook_exits(&all_, exit_hook);
    std::thread([&] { EXPECT_TRUE(urcu_register(exits_from)); }).join();
    EXPECT_EQ(registered_behind, (std::vector<bool>{true, true, true, false}));
    EXPECT_EQ(exits_from->first.record[0].used, 0u);
    pthread_key_delete(all_.exit_key); /* such a key is one of few; behind the last of them nobody waits */
}

std::vector<adopt_record *> records_of_the_end;
std::vector<size_t> used_behind; /* of them, behind each round */

void count_used_hook(void *all)
{
    urcu_thread_exits(static_cast<struct urcu *>(all));
    size_t used = 0;
    for (const adopt_record *record : records_of_the_end)
        used += rtrcu_load_relaxed(&record->used);
    used_behind.push_back(used);
}

/* The rounds that it is in count for each of them at once, or the C library would make the last before theirs. */
TEST_F(Words, WhoEndsAsAReaderOfTwoLeavesBothInTheLastRound)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the race detector's part of the thread is gone in the last round";
    rtrcu_adopted *one = adopt(RTRCU_ADOPT_BP), *other = adopt(RTRCU_ADOPT_MEMB);
    records_of_the_end = {&one->first.record[0], &other->first.record[0]};
    used_behind.clear();
    urcu_hook_exits(&all_, count_used_hook);
    std::thread([&] { EXPECT_TRUE(urcu_register(one) && urcu_register(other)); }).join();
    EXPECT_EQ(used_behind, (std::vector<size_t>{2, 2, 2, 0}));
    pthread_key_delete(all_.exit_key);
}

} // namespace
