// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the route cache: hits, misses, expiry and its threshold.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "workload/packets.h"
#include "workload/route_cache.h"

using namespace lab;

// Fails a test in which locks nest or an entry is retired without the update lock; frees retired entries at the end.
struct CheckingSync {
    ~CheckingSync()
    {
        for (RouteEntry *entry : retired)
            std::free(entry);
    }
    void read_lock(std::size_t)
    {
        EXPECT_FALSE(reading || updating);
        reading = true;
    }
    void read_unlock(std::size_t)
    {
        EXPECT_TRUE(reading);
        reading = false;
    }
    void update_lock(std::size_t)
    {
        EXPECT_FALSE(reading || updating);
        updating = true;
    }
    void update_unlock(std::size_t)
    {
        EXPECT_TRUE(updating);
        updating = false;
    }
    void retire(RouteEntry *entry)
    {
        EXPECT_TRUE(updating);
        retired.push_back(entry);
    }

    bool reading = false, updating = false;
    std::vector<RouteEntry *> retired;
};

static PrefixTable small_table()
{
    return PrefixTable({{0x0a000000, 8, 1}, {0x0a010000, 16, 2}, {0xc0a80000, 16, 3}});
}

TEST(RouteCache, FirstLookupMissesAndTheNextHits)
{
    PrefixTable table = small_table();
    CheckingSync sync;
    RouteCache<CheckingSync> cache(table, 16, 100, sync);
    RouteStatistics statistics;
    EXPECT_EQ(cache.route(0x0a020304, 1, statistics), 1);
    EXPECT_EQ(cache.route(0x0a010203, 2, statistics), 2) << "the longer prefix wins";
    EXPECT_EQ(cache.route(0x0a020304, 3, statistics), 1);
    EXPECT_EQ(cache.route(0x01010101, 4, statistics), -1);
    EXPECT_EQ(statistics.misses, 2u);
    EXPECT_EQ(statistics.hits, 1u);
    EXPECT_EQ(statistics.unroutable, 1u);
    EXPECT_EQ(cache.size(), 2u);
}

TEST(RouteCache, CacheStaysBelowTwiceItsThresholdDespiteNewDestinations)
{
    PrefixTable table = small_table();
    CheckingSync sync;
    constexpr std::size_t threshold = 512;
    RouteCache<CheckingSync> cache(table, 256, threshold, sync);
    RouteStatistics statistics;
    std::size_t largest = 0;
    for (uint32_t i = 0; i < 100'000; i++) {
        ASSERT_EQ(cache.route(0x0a020000 + i % 65536, i, statistics), 1);
        largest = std::max(largest, cache.size());
    }
    EXPECT_LT(largest, threshold * 2);
    EXPECT_GT(cache.size(), threshold / 2);
    EXPECT_EQ(sync.retired.size(), statistics.expired);
    EXPECT_EQ(statistics.misses - statistics.expired, cache.size());
}

TEST(RouteCache, CacheBelowItsThresholdRetiresNothing)
{
    PrefixTable table = small_table();
    CheckingSync sync;
    RouteCache<CheckingSync> cache(table, 256, 10'000, sync);
    RouteStatistics statistics;
    for (uint32_t i = 0; i < 5'000; i++)
        cache.route(0x0a020000 + i, i, statistics);
    EXPECT_EQ(cache.size(), 5'000u);
    EXPECT_TRUE(sync.retired.empty());
}

TEST(RouteCache, FrequentlyUsedEntryStaysCached)
{
    PrefixTable table = small_table();
    CheckingSync sync;
    RouteCache<CheckingSync> cache(table, 64, 128, sync);
    RouteStatistics statistics;
    // One destination is used again and again among many that are used once.
    uint64_t misses_of_favourite = 0;
    for (uint32_t i = 0; i < 50'000; i++) {
        uint64_t before = statistics.misses;
        ASSERT_EQ(cache.route(0xc0a80001, i, statistics), 3);
        misses_of_favourite += statistics.misses - before;
        cache.route(0x0a020000 + i % 60000, i, statistics);
    }
    EXPECT_LT(misses_of_favourite, 50u);
}

TEST(RouteCache, DumpReadsEveryEntry)
{
    PrefixTable table = small_table();
    CheckingSync sync;
    RouteCache<CheckingSync> cache(table, 16, 100, sync);
    RouteStatistics statistics;
    cache.route(0x0a020304, 1, statistics);
    cache.route(0x0a010203, 1, statistics);
    std::atomic<bool> stop{false};
    EXPECT_EQ(cache.dump(stop, sync), 3u);
}
