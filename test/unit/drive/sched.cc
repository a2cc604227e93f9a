/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver sched: who goes asks those who stay.
 */
#include "world.h"

namespace
{

class SchedDriver : public DriveWorld
{
  protected:
    /* Would a thread that is online be asked to come by, if another went now? */
    bool asks()
    {
        reader_record *online = world_.craft(RTRCU_QSBR_ONLINE);
        drive_driver_sched.leave(drive_);
        reader_lock(online->leaf);
        bool asked = !reader_arm(online);
        reader_unlock(online->leaf);
        test::World::set_inside(online, 0);
        world_.withdraw(online);
        return asked;
    }
};

/* Callbacks that are ready, and no grace period is needed for them. */
TEST_F(SchedDriver, CallbacksOfAThreadThatIsGoneAreSomebodysWork)
{
    reader_record *owner = world_.craft(0);
    make_ready(owner, 1);
    EXPECT_FALSE(gp_is_needed(world_.gp(), GP_NORMAL));
    EXPECT_FALSE(asks()) << "their owner runs them";
    world_.withdraw(owner);
    EXPECT_TRUE(asks());
}

} // namespace
