/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The heavy fence, and who may note whom it stands in for.
 */
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

} // namespace
