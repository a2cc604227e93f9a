/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of updates of a table: insert, add, replace, remove, their refusals, and long buckets. */
#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "entries.h"

namespace
{

TEST(TableUpdate, InsertedEntryIsFoundUntilRemoved)
{
    test::Table table;
    test::Entry *entry = table.make(7);
    EXPECT_EQ(table.find(7), nullptr);
    EXPECT_EQ(table.insert(7, entry), 0);
    EXPECT_EQ(table.find(7), entry);
    EXPECT_EQ(table.remove(entry), 0);
    EXPECT_EQ(table.find(7), nullptr);
}

TEST(TableUpdate, SecondInsertOfAKeyReturnsTheFirstEntry)
{
    test::Table table;
    test::Entry *first = table.make(7);
    rtrcu_hash_node *existing = nullptr;
    ASSERT_EQ(table.insert(7, first), 0);
    EXPECT_EQ(table.insert(7, table.make(7), &existing), -EEXIST);
    EXPECT_EQ(existing, &first->node);
    EXPECT_EQ(table.stats().entries, 1u);
}

TEST(TableUpdate, SecondInsertOfANodeIsRefused)
{
    test::Table table({.buckets = 1});
    std::vector<test::Entry *> entries;
    for (uint64_t key = 0; key < 20; key++) {
        entries.push_back(table.make(key));
        ASSERT_EQ(table.add(1, entries.back()), 0);
    }
    for (test::Entry *entry : entries)
        EXPECT_EQ(table.add(1, entry), -EEXIST);
    EXPECT_EQ(table.stats().entries, 20u);
}

TEST(TableUpdate, SecondRemovalOfANodeIsRefused)
{
    test::Table table;
    test::Entry *entry = table.make(7);
    ASSERT_EQ(table.insert(7, entry), 0);
    EXPECT_EQ(table.remove(entry), 0);
    EXPECT_EQ(table.remove(entry), -ENOENT);
    EXPECT_EQ(table.stats().entries, 0u);
}

TEST(TableUpdate, NodeOfAnotherTableIsNotRemoved)
{
    test::Table table, other;
    test::Entry *entry = table.make(7);
    ASSERT_EQ(table.insert(7, entry), 0);
    EXPECT_EQ(other.remove(entry), -ENOENT);
    EXPECT_EQ(table.find(7), entry);
}

TEST(TableUpdate, LookupVisitsAllDuplicates)
{
    test::Table table;
    for (int i = 0; i < 20; i++)
        ASSERT_EQ(table.add(7, table.make(7)), 0);
    int visited = 0;
    uint64_t key = 7;
    auto count = [](rtrcu_hash_node *, void *argument) { ++*static_cast<int *>(argument); };
    rcu_read_lock();
    rtrcu_hash_lookup_each(table.get(), 7, test::has_key, &key, count, &visited);
    rcu_read_unlock();
    EXPECT_EQ(visited, 20);
}

TEST(TableUpdate, ReplacedEntryIsNoLongerFound)
{
    test::Table table({.buckets = 1});
    for (uint64_t key = 0; key < 12; key++) /* fills slots and chain */
        ASSERT_EQ(table.insert(5, table.make(key)), 0);
    for (uint64_t key = 0; key < 12; key++) {
        test::Entry *old = table.find(5, key), *fresh = table.make(key);
        EXPECT_EQ(table.replace(old, fresh), 0);
        EXPECT_EQ(table.find(5, key), fresh);
        EXPECT_EQ(table.replace(old, table.make(key)), -ENOENT);
    }
}

TEST(TableUpdate, LimitOfEntriesIsExact)
{
    test::Table table({.buckets = 1, .limit = 10});
    for (uint64_t key = 0; key < 10; key++)
        ASSERT_EQ(table.insert(key), 0);
    EXPECT_EQ(table.insert(10), -ENOSPC);
    EXPECT_EQ(table.insert(3), -EEXIST);
    EXPECT_EQ(table.remove(table.find(3)), 0);
    EXPECT_EQ(table.insert(10), 0);
    EXPECT_EQ(table.insert(11), -ENOSPC);
}

TEST(TableUpdate, InsertIntoAFullBucketIsRefused)
{
    test::Table table({.longest = 8});
    for (uint64_t key = 0; key < 8; key++)
        ASSERT_EQ(table.insert(0, table.make(key)), 0);
    EXPECT_EQ(table.insert(0, table.make(8)), -E2BIG);
    EXPECT_EQ(table.stats().longest_chain, 8u);
}

TEST(TableUpdate, EntriesOfEqualHashAreAllFoundAndRemoved)
{
    test::Table table;
    for (uint64_t key = 0; key < 1000; key++)
        ASSERT_EQ(table.insert(0, table.make(key)), 0);
    ASSERT_TRUE(table.fits());
    for (uint64_t key = 0; key < 1000; key++)
        ASSERT_NE(table.find(0, key), nullptr) << key;
    for (uint64_t key = 0; key < 1000; key += 2)
        ASSERT_EQ(table.remove(table.find(0, key)), 0);
    for (uint64_t key = 0; key < 1000; key++)
        ASSERT_EQ(table.find(0, key) != nullptr, key % 2 == 1) << key;
}

TEST(TableUpdate, KeysOfEqualLowBitsSpread)
{
    test::Table table;
    for (uint64_t key = 0; key < 1000; key++)
        ASSERT_EQ(table.insert(key << 32, table.make(key)), 0);
    ASSERT_TRUE(table.fits());
    EXPECT_LT(table.stats().longest_chain, 64u);
}

TEST(TableUpdate, OnlyOneOfSeveralThreadsRemovesAnEntry)
{
    test::Table table;
    std::vector<test::Entry *> entries;
    for (uint64_t key = 0; key < 1000; key++) {
        entries.push_back(table.make(key));
        ASSERT_EQ(table.insert(key, entries.back()), 0);
    }

    std::atomic<int> removed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (test::Entry *entry : entries)
                removed += table.remove(entry) == 0;
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(removed, 1000);
    EXPECT_EQ(table.stats().entries, 0u);
}

} // namespace
