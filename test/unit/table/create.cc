/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of creating and destroying tables: sizes, errors, destruction during a resize and beside readers. */
#include <cerrno>

#include <gtest/gtest.h>

#include "entries.h"

namespace
{

TEST(TableCreate, SizeZeroGivesTheDefaultSize)
{
    test::Table table({.buckets = 0});
    EXPECT_EQ(table.error(), 0);
    EXPECT_EQ(table.stats().buckets, 64u);
}

TEST(TableCreate, NumberOfBucketsIsRoundedUpToAPowerOfTwo)
{
    test::Table table({.buckets = 100});
    EXPECT_EQ(table.stats().buckets, 128u);
}

TEST(TableCreate, TooManyBucketsAreRefused)
{
    rtrcu_hash *table = nullptr;
    rtrcu_hash_config config = {};
    config.buckets = UINT64_MAX;
    EXPECT_EQ(rtrcu_hash_create(&table, &config), -EINVAL);
    EXPECT_EQ(table, nullptr);
}

TEST(TableCreate, LimitMayBeBelowTheNumberOfBuckets)
{
    test::Table table({.buckets = 64, .limit = 1});
    EXPECT_EQ(table.insert(1), 0);
    EXPECT_EQ(table.insert(2), -ENOSPC);
}

TEST(TableCreate, ReaderInsideMayLookUpInDestroyedTable)
{
    rtrcu_hash *table = nullptr;
    ASSERT_EQ(rtrcu_hash_create(&table, nullptr), 0);
    test::Entry entry = {};
    uint64_t key = 0;
    rcu_read_lock();
    ASSERT_EQ(rtrcu_hash_add(table, 0, &entry.node), 0);
    rtrcu_hash_destroy(table);
    EXPECT_EQ(rtrcu_hash_lookup(table, 0, test::has_key, &key), &entry.node) << "INV-TB4";
    rcu_read_unlock();
}

TEST(TableCreate, DestroyDuringResizeFreesBothGenerations)
{
    rtrcu_hash *table = nullptr;
    ASSERT_EQ(rtrcu_hash_create(&table, nullptr), 0);
    resizer_lock();
    ASSERT_TRUE(test::begin_resize(table_of(table), 128));
    resizer_unlock();
    rtrcu_hash_destroy(table);
    EXPECT_TRUE(test::eventually([] {
        resizer_lock();
        bool freed = rtrcu_resizer.retired == nullptr;
        resizer_unlock();
        return freed;
    }));
}

} // namespace
