/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Test of phases of readers without a record, several of which begin between two polls. */
#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

/* A poll that checked only the current phase would wait as long as new readers keep arriving. */
TEST(GpPhases, PhaseChangesBetweenPollsShowThatBothPhasesWereEmpty)
{
    test::World world;
    reader_registry *registry = world.registry();
    reader_anonymous_enter(registry, READER_PHASE_EVEN);
    reader_anonymous_enter(registry, READER_PHASE_ODD);
    test::GpStepper stepper(world.gp());
    EXPECT_TRUE(stepper.begin_and_scan());
    stepper.poll(true);
    for (uint32_t turn = 0; turn < 4; turn++) {
        reader_phase next = turn & 1 ? READER_PHASE_EVEN : READER_PHASE_ODD;
        (void)reader_anonymous_leave(registry, next);
        reader_anonymous_flip(registry, turn);
        reader_anonymous_enter(registry, next);
    }
    EXPECT_EQ(reader_anonymous_phase(registry), 4u);
    stepper.poll(true);
    EXPECT_TRUE(stepper.is_clear()) << "each phase was empty once since the grace period began";
    for (reader_phase group : {READER_PHASE_EVEN, READER_PHASE_ODD})
        (void)reader_anonymous_leave(registry, group);
    stepper.poll(true);
    stepper.end();
}

} // namespace
