/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of generations: moves of a bucket with and without overflow lines, and the links of moved nodes. */
#include <gtest/gtest.h>

#include "entries.h"

namespace
{

class Generations : public testing::Test
{
  protected:
    void SetUp() override
    {
        resizer_lock(); /* prevents other resizes */
        inner = table_of(table.get());
        old = table_current(inner);
        for (uint64_t key = 0; key < 20; key++)
            ASSERT_EQ(table.insert(0, table.make(key)), 0);
        to = generation_create(inner, 2);
        ASSERT_NE(to, nullptr);
    }
    void TearDown() override
    {
        while (!generation_free_piece(to))
            ;
        resizer_unlock();
    }

    test::Table table{test::Options{.buckets = 1}};
    struct table *inner = nullptr;
    generation *old = nullptr, *to = nullptr;
};

TEST_F(Generations, BucketIsNotMovedIfOverflowLinesAreMissing)
{
    uint64_t missing = table_bucket_move(old, to, 0, true);
    EXPECT_GE(missing, 3u); /* 20 entries: six in the bucket, six in each line */
    EXPECT_FALSE(old->shown.lines[0].head & RTRCU_HASH_MOVED);
    EXPECT_EQ(to->shown.lines[0].head, 0u);
}

TEST_F(Generations, UpdaterDoesNotMoveBucketsThatNeedOverflowLines)
{
    ASSERT_TRUE(generation_supply(to, 10));
    EXPECT_GT(table_bucket_move(old, to, 0, false), 0u);
    EXPECT_EQ(to->shown.lines[0].head, 0u) << "INV-TB2: all entries are in the old bucket";
}

TEST_F(Generations, MoveKeepsTheLinksOfNodes)
{
    std::vector<std::pair<rtrcu_hash_node *, uintptr_t>> links;
    table_place place = {&old->shown.lines[0], 0, nullptr};
    while (rtrcu_hash_node *node = table_next(&place))
        links.emplace_back(node, node->link);
    ASSERT_TRUE(generation_supply(to, 10));
    ASSERT_EQ(table_bucket_move(old, to, 0, true), 0u);
    for (auto [node, link] : links)
        EXPECT_EQ(node->link, link) << "INV-TB3";

    size_t moved = 0;
    table_place target = {&to->shown.lines[0], 0, nullptr};
    while (table_next(&target))
        moved++;
    EXPECT_EQ(moved, links.size());
    old->shown.lines[0].head &= ~RTRCU_HASH_MOVED; /* as if the table had no other generation */
}

} // namespace
