/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of driver sched, in which threads of the program advance grace periods. */
#include "../../support/capture.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "../../support/driving.h"
#include "../../support/sandbox.h"

namespace
{

class SchedDriver : public DriveWorld
{
  protected:
    /* Returns whether the exit of a thread now sets the flag of an online thread, which then continues the work. */
    bool asks()
    {
        reader_record *online = world_.craft(RTRCU_QSBR_ONLINE);
        driver_sched.leave(&drive_->driver);
        reader_lock(online->leaf);
        bool requested = !reader_arm(online);
        reader_unlock(online->leaf);
        test::World::set_inside(online, 0);
        world_.withdraw(online);
        return requested;
    }
};

/* Ready callbacks of an exited thread are work, although no grace period is needed. */
TEST_F(SchedDriver, CallbacksOfAnExitedThreadCountAsWork)
{
    reader_record *owner = world_.craft(0);
    make_ready(owner, 1);
    EXPECT_FALSE(gp_is_needed(world_.gp(), GP_NORMAL));
    EXPECT_FALSE(asks()) << "the owner runs its callbacks";
    world_.withdraw(owner);
    EXPECT_TRUE(asks());
}

TEST_F(SchedDriver, CallbacksThatOwnersRunDoNotHideWorkInALaterLeaf)
{
    reader_record *there = world_.craft(0);
    make_ready(there, 1);
    world_.fill_last_leaf();
    reader_record *gone = world_.craft(0);
    ASSERT_NE(there->leaf, gone->leaf);
    make_ready(gone, 1);
    world_.withdraw(gone);
    EXPECT_TRUE(asks());
}

/* Writing may take long, so no report is written with the gp lock held. */
TEST_F(SchedDriver, ReportIsWrittenAfterTheGpLockIsReleased)
{
    test::CapturedErrors errors;
    drive_->work.row = &driver_sched;
    watch_fence_gather(drive_->work.watch, GP_NORMAL, -EPERM);
    work_report(&drive_->work);
    EXPECT_EQ(errors.text(), "");
    lock_acquire(gp_lock_of(world_.gp(), GP_NORMAL));
    turn_gp_unlock(normal_);
    EXPECT_TRUE(errors.contains("grace periods cannot end")) << errors.text();
}

/* A quiescent-state thread with work sets its own flag, so that its next quiescent state takes a step.  Preemptible
 * threads and deadline threads do not. */
TEST_F(SchedDriver, OnlyAQuiescentStateThreadSetsItsOwnFlag)
{
    SKIP_WITHOUT_MEMBARRIER();
    const auto asks_itself = [&](auto say) {
        EXPECT_FALSE(reader_word_is_special(reader_self_word()));
        say(&drive_->driver);
        return reader_word_is_special(reader_self_word());
    };
    test::Worker preemptible, quiescent;
    preemptible.run([&] {
        rcu_read_lock(); /* registers */
        rcu_read_unlock();
        EXPECT_FALSE(asks_itself(driver_sched.notify));
    });
    quiescent.run([&] {
        ASSERT_EQ(section_register(&rtrcu_domain.gp, RTRCU_QSBR), 0);
        rcu_quiescent_state(); /* clears the flag */
        EXPECT_FALSE(asks_itself(driver_sched.online)) << "no work is left";
        reader_self_set(READER_STATE_DEADLINE);
        EXPECT_FALSE(asks_itself(driver_sched.notify));
        reader_self_clear(READER_STATE_DEADLINE);
        (void)gp_request(world_.gp(), GP_NORMAL, gp_snap(world_.gp(), GP_NORMAL));
        EXPECT_TRUE(asks_itself(driver_sched.online));
        rcu_quiescent_state();
        EXPECT_TRUE(asks_itself(driver_sched.notify));
    });
}

/* A thread whose update overwrites the flag is found, although another thread keeps its flag. */
TEST_F(SchedDriver, LostFlagIsDetectedIfAnotherThreadKeepsItsFlag)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    static rtrcu_thread *swallows;
    static int fences;
    reader_record *first = world_.craft(RTRCU_QSBR_ONLINE);
    (void)world_.craft(RTRCU_QSBR_ONLINE); /* keeps its flag */
    swallows = first->self;
    fences = 0;
    (void)gp_request(world_.gp(), GP_NORMAL, gp_snap(world_.gp(), GP_NORMAL));
    bool trapped = true;
    std::thread([&] {
        trapped = test::trap(SYS_membarrier, nullptr, [] {
            if (++fences <= 2)
                rtrcu_word_disarm(swallows);
            return 0L;
        });
        driver_sched.leave(&drive_->driver);
    }).join();
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
    EXPECT_EQ(fences, 3) << "the check repeats after each flag that it had to set";
    EXPECT_TRUE(rtrcu_word_of(swallows) >> 24 != RTRCU_FLAG_FAST);
}

} // namespace
