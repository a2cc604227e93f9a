/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver sched: who goes asks those who stay.
 */
#include "../../support/capture.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "../../support/driving.h"

namespace
{

class SchedDriver : public DriveWorld
{
  protected:
    /* Would a thread that is online be asked to come by, if another went now? */
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

TEST_F(SchedDriver, CallbacksThatTheirOwnerRunsHideNoneInAnotherLeaf)
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

/* A file may be slow, and the crank is held where a report is made. */
TEST_F(SchedDriver, AReportIsWrittenAfterTheCrankIsReleased)
{
    test::CapturedErrors errors;
    drive_->work.row = &driver_sched;
    watch_fence_gather(drive_->work.watch, GP_NORMAL, -EPERM);
    work_report(&drive_->work);
    EXPECT_EQ(errors.text(), "");
    lock_acquire(gp_lock_of(world_.gp(), GP_NORMAL));
    turn_gp_unlock(normal_);
    EXPECT_TRUE(errors.contains("grace periods stand still")) << errors.text();
}

/* It has a step of its own to take at the next quiescent state; nobody else has, nor does anybody without work. */
TEST_F(SchedDriver, OnlyAQuiescentStateThreadAsksItself)
{
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
        rcu_quiescent_state(); /* takes the flag back */
        EXPECT_FALSE(asks_itself(driver_sched.online)) << "nothing is left";
        reader_self_set(READER_STATE_DEADLINE);
        EXPECT_FALSE(asks_itself(driver_sched.notify));
        reader_self_clear(READER_STATE_DEADLINE);
        (void)gp_request(world_.gp(), GP_NORMAL, gp_snap(world_.gp(), GP_NORMAL));
        EXPECT_TRUE(asks_itself(driver_sched.online));
        rcu_quiescent_state();
        EXPECT_TRUE(asks_itself(driver_sched.notify));
    });
}

/* The flag of one may be swallowed where another keeps its own: who keeps it may be a deadline thread, which takes no
 * step. */
TEST_F(SchedDriver, ASwallowedFlagIsLookedForBesideOneThatIsKept)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
    static rtrcu_thread *swallows;
    static int fences;
    reader_record *first = world_.craft(RTRCU_QSBR_ONLINE);
    (void)world_.craft(RTRCU_QSBR_ONLINE); /* keeps it */
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
        GTEST_SKIP() << "no call can be trapped here";
    EXPECT_EQ(fences, 3) << "it looks again behind each flag that it had to set";
    EXPECT_TRUE(rtrcu_word_of(swallows) >> 24 != RTRCU_FLAG_FAST);
}

} // namespace
