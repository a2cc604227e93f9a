/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The heavy fence, and who may note whom it stands in for.
 */
#include "../../support/capture.h"
#include "world.h"

namespace
{

using Fence = DriveWorld;

TEST_F(Fence, IsHadInEitherMode)
{
    EXPECT_TRUE(drive_fence(drive_));
    reader_fences_switch(world_.registry());
    EXPECT_TRUE(drive_fence(drive_)) << "by a visit to every CPU, or by what readers acknowledge";
    EXPECT_EQ(world_.registry()->fence_confirmer, 0u);
    EXPECT_TRUE(reader_fences_are_confirmed(world_.registry(), world_.registry()->fence_mode));
    EXPECT_TRUE(drive_fence(drive_));
    EXPECT_EQ(drive_->fence_refused.count, 0u);
}

/* Another thread notes: the notes are its own, and stay. */
TEST_F(Fence, LeavesAnothersNotesAlone)
{
    reader_fences_switch(world_.registry());
    world_.registry()->fence_confirmer = 77;
    (void)drive_fence(drive_);
    EXPECT_EQ(world_.registry()->fence_confirmer, 77u);
}

/* A thread that does not come to run on a CPU cannot say so. */
TEST_F(Fence, AVisitThatTakesTooLongIsSaidByAnother)
{
    keep();
    config_.stall_timeout_ms = 5;
    test::CapturedErrors errors;
    ASSERT_TRUE(drive_visit_begins(drive_));
    std::thread([&] { EXPECT_FALSE(drive_visit_begins(drive_)) << "one is told of"; }).join();
    rtrcu_store_release(&drive_->visit.next_cpu, 77);
    EXPECT_TRUE(test::eventually([&] { return errors.contains("run on CPU 77"); })) << errors.text();
    EXPECT_TRUE(errors.contains("thread " + std::to_string(lock_thread_number()))) << errors.text();
    EXPECT_TRUE(test::eventually([&] { return counter_read(&drive_->watch->stall_reports) > 1; })) << "and again";
    drive_visit_ends(drive_);
    uint32_t event = drive_thread_event(&drive_->worker[DRIVE_WORKER_REPORT].thread);
    EXPECT_TRUE(drive_visit_begins(drive_));
    drive_visit_ends(drive_);
    EXPECT_NE(drive_thread_event(&drive_->worker[DRIVE_WORKER_REPORT].thread), event);
}

} // namespace
