/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of slow paths: the state that they must preserve, and the state that they repair. */
#include <csignal>

#include <gtest/gtest.h>

#include "../../support/complaints.h"
#include "../../support/internals.h"
#include "../../support/sandbox.h"
#include "../../support/sync.h"
#include "tasks.h"

namespace
{

using test::gp_;

bool is_open(int number)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    return sigismember(&now, number) == 0;
}

/* The surplus unlock borrows from the bits of the discipline without a slow path; the lock's slow path repairs them. */
TEST(Slow, LockAfterASurplusUnlockOpensASection)
{
    test::CapturedComplaints errors;
    test::Worker reader;
    reader.run([] {
        ASSERT_EQ(section_register(gp_, RTRCU_QSBR), 0);
        rcu_read_unlock();
        reader_arm_self();
        rcu_read_lock();
        EXPECT_EQ(section_nesting(), 1u);
        rcu_read_unlock();
        EXPECT_EQ(section_nesting(), 0u);
        EXPECT_EQ(rtrcu_word_read() & RTRCU_INSIDE_MASK, static_cast<uint32_t>(RTRCU_QSBR_ONLINE));
        rcu_thread_offline();
    });
    EXPECT_TRUE(errors.contains("rcu_read_unlock() without rcu_read_lock(); ignored"));
}

/* A handler reads between a surplus unlock and the slow path that repairs it: the handler's section has nesting 1. */
TEST(Slow, HandlersSectionBeforeTheRepairOfASurplusUnlockHasNestingOne)
{
    if (RTRCU_FLAG_INITIAL != 0)
        GTEST_SKIP() << "the flag and the nesting are in different words";
    test::CapturedComplaints errors;
    test::Worker reader;
    reader.run([] {
        rcu_read_lock();
        rcu_read_unlock(); /* registers, and clears the flag */
        EXPECT_TRUE(rtrcu_word_leave());
        rcu_read_lock();
        EXPECT_EQ(section_nesting(), 1u);
        rcu_read_unlock();
        EXPECT_EQ(section_nesting(), 0u);
        rtrcu_read_unlock_slow(); /* the slow path that the handler interrupted */
        EXPECT_EQ(section_nesting(), 0u);
        rcu_read_lock();
        EXPECT_EQ(section_nesting(), 1u);
        rcu_read_unlock();
    });
    EXPECT_TRUE(errors.contains("rcu_read_unlock() without rcu_read_lock(); ignored"));
}

/* Nesting beyond RTRCU_NESTING_MAX in a preemptible thread is not taken for a surplus unlock. */
TEST(Slow, DeepNestingIsNotMistakenForASurplusUnlock)
{
    test::CapturedComplaints errors;
    test::Worker reader;
    reader.run([] {
        constexpr uint32_t deep = RTRCU_NESTING_MAX + 2;
        rcu_read_lock();
        rtrcu_word_add(&rtrcu_self, deep - 1);
        reader_arm_self();
        rcu_read_unlock();
        EXPECT_EQ(section_nesting(), deep - 1);
        reader_arm_self();
        rtrcu_word_add(&rtrcu_self, 1);
        section_lock_slow(gp_); /* in a debug build rcu_read_lock() would end the process */
        EXPECT_EQ(section_nesting(), deep);
        rtrcu_word_add(&rtrcu_self, 1 - deep);
        rcu_read_unlock();
        EXPECT_EQ(section_nesting(), 0u);
    });
    EXPECT_FALSE(errors.contains("rcu_read_unlock() without rcu_read_lock()"));
}

/* A quiescent state repairs a surplus unlock, and still reports. */
TEST(Slow, QuiescentStateAfterASurplusUnlockReports)
{
    test::CapturedComplaints errors;
    test::Worker reader;
    reader.run([] { ASSERT_EQ(section_register(gp_, RTRCU_QSBR), 0); });
    {
        test::GpStepper stepper(gp_);
        EXPECT_TRUE(stepper.begin_and_scan());
        reader.run([] {
            rtrcu_word_add(&rtrcu_self, UINT32_MAX);
            turn_perform(&rtrcu_domain.drive.turn, section_quiescent_slow(gp_));
        });
        EXPECT_TRUE(stepper.is_clear());
        reader.run([] { rcu_thread_offline(); });
        stepper.poll(true);
        stepper.end();
    }
    EXPECT_TRUE(errors.contains("rcu_read_unlock() without rcu_read_lock(); ignored"));
}

