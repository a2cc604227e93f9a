/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of updates of a prefix table: single prefixes, refusals, missing memory, and random prefixes. */
#include <cstdlib>

#include <gtest/gtest.h>

#include "prefixes.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_REFUSES_MEMORY 0
#else
#define TEST_REFUSES_MEMORY 1
#endif

namespace
{

thread_local int allocations_left = -1; /* -1: any number */

} // namespace

#if TEST_REFUSES_MEMORY
extern "C" {

void *__libc_malloc(size_t bytes);

void *malloc(size_t bytes) noexcept
{
    if (allocations_left == 0) {
        errno = ENOMEM;
        return nullptr;
    }
    allocations_left -= allocations_left > 0;
    return __libc_malloc(bytes);
}
}
#endif

namespace
{

long values[4];

test::Key key(std::initializer_list<uint8_t> bytes)
{
    test::Key key = {};
    std::copy(bytes.begin(), bytes.end(), key.begin());
    return key;
}

TEST(LpmUpdate, LongestPrefixWins)
{
    test::Prefixes prefixes(32);
    ASSERT_TRUE(prefixes.insert(key({}), 0, &values[0]));
    ASSERT_TRUE(prefixes.insert(key({10, 1, 2}), 24, &values[2]));
    ASSERT_TRUE(prefixes.insert(key({10}), 8, &values[1]));
    EXPECT_EQ(prefixes.find(key({10, 1, 2, 3})), &values[2]);
    EXPECT_EQ(prefixes.find(key({10, 1, 3, 3})), &values[1]);
    EXPECT_EQ(prefixes.find(key({11})), &values[0]);
    rcu_read_lock();
    EXPECT_EQ(rtrcu_lpm_lookup_ipv4(prefixes.get(), 0x0a010203), &values[2]);
    rcu_read_unlock();
}

TEST(LpmUpdate, ShortPrefixReachesNodesBelow)
{
    test::Prefixes prefixes(128);
    ASSERT_TRUE(prefixes.insert(key({0x20, 1, 2, 3, 4, 5, 6, 7}), 64, &values[0]));
    for (unsigned int length : {0u, 3u, 16u, 17u, 33u, 63u}) {
        ASSERT_TRUE(prefixes.insert(key({0x20, 1, 2, 3, 4, 5, 6, 7}), length, &values[1]));
        EXPECT_EQ(prefixes.find(key({0x20, 1, 2, 3, 4, 5, 6, 6})), &values[1]) << "INV-LP2, length " << length;
        ASSERT_TRUE(prefixes.remove(key({0x20, 1, 2, 3, 4, 5, 6, 7}), length));
        EXPECT_EQ(prefixes.find(key({0x20, 1, 2, 3, 4, 5, 6, 6})), nullptr) << "INV-LP2, length " << length;
    }
}

TEST(LpmUpdate, RemovalUncoversTheShorterPrefix)
{
    test::Prefixes prefixes(32);
    ASSERT_TRUE(prefixes.insert(key({10, 1, 0}), 17, &values[0]));
    ASSERT_TRUE(prefixes.insert(key({10, 1, 0}), 18, &values[1]));
    ASSERT_TRUE(prefixes.insert(key({10, 1, 64}), 18, &values[2]));
    ASSERT_TRUE(prefixes.remove(key({10, 1, 64}), 18));
    EXPECT_EQ(prefixes.find(key({10, 1, 65})), &values[0]);
}

TEST(LpmUpdate, EmptyNodesAreFreed)
{
    test::Prefixes prefixes(128);
    uint64_t bytes = prefixes.stats().bytes;
    ASSERT_TRUE(prefixes.insert(key({1, 2, 3}), 128, &values[0]));
    EXPECT_EQ(prefixes.stats().nodes, 14u);
    ASSERT_TRUE(prefixes.insert(key({1, 2, 4}), 24, &values[0]));
    ASSERT_TRUE(prefixes.remove(key({1, 2, 3}), 128));
    EXPECT_EQ(prefixes.stats().nodes, 1u);
    ASSERT_TRUE(prefixes.remove(key({1, 2, 4}), 24));
    EXPECT_EQ(prefixes.stats().nodes, 0u);
    EXPECT_EQ(prefixes.stats().bytes, bytes);
    EXPECT_EQ(prefixes.find(key({1, 2, 4})), nullptr);
}

TEST(LpmUpdate, BadArgumentsAreRefused)
{
    EXPECT_EQ(test::Prefixes(0).error(), -EINVAL);
    EXPECT_EQ(test::Prefixes(129).error(), -EINVAL);
    test::Prefixes prefixes(32);
    test::Key any = {};
    EXPECT_EQ(rtrcu_lpm_insert(prefixes.get(), any.data(), 33, &values[0]), -EINVAL);
    EXPECT_EQ(rtrcu_lpm_insert(prefixes.get(), any.data(), 8, nullptr), -EINVAL);
    EXPECT_EQ(rtrcu_lpm_insert(prefixes.get(), any.data(), 8, reinterpret_cast<char *>(values) + 1), -EINVAL);
    EXPECT_EQ(prefixes.stats().prefixes, 0u);
}

/* Make random updates, and compare the result of each and the values of a few addresses with the naive table. */
void compare_with_naive(unsigned int bits, unsigned int updates)
{
    unsigned int seed = std::random_device()();
    SCOPED_TRACE(testing::Message() << "INV-LP1, bits " << bits << ", seed " << seed);
    test::RandomPrefixes random(seed, bits);
    test::Prefixes prefixes(bits);
    for (unsigned int i = 0; i < updates; i++) {
        test::Key at = random.key();
        unsigned int length = random.length(), kind = random.below(8);
        if (kind < 3 && !prefixes.naive().empty()) { /* mostly a prefix of the table */
            auto chosen = prefixes.naive().lower_bound({at, length});
            if (chosen != prefixes.naive().end())
                std::tie(at, length) = chosen->first;
        }
        ASSERT_TRUE(kind < 2    ? prefixes.remove(at, length)
                    : kind == 2 ? prefixes.replace(at, length, random.value())
                                : prefixes.insert(at, length, random.value()));
        ASSERT_TRUE(prefixes.agrees(at) && prefixes.agrees(random.key()) && prefixes.agrees(random.key()));
        ASSERT_EQ(prefixes.stats().prefixes, prefixes.naive().size());
    }
    ASSERT_EQ(prefixes.walk(1 + random.below(100)), prefixes.sorted());
    while (!prefixes.naive().empty()) {
        auto [at, length] = prefixes.naive().begin()->first;
        ASSERT_TRUE(prefixes.remove(at, length) && prefixes.agrees(at) && prefixes.agrees(random.key()));
    }
    ASSERT_EQ(prefixes.stats().nodes, 0u);
}

TEST(LpmUpdate, RandomPrefixesAgreeWithNaiveTable)
{
    for (unsigned int bits : {5u, 16u, 19u, 24u, 32u, 128u})
        compare_with_naive(bits, bits < 17 ? 300 : 1500);
}

TEST(LpmUpdate, InsertWithoutMemoryChangesNothing)
{
    if (!TEST_REFUSES_MEMORY)
        GTEST_SKIP() << "the sanitizer defines malloc()";
    test::Prefixes prefixes(128);
    ASSERT_TRUE(prefixes.insert(key({1, 2, 3}), 30, &values[0]));
    ASSERT_TRUE(prefixes.insert(key({1, 2, 3, 4, 5}), 40, &values[0]));
    const uint64_t bytes = prefixes.stats().bytes;
    const auto before = prefixes.walk(100000);

    int refusals = 0, result = -ENOMEM;
    for (; result == -ENOMEM; refusals++) { /* each attempt may make one more allocation */
        allocations_left = refusals;
        result = rtrcu_lpm_insert(prefixes.get(), key({1, 2, 3, 9}).data(), 100, &values[1]);
        allocations_left = -1;
        if (result == -ENOMEM) {
            EXPECT_EQ(prefixes.stats().bytes, bytes);
            EXPECT_EQ(prefixes.walk(100000), before);
        }
    }
    EXPECT_EQ(result, 0);
    EXPECT_GT(refusals, 10);

    allocations_left = 1;
    EXPECT_EQ(rtrcu_lpm_remove(prefixes.get(), key({1, 2, 3, 4, 5}).data(), 40, nullptr), -ENOMEM);
    allocations_left = -1;
    EXPECT_EQ(prefixes.find(key({1, 2, 3, 4, 5})), &values[0]);
}

} // namespace
