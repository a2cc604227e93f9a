/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the counters of a domain: sums, stripes, drains, and readers stopped between the two halves of a lock. */
#include <gtest/gtest.h>

#include <sys/resource.h>

#include "../../support/internals.h"
#include "../../support/variant.h"

namespace
{

class Domain
{
    alignas(64) unsigned char memory_[sizeof(srcu_struct) + 16];

  public:
    srcu_struct *const domain;
    explicit Domain(size_t offset = 0) : domain(reinterpret_cast<srcu_struct *>(memory_ + offset))
    {
        init_srcu_struct(domain);
    }
    ~Domain()
    {
        EXPECT_EQ(cleanup_srcu_struct(domain), 0);
    }
    Domain(const Domain &) = delete;
    Domain &operator=(const Domain &) = delete;

    uint32_t index() const
    {
        return rtrcu_load_relaxed(&domain->current) & 1;
    }
    uint64_t fences() const
    {
        return srcu_inner(domain)->fences;
    }
    /* The second half of srcu_read_lock() and of srcu_read_unlock(), after the index has been loaded. */
    void add_lock(uint32_t index)
    {
        rtrcu_fetch_add(&rtrcu_srcu_own_stripe(domain)->locks[index], 1);
    }
    void add_unlock(uint32_t index)
    {
        rtrcu_fetch_add(&rtrcu_srcu_own_stripe(domain)->unlocks[index], 1);
    }
};

/* Run a grace period that must flip, since a section is open when it begins. */
void flip(Domain &domain)
{
    int inside = srcu_read_lock(domain.domain);
    unsigned long cookie = start_poll_synchronize_srcu(domain.domain);
    EXPECT_FALSE(poll_state_synchronize_srcu(domain.domain, cookie));
    srcu_read_unlock(domain.domain, inside);
    EXPECT_TRUE(poll_state_synchronize_srcu(domain.domain, cookie));
}

TEST(SrcuCount, IndexIsNotDrainedUntilTheUnlock)
{
    Domain domain;
    int first = srcu_read_lock(domain.domain), second = srcu_read_lock(domain.domain);
    EXPECT_EQ(srcu_inside(domain.domain), 2u) << "INV-SR2";
    srcu_read_unlock(domain.domain, first);
    EXPECT_FALSE(srcu_looks_drained(domain.domain, SRCU_BOTH));
    srcu_read_unlock(domain.domain, second);
    EXPECT_TRUE(srcu_looks_drained(domain.domain, SRCU_BOTH));
}

TEST(SrcuCount, EachIndexIsDrainedSeparately)
{
    Domain domain;
    int inside = srcu_read_lock(domain.domain);
    uint32_t used = 1u << domain.index();
    EXPECT_FALSE(srcu_looks_drained(domain.domain, used));
    EXPECT_TRUE(srcu_looks_drained(domain.domain, used ^ SRCU_BOTH));
    srcu_read_unlock(domain.domain, inside);
}

TEST(SrcuCount, StripesAreAlignedInUnalignedMemory)
{
    Domain domain(8);
    flip(domain);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(rtrcu_srcu_own_stripe(domain.domain)) % 64, 0u);
}

TEST(SrcuCount, ReadersOnTwoCpusGetMoreStripes)
{
    Domain domain;
    struct srcu all = {};
    all.stripes = 4;
    int before = srcu_read_lock(domain.domain);
    srcu_sample(&all, domain.domain, 0);
    srcu_sample(&all, domain.domain, 0);
    EXPECT_EQ(domain.domain->stripes & SRCU_STRIPES_MASK, 0u) << "readers on one CPU need one stripe";
    srcu_sample(&all, domain.domain, 1);
    EXPECT_EQ(domain.domain->stripes & SRCU_STRIPES_MASK, 3u);
    int after = srcu_read_lock(domain.domain);
    EXPECT_EQ(srcu_inside(domain.domain), 2u);
    srcu_read_unlock(domain.domain, before);
    srcu_read_unlock(domain.domain, after);
    EXPECT_TRUE(srcu_looks_drained(domain.domain, SRCU_BOTH));

    /* Return to a single stripe, for the end of the test. */
    uintptr_t array = domain.domain->stripes & ~SRCU_STRIPES_MASK;
    uint64_t begun = srcu_first(domain.domain)->locks[domain.index()];
    srcu_first(domain.domain)->unlocks[domain.index()] = begun;
    domain.domain->stripes = reinterpret_cast<uintptr_t>(srcu_first(domain.domain));
    plat_mem_release(reinterpret_cast<void *>(array), 4 * sizeof(rtrcu_srcu_stripe));
}

TEST(SrcuCount, DomainKeepsOneStripeWithoutMemory)
{
    Domain domain;
    struct srcu all = {};
    all.stripes = 1u << 31; /* more memory than the limit below permits */
    domain.domain->sampled = 1 + 1;
    struct rlimit before = {};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
    if (TEST_ASAN || TEST_TSAN)
        GTEST_SKIP() << "with a sanitizer memory cannot be limited";
    const struct rlimit now = {rlim_t{1} << 36, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &now), 0);
    srcu_sample(&all, domain.domain, 0);
    setrlimit(RLIMIT_AS, &before);
    EXPECT_EQ(domain.domain->stripes & SRCU_STRIPES_MASK, 0u);
    flip(domain);
}

TEST(SrcuCount, GracePeriodWithoutReadersNeedsOneFenceAndNoFlip)
{
    Domain domain;
    uint32_t before = domain.index();
    synchronize_srcu(domain.domain);
    EXPECT_EQ(domain.index(), before);
    EXPECT_EQ(domain.fences(), 1u);
}

TEST(SrcuCount, FlipNeedsAtMostFourFences)
{
    Domain domain;
    flip(domain);
    EXPECT_LE(domain.fences(), 4u);
}

TEST(SrcuCount, WrappedCountsAreDrained)
{
    Domain domain;
    srcu_first(domain.domain)->locks[0] = srcu_first(domain.domain)->unlocks[0] = UINT64_MAX;
    srcu_first(domain.domain)->locks[1] = srcu_first(domain.domain)->unlocks[1] = UINT64_MAX;
    flip(domain);
    flip(domain);
}

/* INV-SR1: a grace period waits for a reader that loads the index, is stopped for several grace periods, and adds to
 * the counter before the next grace period begins. */
class SrcuStopped : public testing::TestWithParam<int>
{
};

TEST_P(SrcuStopped, ReaderThatLoadedAnOldIndexIsWaitedFor)
{
    Domain domain;
    uint32_t index = domain.index();
    for (int i = 0; i < GetParam(); i++)
        flip(domain);

    domain.add_lock(index);
    unsigned long cookie = start_poll_synchronize_srcu(domain.domain);
    for (int i = 0; i < 5; i++)
        EXPECT_FALSE(poll_state_synchronize_srcu(domain.domain, cookie)) << "INV-SR1";
    domain.add_unlock(index);
    EXPECT_TRUE(poll_state_synchronize_srcu(domain.domain, cookie));
}

INSTANTIATE_TEST_SUITE_P(Periods, SrcuStopped, testing::Range(0, 6));

} // namespace
