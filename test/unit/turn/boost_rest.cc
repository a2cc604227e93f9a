/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What whoever boosts does beside it: it rests, says where it runs, and has the nudger above it.
 */
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

/* A sleep of the booster's, which ends at once; those of a slice's length are its rests. */
long note_rest()
{
    long ns = reinterpret_cast<const struct timespec *>(test::third_argument.load())->tv_nsec;
    rests += ns == 1000000;
    return 0;
}

/* A reader that does not end its section would have the CPU all the time, whatever grace period it is boosted for. */
TEST_F(BoostRest, IsHadInEitherKindOfGracePeriod)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
    reader_record *record = sleeper();
    drive_->turn.boost_limit_ns = INT64_MAX / 2;
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    bool trapped = start_booster_without_sleeps(note_rest);
    for (gp_kind kind : {GP_NORMAL, GP_EXPEDITED}) {
        test::World::set_inside(record, 1);
        begin(kind);
        uint64_t before = boosts();
        int rests_before = rests;
        boost_until(kind, [&] { return boosts() >= before + 3; }); /* it rests before each of them but the first */
        EXPECT_TRUE(!trapped || rests >= rests_before + 2) << kind;
        end(kind, {record});
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    }
    if (!trapped)
        GTEST_SKIP() << "no call can be trapped here";
}

/* Where the kernel does not tell it in the booster's memory the nudger would wait for it on another CPU. */
TEST_F(BoostRest, WhoBoostsSaysWhereItRuns)
{
    reader_record *record = sleeper();
    drive_->turn.boost_limit_ns = INT64_MAX / 2; /* there may be many of them */
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

/* While the caller waits for a reader's word the nudger, which somebody has lifted, settles at what it needs. */
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

/* One that had settled at what the setting says could not end the spinning of a caller above that. */
TEST_F(BoostRest, TheNudgerStaysAboveACallerWhoBoosts)
{
    constexpr int high = 20;
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
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
        GTEST_SKIP() << "no call can be trapped here";
}

/* A wake-up for each boost would preempt readers: there is one for the first look, and one for looking sooner; none for
 * a second reader, whose first slice needs no more than what the first one's others did. */
TEST_F(BoostRest, TheNudgerIsWokenForASoonerLookAlone)
{
    reader_record *one = sleeper(), *two = sleeper();
    test::Worker still;
    drive_->turn.boost_limit_ns = 40000000; /* forty slices each, or fewer where they last longer */
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

TEST_F(BoostRest, OneLookTakesTheNudgerToWhereWhoBoostsRuns)
{
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    cpu_set_t allowed, own;
    ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    auto id = pid_t(rtrcu_load_acquire(&nudger_->thread_id));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        EXPECT_TRUE(test::eventually([&] { return test::is_asleep(id); })) << "for ever: nothing is to be nudged";
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
