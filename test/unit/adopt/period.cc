/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Grace periods of an adopted flavour.
 */
#include "world.h"

namespace
{

using Period = AdoptWorld;

/* Whoever looked before it, and found the crank taken, does not go to sleep behind it. */
TEST_F(Period, AReleaseOfTheCrankIsSeenByWhoWillSleep)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    uint32_t event = adopted->event;
    uint64_t cookie = adopt_snap(adopted);
    EXPECT_FALSE(adopt_reached(adopted, cookie));
    adopt_wait(adopted, cookie);
    EXPECT_TRUE(adopt_reached(adopted, cookie));
    EXPECT_NE(adopted->event, event);
}

/* Where the kernel has refused membarrier(), one visit to every CPU is enough: readers fence from then on. */
TEST_F(Period, AVisitConfirmsReadersFencesOnce)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopted->unconfirmed = true;
    adopt_wait(adopted, adopt_snap(adopted));
    EXPECT_FALSE(adopted->unconfirmed);
    EXPECT_EQ(light_, 0u);
}

TEST_F(Period, WhoWasOnlineIsOnlineBehindItsWait)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_QSBR);
    ASSERT_TRUE(adopt_register(adopted));
    ASSERT_NE(adopt_self(adopted)->word, 0u);
    adopt_synchronize(adopted, "test");
    EXPECT_NE(adopt_self(adopted)->word, 0u);
    adopt_unregister(adopted);
}

} // namespace
