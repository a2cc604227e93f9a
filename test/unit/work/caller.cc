/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the scheduling class of the calling thread, which the library reads once for several calls. */
#include "../../support/driving.h"

namespace
{

using Caller = DriveWorld;

TEST_F(Caller, SchedulingClassIsReadOnceForSeveralCalls)
{
    test::Worker thread;
    thread.run([&] {
        rtrcu_self.sched = 0;
        for (uint32_t left : {16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 16, 15}) {
            EXPECT_FALSE(work_caller_is_low_priority(&drive_->work));
            EXPECT_EQ(rtrcu_self.sched / 2, left);
        }
        rtrcu_self.sched = 5;
        EXPECT_TRUE(work_caller_is_low_priority(&drive_->work)) << "the result of the last check is used";
        EXPECT_TRUE(work_caller_is_low_priority(&drive_->work));
        EXPECT_FALSE(work_caller_is_low_priority(&drive_->work))
            << "the last check is too old, so the class is read again";
    });
}

/* A thread is of low priority if its nice value is above the one with which the process began, and if it is not the
 * driver. */
TEST_F(Caller, CallerNicerThanTheProcessHasLowPriority)
{
    int32_t main_nice = plat_sched_nice(plat_main_thread());
    if (main_nice >= 19)
        GTEST_SKIP() << "this process has the highest nice value";
    test::Worker thread;
    thread.run([&] {
        const auto looks = [&](int32_t began_at) {
            drive_->work.process.nice = began_at;
            rtrcu_self.sched = 0;
            return work_caller_is_low_priority(&drive_->work);
        };
        ASSERT_EQ(plat_sched_set(0, main_nice + 1), 0);
        EXPECT_TRUE(looks(main_nice));
        EXPECT_FALSE(looks(main_nice + 1)) << "the process began with this nice value";
        plat_thread_renumber(&drive_->work.thread.plat, lock_thread_id());
        EXPECT_FALSE(looks(main_nice)) << "the driver cannot leave its work to the driver";
        rtrcu_self.sched = 0;
    });
}

} // namespace
