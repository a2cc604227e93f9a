/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of refused boosts: by the kernel, without a nudger above the booster, or of a reader that another boosts. */
#include <cerrno>
#include <linux/futex.h>
#include <thread>

#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "boosted.h"

namespace
{

using BoostRefused = BoostWorld;

std::atomic<uint64_t> locks_refused;

/* Refuses each futex call on a reader's word, and counts those that lock it. */
long refuse_and_count()
{
    constexpr unsigned long lock_pi2 = 13; /* newer than some headers */
    unsigned long operation = test::second_argument & ~static_cast<unsigned long>(FUTEX_PRIVATE_FLAG);
    locks_refused += operation == FUTEX_LOCK_PI || operation == lock_pi2;
    return -EPERM;
}

/* The kernel refuses the futex calls, as in a sandbox.  Each attempt is counted. */
TEST_F(BoostRefused, RefusalOfTheKernelIsCounted)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    reader_record *record = sleeper();
    bool trapped = true;
    begin(GP_EXPEDITED);
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    locks_refused = 0;
    std::thread([&] {
        ASSERT_EQ(plat_sched_set(config_.kthread_prio, 0), 0);
        trapped = test::trap(SYS_futex, reader_boost_word(record), refuse_and_count);
        EXPECT_TRUE(!trapped || test::eventually([&] {
            (void)turn_boost_here(expedited_);
            return locks_refused >= 3;
        }));
    }).join();
    EXPECT_TRUE(!trapped || drive_->turn.boost_refused.count == locks_refused)
        << drive_->turn.boost_refused.count << " of " << locks_refused;
    EXPECT_EQ(boosts(), 0u);
    end(GP_EXPEDITED, {record});
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
}

/* Without a nudger above the booster a request counts as refused. */
TEST_F(BoostRefused, NoReaderIsBoostedIfTheNudgersPriorityIsNotHigher)
{
    reader_record *record = sleeper();
    test::Worker still;
    start_refused_nudger(still);
    begin(GP_NORMAL);
    for (int i = 0; i < 2; i++) { /* the first request is finished when the second has been taken */
        turn_boost(normal_);
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    }
    EXPECT_EQ(work_worker_priority(booster_), config_.kthread_prio);
    EXPECT_GE(rtrcu_load_acquire(&drive_->turn.boost_refused.count), 1u);
    EXPECT_EQ(boosts(), 0u);
    end(GP_NORMAL, {record});
}

/* A reader that another thread boosts is not boosted until that thread ends its boost. */
TEST_F(BoostRefused, ReaderThatAnotherThreadBoostsIsNotBoostedAgain)
{
    constexpr uint32_t other = 77;
    reader_record *record = sleeper();
    uint32_t *booster = &turn_slot(record)->booster;
    begin(GP_EXPEDITED);
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    ASSERT_TRUE(test::eventually([&] { return test::is_asleep(pid_t(reader_thread_id(record).number)); }));
    rtrcu_store_release(booster, other);
    std::thread([&] {
        ASSERT_EQ(plat_sched_set(config_.kthread_prio, 0), 0);
        for (int i = 0; i < 3; i++)
            EXPECT_TRUE(turn_boost_here(expedited_)) << "no slice has run out";
        EXPECT_EQ(rtrcu_load_acquire(booster), other);
        EXPECT_EQ(boosts(), 0u);
        rtrcu_store_release(booster, 0);
        EXPECT_TRUE(test::eventually([&] {
            (void)turn_boost_here(expedited_);
            return boosts() > 0;
        }));
    }).join();
    end(GP_EXPEDITED, {record});
}

/* A reader that is outside is not boosted, and another thread's claim on it stays. */
TEST_F(BoostRefused, ReaderOutsideIsNotBoosted)
{
    constexpr uint32_t other = 77;
    reader_record *record = sleeper();
    uint32_t *booster = &turn_slot(record)->booster;
    begin(GP_EXPEDITED);
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    ASSERT_TRUE(test::eventually([&] { return test::is_asleep(pid_t(reader_thread_id(record).number)); }));
    test::World::set_inside(record, 0);
    rtrcu_store_release(booster, other);
    std::thread([&] {
        ASSERT_EQ(plat_sched_set(config_.kthread_prio, 0), 0);
        for (int i = 0; i < 3; i++)
            (void)turn_boost_here(expedited_);
        EXPECT_EQ(rtrcu_load_acquire(booster), other);
    }).join();
    EXPECT_EQ(boosts(), 0u);
    rtrcu_store_release(booster, 0);
    end(GP_EXPEDITED, {record});
}

} // namespace
