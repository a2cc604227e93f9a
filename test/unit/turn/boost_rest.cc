/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of a booster's pauses, its published CPU, and the priority and wake-ups of its nudger. */
#include <cerrno>
#include <sched.h>
#include <thread>

#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "boosted.h"

namespace
{

using BoostRest = BoostWorld;

std::atomic<int> rests;

/* In place of a sleep of the booster: counts sleeps as long as a slice, which are pauses. */
long note_rest()
{
    long ns = reinterpret_cast<const struct timespec *>(test::third_argument.load())->tv_nsec;
    rests += ns == 1000000;
    return 0;
}

/* The booster pauses after each slice: without pauses a reader that stays inside would have the CPU all the time. */
TEST_F(BoostRest, BoosterPausesInBothKindsOfGracePeriod)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    reader_record *record = sleeper();
    drive_->turn.boost_limit_ns = INT64_MAX / 2;
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    bool trapped = start_booster_without_sleeps(note_rest);
    for (gp_kind kind : {GP_NORMAL, GP_EXPEDITED}) {
        test::World::set_inside(record, 1);
        begin(kind);
        uint64_t before = boosts();
        int rests_before = rests;
        boost_until(kind, [&] { return boosts() >= before + 3; }); /* a pause precedes each boost except the first */
        EXPECT_TRUE(!trapped || rests >= rests_before + 2) << kind;
        end(kind, {record});
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    }
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
}

/* The nudger reads the booster's CPU, to move there. */
TEST_F(BoostRest, BoosterPublishesItsCpu)
{
    reader_record *record = sleeper();
    drive_->turn.boost_limit_ns = INT64_MAX / 2; /* permits many boosts */
    begin(GP_EXPEDITED);
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        std::thread([&] {
            ASSERT_EQ(plat_cpu_bind(cpu), 0);
            ASSERT_EQ(plat_sched_set(config_.kthread_prio, 0), 0);
            uint64_t before = boosts();
            EXPECT_TRUE(test::eventually([&] {
                (void)turn_boost_here(expedited_);
                return boosts() > before;
            }));
        }).join();
        EXPECT_EQ(rtrcu_load_relaxed(&drive_->turn.boosting.cpu), static_cast<uint32_t>(cpu));
    }
    end(GP_EXPEDITED, {record});
}

struct domain_drive *boosts_now;
std::atomic<int> settled_at;

/* In place of a boost: raises the nudger, and waits until it has lowered its priority again. */
long let_the_nudger_settle()
{
    constexpr int higher = 40;
    struct work_worker *nudger = work_worker(&boosts_now->work, WORK_WORKER_NUDGE);
    work_worker_lift(nudger, higher);
    (void)test::eventually([&] {
        work_worker_wake(nudger);
        return work_worker_priority(nudger) != higher;
    });
    settled_at = work_worker_priority(nudger);
    return -ETIMEDOUT;
}

/* The nudger's priority stays above that of a boosting caller, which the nudger could not interrupt otherwise. */
TEST_F(BoostRest, NudgerStaysAboveABoostingCaller)
{
    constexpr int high = 20;
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    reader_record *record = sleeper();
    bool trapped = true;
    boosts_now = drive_;
    begin(GP_EXPEDITED);
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    std::thread([&] {
        ASSERT_EQ(plat_sched_set(high, 0), 0);
        trapped = test::trap(SYS_futex, reader_boost_word(record), let_the_nudger_settle);
        EXPECT_TRUE(!trapped || test::eventually([&] {
            (void)turn_boost_here(expedited_);
            return boosts() > 0;
        }));
    }).join();
    EXPECT_TRUE(!trapped || settled_at == high + 1) << settled_at;
    end(GP_EXPEDITED, {record});
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
}

/* A wake-up for each boost would preempt readers.  The nudger is woken for the first poll, and if a poll is needed
 * earlier than planned. */
TEST_F(BoostRest, NudgerIsWokenOnlyForAnEarlierPoll)
{
    reader_record *one = sleeper(), *two = sleeper();
    test::Worker still;
    drive_->turn.boost_limit_ns = 40000000; /* up to forty slices per reader */
    start_still_nudger(still, config_.kthread_prio + 1);
    begin(GP_EXPEDITED);
    std::thread([&] {
        ASSERT_EQ(plat_sched_set(config_.kthread_prio, 0), 0);
        for (reader_record *record : {one, two}) {
            EXPECT_TRUE(test::eventually([&] {
                (void)turn_boost_here(expedited_);
                return rtrcu_load_acquire(&turn_slot(record)->boosted_ns) >= drive_->turn.boost_limit_ns;
            }));
            EXPECT_EQ(work_thread_event(&nudger_->thread), 2u);
        }
    }).join();
    EXPECT_GE(boosts(), 4u);
    end(GP_EXPEDITED, {one, two});
}

TEST_F(BoostRest, OnePollMovesTheNudgerToTheBoostersCpu)
{
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    cpu_set_t allowed, own;
    ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    auto id = pid_t(rtrcu_load_acquire(&nudger_->thread_id));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        EXPECT_TRUE(test::eventually([&] { return test::is_asleep(id); }))
            << "the nudger sleeps while no thread boosts";
        rtrcu_store_relaxed(&drive_->turn.boosting.cpu, static_cast<uint32_t>(cpu));
        claim_for(lock_thread_id());
        work_worker_wake(work_worker(&drive_->work, WORK_WORKER_NUDGE));
        EXPECT_TRUE(test::eventually([&] {
            return sched_getaffinity(id, sizeof(own), &own) == 0 && CPU_COUNT(&own) == 1 && CPU_ISSET(cpu, &own);
        })) << cpu;
    }
    claim_for(PLAT_NOBODY);
}

} // namespace
