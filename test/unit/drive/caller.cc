/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A look at the scheduler serves some calls.
 */
#include "world.h"

namespace
{

using Caller = DriveWorld;

TEST_F(Caller, IsLookedAtNowAndThen)
{
    test::Worker thread;
    thread.run([&] {
        rtrcu_self.sched = 0;
        for (uint32_t left : {16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 16, 15}) {
            EXPECT_FALSE(drive_caller_is_weak(drive_));
            EXPECT_EQ(rtrcu_self.sched / 2, left);
        }
        rtrcu_self.sched = 5;
        EXPECT_TRUE(drive_caller_is_weak(drive_)) << "so it was at the last look";
        EXPECT_TRUE(drive_caller_is_weak(drive_));
        EXPECT_FALSE(drive_caller_is_weak(drive_)) << "which is too old now";
    });
}

} // namespace
