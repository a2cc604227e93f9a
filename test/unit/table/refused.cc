/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of tables while the system refuses memory or the resizer's thread. */
#include <cerrno>

#include <gtest/gtest.h>

#include "entries.h"

#include <sys/resource.h>

#include "../../support/variant.h"

namespace
{

/* The process cannot map memory while this object lives. */
class NoPages
{
    struct rlimit before_;

  public:
    NoPages()
    {
        getrlimit(RLIMIT_AS, &before_);
        struct rlimit none = {1, before_.rlim_max};
        setrlimit(RLIMIT_AS, &none);
    }
    ~NoPages()
    {
        setrlimit(RLIMIT_AS, &before_);
    }
    NoPages(const NoPages &) = delete;
    NoPages &operator=(const NoPages &) = delete;
};

/* While this object lives, the resizer's thread counts as missing, and its creation as just refused. */
class NoResizer
{
    uint32_t state_;

  public:
    NoResizer()
    {
        state_ = rtrcu_exchange(&rtrcu_resizer.thread.state, static_cast<uint32_t>(WORK_NONE));
        rtrcu_store_relaxed(&rtrcu_domain.drive.work.refused_ns, plat_clock_now() + INT64_C(3600000000000));
    }
    ~NoResizer()
    {
        rtrcu_store_relaxed(&rtrcu_domain.drive.work.refused_ns, int64_t{0});
        rtrcu_store_release(&rtrcu_resizer.thread.state, state_);
    }
    NoResizer(const NoResizer &) = delete;
    NoResizer &operator=(const NoResizer &) = delete;
};

TEST(TableRefused, GrowthWithoutMemoryIsCountedAndRetried)
{
    if (TEST_ASAN || TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "memory cannot be limited";
    test::Table table;
    std::vector<test::Entry *> entries;
    for (uint64_t key = 0; key < 1000; key++)
        entries.push_back(table.make(key));

    bool inserted = true, counted, complete;
    {
        NoPages none;
        for (uint64_t key = 0; key < 1000; key++)
            inserted = inserted && table.insert(key, entries[key]) == 0;
        counted = test::eventually([&] { return table.stats().no_memory > 0; });
        complete = table.stats().buckets == 64 && table.has_all(1000);
    }
    EXPECT_TRUE(inserted);
    EXPECT_TRUE(counted);
    EXPECT_TRUE(complete);
    EXPECT_TRUE(table.becomes(512)) << "the resizer tries again every 50 ms";
    EXPECT_TRUE(table.has_all(1000));
}

TEST(TableRefused, CreateReturnsErrorWithoutResizer)
{
    test::Table first; /* starts the resizer */
    NoResizer none;
    rtrcu_hash *table = nullptr;
    EXPECT_EQ(rtrcu_hash_create(&table, nullptr), -EAGAIN);
    EXPECT_EQ(table, nullptr);
}

TEST(TableRefused, TableGrowsOnceAResizerCanBeCreated)
{
    test::Table table;
    uint64_t missed = 0;
    resizer_lock(); /* stops the existing resizer */
    {
        NoResizer none;
        for (uint64_t key = 0; key < 1000; key++)
            EXPECT_EQ(table.insert(key), 0);
        missed = table.stats().no_resizer;
        EXPECT_EQ(table.stats().buckets, 64u);
        EXPECT_TRUE(table.has_all(1000));
    }
    resizer_unlock();
    EXPECT_GT(missed, 0u);
    EXPECT_TRUE(resizer_notify());
    EXPECT_TRUE(table.becomes(512)) << table.stats().buckets;
    EXPECT_TRUE(table.has_all(1000));
}

} // namespace
