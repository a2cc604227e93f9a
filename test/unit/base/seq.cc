/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of sequence numbers: states, cookies and comparisons, before, at and after the wrap. */
#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/seed.h"

namespace
{

const uint64_t bases[] = {
    0, 4, 400, UINT64_MAX - 3, UINT64_MAX - 7, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 4, (UINT64_C(1) << 62)};

TEST(Seq, FirstSequenceNumberIsIdle)
{
    EXPECT_FALSE(seq_is_running(SEQ_FIRST));
    EXPECT_EQ(SEQ_FIRST % SEQ_STEP, 0u);
}

TEST(Seq, DebugBuildsBeginBeforeTheWrap)
{
    if (CHECK_DEBUG) {
        EXPECT_LT(0 - SEQ_FIRST, UINT64_C(10000)) << "the wrap is too far away for a test to reach";
    } else {
        EXPECT_EQ(SEQ_FIRST, 0u);
    }
}

TEST(Seq, StartMarksAGracePeriodInProgressAndEndCountsIt)
{
    for (uint64_t base : bases) {
        uint64_t running = seq_started(base);
        EXPECT_TRUE(seq_is_running(running));
        uint64_t next = seq_ended(running);
        EXPECT_FALSE(seq_is_running(next));
        EXPECT_EQ(next, base + SEQ_STEP);
        EXPECT_TRUE(seq_before(base, running));
        EXPECT_TRUE(seq_before(running, next));
        EXPECT_FALSE(seq_before(next, base));
    }
}

TEST(Seq, CookieTakenBetweenGracePeriodsIsTheNextOne)
{
    for (uint64_t base : bases) {
        uint64_t cookie = seq_snap(base);
        EXPECT_FALSE(seq_reached(base, cookie));
        EXPECT_FALSE(seq_reached(seq_started(base), cookie));
        EXPECT_TRUE(seq_reached(seq_ended(seq_started(base)), cookie));
    }
}

TEST(Seq, CookieTakenDuringAGracePeriodIsTheOneAfterIt)
{
    for (uint64_t base : bases) {
        uint64_t running = seq_started(base), cookie = seq_snap(running);
        uint64_t next = seq_ended(running);
        EXPECT_FALSE(seq_reached(running, cookie));
        EXPECT_FALSE(seq_reached(next, cookie)) << "the grace period in progress began before the cookie was taken";
        EXPECT_FALSE(seq_reached(seq_started(next), cookie));
        EXPECT_TRUE(seq_reached(seq_ended(seq_started(next)), cookie));
    }
}

TEST(Seq, ReachedCookieStaysReachedOverTheWrap)
{
    uint64_t seq = 0 - 3 * SEQ_STEP, cookie = seq_snap(seq);
    for (int turn = 0; turn < 8; turn++) {
        seq = seq_ended(seq_started(seq));
        EXPECT_TRUE(seq_reached(seq, cookie)) << "turn " << turn;
    }
}

/* Random pairs of numbers at a known distance, also across the wrap. */
TEST(Seq, ComparisonsFollowTheDistanceAlsoAcrossTheWrap)
{
    auto random = test::seeded_random("Seq.ComparisonsFollowTheDistanceAlsoAcrossTheWrap");
    for (int i = 0; i < 100000; i++) {
        uint64_t a = random();
        int64_t distance = static_cast<int64_t>(random()) >> (1 + random() % 62);
        uint64_t b = a + static_cast<uint64_t>(distance);
        ASSERT_EQ(seq_before(a, b), distance > 0) << a << " " << b;
        ASSERT_EQ(seq_reached(b, a), distance >= 0) << a << " " << b;
    }
}

TEST(Seq, CookieIsReachedAfterExactlyOneWholeGracePeriod)
{
    auto random = test::seeded_random("Seq.CookieIsReachedAfterExactlyOneWholeGracePeriod");
    uint64_t seq = 0 - 500 * SEQ_STEP;
    for (int i = 0; i < 2000; i++) {
        uint64_t cookie = seq_snap(seq);
        int whole = 0; /* grace periods that have begun and ended since the cookie was taken */
        uint64_t at = seq;
        if (seq_is_running(at))
            at = seq_ended(at);
        while (!seq_reached(at, cookie)) {
            at = seq_ended(seq_started(at));
            whole++;
        }
        ASSERT_EQ(whole, 1) << "from " << seq;
        seq = random() % 2 && !seq_is_running(seq) ? seq_started(seq) : seq_ended(seq);
    }
}

} // namespace
