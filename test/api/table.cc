/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of hash tables that a program uses wrongly, or at their limits. */
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "child.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <rtrcu/table.h>
#pragma GCC diagnostic pop

namespace
{

struct Entry {
    rtrcu_hash_node node;
    rcu_head head;
    uint64_t key;
};

const Entry *entry_of(const rtrcu_hash_node *node)
{
    return reinterpret_cast<const Entry *>(node);
}

bool has_key(const rtrcu_hash_node *node, const void *key)
{
    return entry_of(node)->key == *static_cast<const uint64_t *>(key);
}

class HashTable : public testing::Test
{
  protected:
    void TearDown() override
    {
        rtrcu_hash_destroy(table);
        rcu_barrier();
    }
    void create(const rtrcu_hash_config &config = {})
    {
        ASSERT_EQ(rtrcu_hash_create(&table, &config), 0);
    }
    int insert(Entry &entry, uint64_t hash, uint64_t key)
    {
        entry.key = key;
        rcu_read_lock();
        int error = rtrcu_hash_insert(table, hash, &entry.node, has_key, &entry.key, nullptr);
        rcu_read_unlock();
        return error;
    }
    int remove(Entry &entry, rtrcu_hash *from = nullptr)
    {
        rcu_read_lock();
        int error = rtrcu_hash_remove(from ? from : table, &entry.node);
        rcu_read_unlock();
        return error;
    }
    bool has(uint64_t hash, uint64_t key)
    {
        rcu_read_lock();
        bool found = rtrcu_hash_lookup(table, hash, has_key, &key) != nullptr;
        rcu_read_unlock();
        return found;
    }
    rtrcu_hash_counters stats()
    {
        rtrcu_hash_counters counters{};
        rtrcu_hash_stats(table, &counters);
        return counters;
    }