TEST(Slow, EachSlowPathIsCounted)
{
    SKIP_WITHOUT_MEMBARRIER();
    test::Worker reader;
    reader.run([] {
        rcu_read_lock(); /* registers */
        rcu_read_unlock();
        uint64_t before = rtrcu_self.record->slow_calls.count;
        reader_arm_self();
        rcu_read_lock();
        EXPECT_EQ(rtrcu_self.record->slow_calls.count, before + 1);
        rcu_read_unlock(); /* clears the flag */
        EXPECT_EQ(rtrcu_self.record->slow_calls.count, before + 2);
        rcu_read_lock();
        rcu_read_unlock();
        EXPECT_EQ(rtrcu_self.record->slow_calls.count, before + 2);
    });
}

/* A handler reads while its thread sleeps in a call: the thread's acknowledgment of fences must not hold meanwhile. */
TEST(Slow, HandlersSectionWithdrawsTheSleepersAcknowledgment)
{
    test::Worker reader;
    reader.run([] {
        rcu_read_lock(); /* registers */
        rcu_read_unlock();
        ASSERT_TRUE(reader_sleep_begin());
        EXPECT_EQ(rtrcu_self.record->fence_ack, READER_FENCES_ANY);
        rcu_read_lock();
        EXPECT_NE(rtrcu_self.record->fence_ack, READER_FENCES_ANY);
        rcu_read_unlock();
        EXPECT_EQ(rtrcu_self.record->fence_ack, READER_FENCES_ANY) << "the thread is marked asleep again";
        reader_sleep_end(&rtrcu_domain.registry);
    });
}

/* A task that parked while the scan set the thread's bit is on the thread's list; the report must promote it first. */
TEST(Slow, ReportPromotesATaskThatParkedDuringTheScan)
{
    rcu_task task;
    rcu_task_init(&task, "meanwhile");
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    stepper.poll(true);
    reader.run([&] {
        parked_add_to_thread(rtrcu_self.record, &task);
        rcu_read_unlock();
        EXPECT_EQ(parked_on_thread(rtrcu_self.record), 0u);
        EXPECT_EQ(task.where, static_cast<uint32_t>(PARKED_ON_LEAF));
    });
    EXPECT_FALSE(stepper.is_clear()) << "the grace period waits for the task";
    rcu_task_unlist(&task);
    stepper.poll(true);
    ASSERT_TRUE(stepper.is_clear());
    stepper.end();
}

/* A handler's section ends while its thread holds a lock that a report needs: the flag stays set for a later report. */
TEST(Slow, UnlockWithALockHeldThatAReportNeedsKeepsTheFlag)
{
    test::Worker reader;
    reader.run([] {
        rcu_read_lock(); /* registers */
        rcu_read_unlock();
        reader_leaf *leaf = rtrcu_self.record->leaf;
        reader_lock(leaf);
        reader_arm_self();
        rcu_read_lock();
        rcu_read_unlock();
        EXPECT_EQ(rtrcu_word_read() >> 24, RTRCU_FLAG_SPECIAL);
        reader_unlock(leaf);
        rcu_read_lock();
        rcu_read_unlock();
        bool stays = reader_fences_are_full(&rtrcu_domain.registry);
        EXPECT_EQ(rtrcu_word_read() >> 24, stays ? RTRCU_FLAG_SPECIAL : RTRCU_FLAG_FAST);
    });
}

TEST(Slow, SlowPathsLeaveSignalsUnblocked)
{
    test::Worker reader;
    reader.run([] {
        rcu_read_lock(); /* registers */
        EXPECT_TRUE(is_open(SIGUSR1));
        rcu_read_unlock();
        EXPECT_EQ(section_leave(gp_, false), GP_ACTION_NONE);
        EXPECT_TRUE(is_open(SIGUSR1));
    });
}

} // namespace
