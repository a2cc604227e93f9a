/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of how long a producer waits for a backlog that does not shrink. */
#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

struct work_patience since(int64_t moved_ns, int64_t all_moved_ns)
{
    int64_t now = plat_clock_now();
    return {1, 1, now - moved_ns, now - all_moved_ns};
}

TEST(Patience, PatienceBeginsWithTheFirstCheck)
{
    struct work_patience patience = {};
    int64_t left_ns = work_patience_left(&patience, 0, 0);
    EXPECT_LE(left_ns, WORK_PATIENCE_NS);
    EXPECT_GT(left_ns, WORK_PATIENCE_NS / 2);
}

TEST(Patience, WaitEndsIfNoCallbackOfTheProcessReturns)
{
    struct work_patience patience = since(WORK_PATIENCE_NS + 1, WORK_PATIENCE_NS + 1);
    EXPECT_LT(work_patience_left(&patience, 1, 1), 0);
}

TEST(Patience, WaitContinuesWhileCallbacksOfOtherQueuesReturn)
{
    struct work_patience patience = since(WORK_PATIENCE_QUEUE_NS / 2, WORK_PATIENCE_NS + 1);
    EXPECT_GT(work_patience_left(&patience, 1, 2), 0);
}

/* A producer stops waiting if no callback of its own queue returns: those callbacks may wait for the producer. */
TEST(Patience, WaitEndsIfNoCallbackOfTheOwnQueueReturns)
{
    struct work_patience patience = since(WORK_PATIENCE_QUEUE_NS + 1, WORK_PATIENCE_NS / 2);
    EXPECT_LT(work_patience_left(&patience, 1, 2), 0);
}

TEST(Patience, WaitRestartsWhenACallbackOfTheOwnQueueReturns)
{
    struct work_patience patience = since(WORK_PATIENCE_QUEUE_NS + 1, WORK_PATIENCE_NS + 1);
    EXPECT_GT(work_patience_left(&patience, 2, 1), 0);
}

} // namespace
