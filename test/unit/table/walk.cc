/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of walks over a table, which visit each entry once even if the table is resized meanwhile. */
#include <thread>

#include <gtest/gtest.h>

#include "entries.h"

namespace
{

void expect_each_once(const std::map<uint64_t, int> &seen, uint64_t count)
{
    for (uint64_t key = 0; key < count; key++) {
        auto found = seen.find(key);
        ASSERT_TRUE(found != seen.end()) << key;
        ASSERT_EQ(found->second, 1) << key;
    }
}

TEST(TableWalk, WalkVisitsEachEntryOnce)
{
    test::Table table;
    for (uint64_t key = 0; key < 5000; key++)
        ASSERT_EQ(table.insert(key), 0);
    expect_each_once(table.walk(1), 5000);
    expect_each_once(table.walk(1000), 5000);
}

TEST(TableWalk, WalkOfAnEmptyTableVisitsNothing)
{
    test::Table table({.buckets = 1});
    EXPECT_TRUE(table.walk(3).empty());
}

TEST(TableWalk, WalkVisitsEachRemainingEntryOnceDuringResizes)
{
    test::Table table;
    for (uint64_t key = 0; key < 500; key++)
        ASSERT_EQ(table.insert(key), 0);

    std::atomic<bool> done{false};
    std::thread writer([&] {
        for (int cycle = 0; cycle < 3; cycle++) {
            std::vector<test::Entry *> entries;
            for (uint64_t key = 500; key < 10000; key++) {
                entries.push_back(table.make(key));
                EXPECT_EQ(table.insert(key, entries.back()), 0);
            }
            EXPECT_TRUE(table.becomes(4096));
            for (test::Entry *entry : entries)
                EXPECT_EQ(table.remove(entry), 0);
            EXPECT_TRUE(test::eventually([&] { return table.stats().buckets <= 512; }));
        }
        done = true;
    });
    for (unsigned round = 0; !done; round++)
        expect_each_once(table.walk(1 + round % 7), 500);
    writer.join();
}

/* A shrink merges each bucket of the second half into one of the first, which the walk may have visited or not. */
TEST(TableWalk, ShrinkDuringAWalkNeitherLosesNorRepeatsEntries)
{
    for (uint64_t moved = 0; moved <= 8; moved++) {
        for (uint64_t before = 0; before < 9; before++) {
            test::Table table({.buckets = 4});
            auto *inner = table_of(table.get());
            resizer_lock();
            ASSERT_TRUE(test::begin_resize(inner, 8));
            while (inner->to)
                (void)table_step(inner);
            for (uint64_t key = 0; key < 16; key++)
                ASSERT_EQ(table.insert(key), 0);
            std::map<uint64_t, int> seen;
            auto count = [](rtrcu_hash_node *node, void *argument) {
                (*static_cast<std::map<uint64_t, int> *>(argument))[test::entry_of(node)->key]++;
            };
            uint64_t cursor = 0;
            bool is_left = true;
            for (uint64_t i = 0; i < before && is_left; i++)
                is_left = rtrcu_hash_walk(table.get(), &cursor, 1, count, &seen);

            ASSERT_TRUE(test::begin_resize(inner, 4));
            generation *old = table_current(inner);
            rtrcu_store_release(&old->shown.next, &inner->to->shown);
            ASSERT_TRUE(generation_supply(inner->to, 16));
            for (uint64_t bucket = 0; bucket < moved; bucket++)
                ASSERT_EQ(table_bucket_move(old, inner->to, bucket, true), 0u);
            while (is_left)
                is_left = rtrcu_hash_walk(table.get(), &cursor, 1, count, &seen);
            resizer_unlock();
            expect_each_once(seen, 16);
        }
    }
}

} // namespace
