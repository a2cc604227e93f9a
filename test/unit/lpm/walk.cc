/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of walks over a prefix table. */
#include <gtest/gtest.h>

#include "prefixes.h"

namespace
{

long any_value;

TEST(LpmWalk, VisitsPrefixesInOrderInAnyNumberOfSteps)
{
    unsigned int seed = std::random_device()();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    test::RandomPrefixes random(seed, 128);
    test::Prefixes prefixes(128);
    for (int i = 0; i < 300; i++)
        ASSERT_TRUE(prefixes.insert(random.key(), random.length(), &any_value));
    for (unsigned int steps : {0u, 1u, 2u, 7u, 1000000u})
        EXPECT_EQ(prefixes.walk(steps), prefixes.sorted()) << "steps " << steps;
}

TEST(LpmWalk, EmptyTableHasNoPrefixes)
{
    EXPECT_TRUE(test::Prefixes(32).walk(1000).empty());
}

struct Removal {
    test::Prefixes *prefixes;
    unsigned int visited;
};

void remove_visited(const uint8_t *key, unsigned int length, void *, void *argument)
{
    auto *removal = static_cast<Removal *>(argument);
    test::Key copy = {};
    std::copy(key, key + copy.size(), copy.begin());
    removal->visited += removal->prefixes->remove(copy, length);
}

TEST(LpmWalk, VisitorMayRemoveTheVisitedPrefix)
{
    test::Prefixes prefixes(32);
    test::RandomPrefixes random(1, 32);
    for (int i = 0; i < 200; i++)
        ASSERT_TRUE(prefixes.insert(random.key(), random.length(), &any_value));
    const auto count = static_cast<unsigned int>(prefixes.naive().size());

    Removal removal = {&prefixes, 0};
    rtrcu_lpm_cursor cursor = {};
    while (rtrcu_lpm_walk(prefixes.get(), &cursor, 50, remove_visited, &removal))
        ;
    EXPECT_EQ(removal.visited, count);
    EXPECT_EQ(prefixes.stats().prefixes, 0u);
}

} // namespace
