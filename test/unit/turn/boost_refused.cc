/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where nobody is boosted: the kernel refuses it, no nudger is above the booster, or another boosts the reader.
 */
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

/* What is done to a reader's word: none of it may be. */
long refuse_and_count()
{
    constexpr unsigned long lock_pi2 = 13; /* newer than some headers */
    unsigned long operation = test::second_argument & ~static_cast<unsigned long>(FUTEX_PRIVATE_FLAG);
    locks_refused += operation == FUTEX_LOCK_PI || operation == lock_pi2;
    return -EPERM;
}

/* As by a sandbox: nobody was boosted, and each time is counted. */
TEST_F(BoostRefused, ByTheKernelIsCounted)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
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
        GTEST_SKIP() << "no call can be trapped here";
}

/* The booster needs one above itself, and what was asked of it is counted where it has none. */
TEST_F(BoostRefused, WithANudgerNoHigherThanTheBooster)
{
    reader_record *record = sleeper();
    test::Worker still;
    start_refused_nudger(still);
    begin(GP_NORMAL);
    for (int i = 0; i < 2; i++) { /* the first is through when the second has been taken */
        turn_boost(normal_);
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    }
    EXPECT_EQ(work_worker_priority(booster_), config_.kthread_prio);
    EXPECT_GE(rtrcu_load_acquire(&drive_->turn.boost_refused.count), 1u);
    EXPECT_EQ(boosts(), 0u);
    end(GP_NORMAL, {record});
}

/* It is that one's until it lets go. */
TEST_F(BoostRefused, WhereAnotherBoostsTheReader)
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

/* Nothing is done about one that is outside, nor is another's claim of it ended. */
TEST_F(BoostRefused, OfAReaderThatHasLeft)
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