    rtrcu_hash *table = nullptr;
    std::vector<Entry> entries; /* outlive the table */
};

TEST_F(HashTable, SizeZeroGivesTheDefaultAndSizeOneIsPermitted)
{
    create({.buckets = 0, .limit = 0, .longest = 0, .seed = 0, .reserved = {}});
    EXPECT_EQ(stats().buckets, 64u);
    rtrcu_hash_destroy(table);

    create({.buckets = 1, .limit = 0, .longest = 0, .seed = 0, .reserved = {}});
    EXPECT_EQ(stats().buckets, 1u);
    entries.resize(100);
    for (uint64_t key = 0; key < 100; key++)
        EXPECT_EQ(insert(entries[key], key, key), 0);
    for (uint64_t key = 0; key < 100; key++)
        EXPECT_TRUE(has(key, key));
}

TEST_F(HashTable, TooManyBucketsAreRefused)
{
    rtrcu_hash_config config = {.buckets = UINT64_MAX, .limit = 0, .longest = 0, .seed = 0, .reserved = {}};
    EXPECT_EQ(rtrcu_hash_create(&table, &config), -EINVAL);
    EXPECT_EQ(table, nullptr);
}

TEST_F(HashTable, LimitBelowTheSmallestSizeIsExact)
{
    create({.buckets = 64, .limit = 1, .longest = 0, .seed = 0, .reserved = {}});
    Entry first{}, second{};
    EXPECT_EQ(insert(first, 1, 1), 0);
    EXPECT_EQ(insert(second, 2, 2), -ENOSPC);
    EXPECT_FALSE(has(2, 2));
    EXPECT_EQ(insert(second, 1, 1), -EEXIST) << "the key counts before the limit";
    EXPECT_EQ(remove(first), 0);
    EXPECT_EQ(insert(second, 2, 2), 0);
}

TEST_F(HashTable, TableWorksIfEveryHashIsZero)
{
    create();
    entries.resize(3000);
    for (uint64_t key = 0; key < entries.size(); key++)
        ASSERT_EQ(insert(entries[key], 0, key), 0);
    EXPECT_EQ(stats().longest_chain, 3000u);
    for (uint64_t key = 0; key < entries.size(); key += 7)
        EXPECT_TRUE(has(0, key));
    EXPECT_FALSE(has(0, 3000));
    EXPECT_LE(stats().buckets, 2048u) << "growth follows the number of entries";
    for (uint64_t key = 0; key < entries.size(); key++)
        ASSERT_EQ(remove(entries[key]), 0);
    EXPECT_EQ(stats().entries, 0u);
}

TEST_F(HashTable, InsertIntoABucketOfTheMaximumLengthIsRefused)
{
    create({.buckets = 0, .limit = 0, .longest = 3, .seed = 0, .reserved = {}});
    entries.resize(4);
    for (uint64_t key = 0; key < 3; key++)
        EXPECT_EQ(insert(entries[key], 0, key), 0);
    EXPECT_EQ(insert(entries[3], 0, 3), -E2BIG);
    EXPECT_EQ(insert(entries[3], 1, 3), 0) << "another bucket";
}

TEST_F(HashTable, SecondInsertOrRemovalOfANodeIsRefused)
{
    create();
    Entry entry{};
    EXPECT_EQ(remove(entry), -ENOENT) << "it was never in a table";
    EXPECT_EQ(insert(entry, 5, 5), 0);
    EXPECT_EQ(insert(entry, 5, 5), -EEXIST);
    rcu_read_lock();
    EXPECT_EQ(rtrcu_hash_add(table, 5, &entry.node), -EEXIST);
    rcu_read_unlock();
    EXPECT_EQ(stats().entries, 1u);
    EXPECT_EQ(remove(entry), 0);
    EXPECT_EQ(remove(entry), -ENOENT);
    EXPECT_EQ(stats().entries, 0u);
}

TEST_F(HashTable, NodeOfAnotherTableIsNotRemovedOrReplaced)
{
    create();
    rtrcu_hash *other = nullptr;
    ASSERT_EQ(rtrcu_hash_create(&other, nullptr), 0);
    Entry entry{}, twin{}, fresh{};
    EXPECT_EQ(insert(entry, 5, 5), 0);
    EXPECT_EQ(remove(entry, other), -ENOENT);
    rcu_read_lock();
    twin.key = 5;
    EXPECT_EQ(rtrcu_hash_insert(other, 5, &twin.node, has_key, &twin.key, nullptr), 0);
    EXPECT_EQ(rtrcu_hash_replace(other, &entry.node, &fresh.node), -ENOENT) << "an entry of the same key is another";
    rcu_read_unlock();
    EXPECT_EQ(remove(entry, other), -ENOENT);
    EXPECT_TRUE(has(5, 5));
    rtrcu_hash_destroy(other);
}

TEST_F(HashTable, WalkByZeroBucketsPerStepEnds)
{
    create();
    Entry entry{};
    EXPECT_EQ(insert(entry, 5, 5), 0);
    uint64_t cursor = 0;
    int visits = 0, calls = 0;
    auto count = [](rtrcu_hash_node *, void *visits_of) { ++*static_cast<int *>(visits_of); };
    while (rtrcu_hash_walk(table, &cursor, 0, count, &visits) && calls < 1000)
        calls++;
    EXPECT_EQ(visits, 1);
    EXPECT_LT(calls, 1000);
}

TEST_F(HashTable, VisitorMayRemoveAndInsert)
{
    create();
    struct Visit {
        rtrcu_hash *table;
        std::vector<Entry> entries, others;
        uint64_t removed;
    } visit{table, std::vector<Entry>(500), std::vector<Entry>(500), 0};
    for (uint64_t key = 0; key < 500; key++)
        ASSERT_EQ(insert(visit.entries[key], key, key), 0);
    uint64_t cursor = 0;
    auto change = [](rtrcu_hash_node *node, void *argument) {
        auto *seen = static_cast<Visit *>(argument);
        uint64_t key = entry_of(node)->key;
        if (key >= 500)
            return;
        seen->removed += rtrcu_hash_remove(seen->table, node) == 0;
        seen->others[key].key = key + 500;
        rtrcu_hash_insert(seen->table, key + 500, &seen->others[key].node, has_key, &seen->others[key].key, nullptr);
    };
    while (rtrcu_hash_walk(table, &cursor, 3, change, &visit))
        ;
    EXPECT_EQ(visit.removed, 500u);
    EXPECT_EQ(stats().entries, 500u);
    EXPECT_TRUE(has(999, 999));
    rtrcu_hash_destroy(table); /* before its entries */
    table = nullptr;
    synchronize_rcu();
}

TEST_F(HashTable, ReadersInsideMayUseADestroyedTable)
{
    create();
    entries.resize(2000);
    for (uint64_t key = 0; key < entries.size(); key++)
        ASSERT_EQ(insert(entries[key], key, key), 0);

    std::atomic<int> step{0};
    std::atomic<uint64_t> found{0};
    std::thread reader([&] {
        rcu_read_lock();
        step = 1;
        while (step != 2)
            std::this_thread::yield();
        for (uint64_t key = 0; key < entries.size(); key++)
            found += rtrcu_hash_lookup(table, key, has_key, &key) != nullptr;
        rcu_read_unlock();
    });
    while (step != 1)
        std::this_thread::yield();
    rtrcu_hash_destroy(table);
    step = 2;
    reader.join();
    EXPECT_EQ(found, entries.size());
    table = nullptr;
}

TEST_F(HashTable, DestroyIsPermittedInASection)
{
    create();
    rcu_read_lock();
    rtrcu_hash_destroy(table);
    rcu_read_unlock();
    table = nullptr;
    rtrcu_hash_destroy(nullptr);
}

bool updates(const rtrcu_hash_node *, const void *table)
{
    Entry another{};
    auto *own = static_cast<rtrcu_hash *const *>(table);
    return rtrcu_hash_add(*own, 5, &another.node) != 0;
}

TEST_F(HashTable, UpdateInAMatchFunctionAbortsTheProgram)
{
    if (TEST_EMULATED || TEST_TSAN)
        GTEST_SKIP() << "no threads in the child of a process with threads";
    create();
    entries.resize(2);
    ASSERT_EQ(insert(entries[0], 5, 5), 0);
    EXPECT_DEATH(
        {
            rcu_read_lock();
            rtrcu_hash_insert(table, 5, &entries[1].node, updates, &table, nullptr);
        },
        "update no table in a signal handler, nor in a function");
}

TEST_F(HashTable, DestroyingATableTwiceAbortsTheProgram)
{
    if (TEST_EMULATED || TEST_TSAN)
        GTEST_SKIP() << "no threads in the child of a process with threads";
    EXPECT_DEATH(
        {
            rtrcu_hash *own = nullptr;
            rtrcu_hash_create(&own, nullptr);
            rcu_read_lock(); /* keeps the memory of the table readable */
            rtrcu_hash_destroy(own);
            rtrcu_hash_destroy(own);
        },
        "rtrcu_hash_destroy\\(\\) of a table that does not exist");
}

} // namespace
