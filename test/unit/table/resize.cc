/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of resizes: growth and shrinking, beside readers and after a fork. */
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "entries.h"

#include "../../support/variant.h"

namespace
{

TEST(TableResize, TableGrowsWithItsEntries)
{
    test::Table table;
    for (uint64_t key = 0; key < 20000; key++)
        ASSERT_EQ(table.insert(key), 0);
    EXPECT_TRUE(table.becomes(8192));
    EXPECT_TRUE(table.has_all(20000));
    EXPECT_GE(table.stats().resizes, 1u);
    EXPECT_GT(table.stats().longest_move_ns, 0u);
}

TEST(TableResize, TableShrinksToItsSmallestSizeAfterRemovals)
{
    test::Table table;
    for (uint64_t key = 0; key < 20000; key++)
        ASSERT_EQ(table.insert(key), 0);
    for (uint64_t key = 10; key < 20000; key++)
        ASSERT_EQ(table.remove(table.find(key)), 0);
    EXPECT_TRUE(table.becomes(64));
    EXPECT_TRUE(table.has_all(10));
}

TEST(TableResize, ResizeMayBeginWhileReadersUseTheOldGeneration)
{
    test::Table table;
    rcu_read_lock(); /* keeps grace periods from ending */
    for (uint64_t key = 0; key < 20000; key++)
        ASSERT_EQ(table.insert(key), 0);
    EXPECT_TRUE(table.becomes(8192));
    rcu_read_unlock();
}

TEST(TableResize, ReadersFindEveryEntryDuringResizes)
{
    test::Table table;
    for (uint64_t key = 0; key < 100; key++)
        ASSERT_EQ(table.insert(key), 0);

    std::atomic<bool> stop{false};
    std::atomic<int> missed{0};
    std::thread reader([&] {
        while (!stop)
            missed += !table.has_all(100);
    });
    for (int round = 0; round < 20; round++) {
        std::vector<test::Entry *> entries;
        for (uint64_t key = 100; key < 5000; key++) {
            entries.push_back(table.make(key));
            EXPECT_EQ(table.insert(key, entries.back()), 0);
        }
        for (test::Entry *entry : entries)
            EXPECT_EQ(table.remove(entry), 0);
    }
    stop = true;
    reader.join();
    EXPECT_EQ(missed, 0);
}

TEST(TableResize, RequestWakesTheResizerAfterARequestOfADeadlineThread)
{
    test::Table table;
    auto *inner = table_of(table.get());
    resizer_lock(); /* stops the resizer */
    std::thread([&] {
        rtrcu_register_thread(RTRCU_DEADLINE);
        for (uint64_t key = 0; key < 1000; key++)
            EXPECT_EQ(table.insert(key), 0);
        rcu_unregister_thread();
    }).join();
    EXPECT_EQ(rtrcu_load_relaxed(&inner->asked), static_cast<uint32_t>(TABLE_ASKED));

    uint32_t event = work_thread_event(&rtrcu_resizer.thread);
    for (uint64_t key = 1000; key < 3000; key++)
        EXPECT_EQ(table.insert(key), 0);
    EXPECT_EQ(rtrcu_load_relaxed(&inner->asked), static_cast<uint32_t>(TABLE_ASKED_AND_WOKEN));
    EXPECT_NE(work_thread_event(&rtrcu_resizer.thread), event);
    resizer_unlock();
    EXPECT_TRUE(table.becomes(1024));
}

/* While the resizer does not run, an update moves its own bucket once the table has too many entries. */
TEST(TableResize, UpdatesMoveTheirBucketWhenResizerIsStarved)
{
    test::Table table({.buckets = 1});
    auto *inner = table_of(table.get());
    resizer_lock();
    ASSERT_TRUE(test::begin_resize(inner, 16));
    generation *old = table_current(inner);
    rtrcu_store_release(&old->shown.next, &inner->to->shown);
    for (uint64_t key = 0; key < 5; key++)
        ASSERT_EQ(table.insert(key), 0);
    EXPECT_FALSE(old->shown.lines[0].head & RTRCU_HASH_MOVED);
    for (uint64_t key = 5; key < 9; key++)
        ASSERT_EQ(table.insert(key), 0);
    EXPECT_FALSE(old->shown.lines[0].head & RTRCU_HASH_MOVED) << "nine entries may need overflow lines";
    for (uint64_t key = 0; key < 6; key++)
        ASSERT_EQ(table.remove(table.find(key)), 0);
    table_stripe(inner, 0)->entries = 8;
    ASSERT_EQ(table.insert(20), 0);
    EXPECT_TRUE(old->shown.lines[0].head & RTRCU_HASH_MOVED);
    table_stripe(inner, 0)->entries = 4;
    for (uint64_t key = 6; key < 9; key++)
        EXPECT_NE(table.find(key), nullptr);
    resizer_unlock();
}

TEST(TableResize, ChildOfForkReadsAndGrows)
{
    if (TEST_EMULATED || TEST_TSAN)
        GTEST_SKIP() << "the emulator and ThreadSanitizer allow no threads in a fork's child";
    test::Table table;
    for (uint64_t key = 0; key < 1000; key++)
        ASSERT_EQ(table.insert(key), 0);
    pid_t child = fork();
    if (child == 0) {
        bool right = table.has_all(1000);
        for (uint64_t key = 1000; key < 20000; key++)
            right = right && table.insert(key) == 0;
        right = right && table.becomes(8192) && table.has_all(20000);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

/* A thread of the parent was updating the table: the child may read it, and its other tables grow. */
TEST(TableResize, ChildOfForkResizesNoTableThatWasBeingUpdated)
{
    if (TEST_EMULATED || TEST_TSAN)
        GTEST_SKIP() << "the emulator and ThreadSanitizer allow no threads in a fork's child";
    test::Table table;
    struct table *inner = table_of(table.get());
    for (uint64_t key = 0; key < 10; key++) /* too few for a resize, which would wait for the stripe */
        ASSERT_EQ(table.insert(key), 0);

    test::Worker updater;
    updater.run([&] { lock_acquire(&table_stripe(inner, 0)->lock); });
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        bool right = table.has_all(10);
        for (uint64_t key = 10; key < 20000; key++) {
            if ((rtrcu_hash_mix(key) & inner->stripe_mask) != 0)
                right = right && table.insert(key) == 0;
        }
        test::Table other;
        for (uint64_t key = 0; key < 20000; key++)
            right = right && other.insert(key) == 0;
        right = right && other.becomes(8192) && table.has_all(10);
        _exit(right ? 0 : 1);
    }
    updater.run([&] { lock_release(&table_stripe(inner, 0)->lock); });
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

} // namespace
