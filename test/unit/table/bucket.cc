/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of buckets: tags, reuse of freed slots, and the links of removed nodes in a chain. */
#include <gtest/gtest.h>

#include "entries.h"

namespace
{

struct Bucket {
    alignas(64) rtrcu_hash_line line = {};
    std::deque<test::Entry> entries;

    rtrcu_hash_node *put(uint64_t mixed)
    {
        test::Entry *entry = &entries.emplace_back();
        entry->node.hash = mixed;
        table_search search = {};
        search.node = &entry->node;
        search.mixed = mixed;
        table_find(&line, &search);
        table_put(&line, &search, &entry->node);
        return &entry->node;
    }
    void remove(rtrcu_hash_node *node)
    {
        table_search search = {};
        search.node = node;
        search.mixed = node->hash;
        table_find(&line, &search);
        table_exchange(&search, nullptr);
    }
    std::vector<rtrcu_hash_node *> all()
    {
        std::vector<rtrcu_hash_node *> found;
        table_place place = {&line, 0, nullptr};
        while (rtrcu_hash_node *node = table_next(&place))
            found.push_back(node);
        return found;
    }
};

TEST(TableBucket, EachTagMatchesItsSlot)
{
    Bucket bucket;
    for (uint64_t tag = 0; tag < 6; tag++)
        bucket.put(tag << 56);
    for (uint64_t tag = 0; tag < 6; tag++)
        EXPECT_TRUE(rtrcu_hash_fits(bucket.line.head, tag << 56) >> (8 * tag + 7) & 1) << tag;
    EXPECT_EQ(rtrcu_hash_fits(bucket.line.head, UINT64_C(77) << 56), 0u);
}

TEST(TableBucket, FreedSlotIsUsedAgain)
{
    Bucket bucket;
    for (uint64_t i = 0; i < 6; i++)
        bucket.put(i);
    bucket.remove(bucket.line.slots[3]);
    EXPECT_EQ(bucket.line.slots[3], nullptr);
    rtrcu_hash_node *fresh = bucket.put(9);
    EXPECT_EQ(bucket.line.slots[3], fresh);
    EXPECT_EQ(bucket.line.link, 0u);
}

TEST(TableBucket, ReaderAtARemovedNodeOfAChainReachesTheRest)
{
    Bucket bucket;
    for (uint64_t i = 0; i < 6; i++)
        bucket.put(i);
    rtrcu_hash_node *last = bucket.put(6), *middle = bucket.put(7), *first = bucket.put(8);
    table_place place = {&bucket.line, RTRCU_HASH_SLOTS, middle};
    bucket.remove(middle);
    EXPECT_EQ(table_next(&place), last);
    EXPECT_EQ(bucket.all().size(), 8u);
    bucket.remove(first);
    bucket.remove(last);
    EXPECT_EQ(bucket.line.link, 0u);
}

} // namespace
