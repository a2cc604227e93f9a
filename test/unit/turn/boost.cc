/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Boosting readers that a test makes of threads that sleep: who is boosted, and what is counted.
 */
#include <linux/futex.h>
#include <sched.h>
#include <thread>

#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "boosted.h"

namespace
{

int fences_answered; /* that were answered since the last boost began */

class Boost : public BoostWorld
{
  protected:
    /* A caller boosts once, where its reader stands still at both looks; @answer is its heavy fence.  False: no call
     * can be trapped here. */
    bool boost_with_fences(long (*answer)())
    {
        bool trapped = true;
        begin(GP_EXPEDITED);
        start_nudger();
        std::thread([&] {
            EXPECT_EQ(plat_sched_set(config_.kthread_prio, 0), 0);
            trapped = test::trap(SYS_membarrier, nullptr, answer);
            EXPECT_TRUE(!trapped || test::eventually([&] {
                fences_answered = 0;
                (void)turn_boost_here(expedited_);
                return fences_answered > 0;
            }));
        }).join();
        return trapped;
    }
};

TEST_F(Boost, IsCountedAsLongAsItLasts)
{
    reader_record *record = sleeper();
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() >= 3; });
    uint64_t seq = gp_seq(world_.gp(), GP_NORMAL);
    end(GP_NORMAL, {record});
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(record)->boosted_gp), seq);
    EXPECT_EQ(static_cast<uint64_t>(rtrcu_load_acquire(&turn_slot(record)->boosted_ns)),
              rtrcu_load_acquire(&drive_->turn.boost_ns.count));
    EXPECT_GT(drive_->turn.boost_ns_max, 0u);
    EXPECT_LE(drive_->turn.boost_ns_max, drive_->turn.boost_ns.count);
    EXPECT_EQ(drive_->turn.boost_refused.count, 0u) << "a slice that ends is no refusal";
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&nudger_->wanted) == 0; }));
}

/* Who waits for a running reader's word spins in the kernel for as long as that runs. */
TEST_F(Boost, NotOfWhoRuns)
{
    if (std::thread::hardware_concurrency() < 2)
        GTEST_SKIP() << "who runs all the time needs a CPU of its own";
    std::atomic<reader_record *> running{nullptr};
    std::atomic<bool> stop{false};
    int64_t paused_ns = 0;
    std::thread runner([&] {
        EXPECT_EQ(plat_sched_set(50, 0), 0);
        plat_tid self = lock_thread_id();
        auto not_run_ns = [self] { return plat_clock_now() - plat_clock_of_thread(self); };
        int64_t before = not_run_ns();
        running = world_.craft(1);
        bool last = false; /* it may have stood before it saw that it shall stop */
        for (int64_t now; !last; before = now) {
            last = stop;
            now = not_run_ns();
            paused_ns = std::max(paused_ns, now - before);
        }
    });
    EXPECT_TRUE(test::eventually([&] { return running.load() != nullptr; }));
    reader_record *asleep = sleeper();
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() >= 3; });
    uint64_t boosted_gp = rtrcu_load_acquire(&turn_slot(running)->boosted_gp);
    int64_t boosted_ns = rtrcu_load_acquire(&turn_slot(running)->boosted_ns);
    stop = true;
    runner.join();
    end(GP_NORMAL, {running, asleep});
    if (paused_ns > 50000) /* by the kernel's bound on real-time threads, or by who shares the machine */
        GTEST_SKIP() << "it did not run all the time, but stood for " << paused_ns << " ns";
    EXPECT_EQ(boosted_gp, 0u);
    EXPECT_EQ(boosted_ns, 0);
}

/* What it needs is daemons, not time; an expedited grace period does not ask. */
TEST_F(Boost, NotOfWhoMakesTheFlood)
{
    reader_record *flooder = sleeper(), *other = sleeper();
    queue(flooder, 4);
    queue(other, 3);
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() >= 3; });
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(flooder)->boosted_gp), 0u);
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(flooder)->boosted_ns), 0);
    begin(GP_EXPEDITED);
    boost_until(GP_EXPEDITED, [&] {
        return rtrcu_load_acquire(&turn_slot(flooder)->boosted_gp) == gp_seq(world_.gp(), GP_EXPEDITED);
    });
    end(GP_EXPEDITED, {flooder, other});
    end(GP_NORMAL, {});
}

/* The share of one grace period is not that of the next; who has used his is given up. */
TEST_F(Boost, AShareIsThatOfOneGracePeriod)
{
    reader_record *record = sleeper();
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() >= 1; });
    uint64_t seq = gp_seq(world_.gp(), GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return rtrcu_load_acquire(&drive_->turn.boost_given_up.count) > 0; });
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(record)->boosted_gp), seq);
    uint64_t before = boosts();
    uint32_t woken = work_thread_event(&booster_->thread);
    for (int i = 0; i < 20; i++)
        turn_boost(normal_);
    EXPECT_EQ(work_thread_event(&booster_->thread), woken) << "there is nothing left for it to do";
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    EXPECT_EQ(boosts(), before);
    end(GP_NORMAL, {record});
    EXPECT_EQ(drive_->turn.boost_given_up.count, 1u);
    test::World::set_inside(record, 1);
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() > before; });
    end(GP_NORMAL, {record});
}

/* Where another still needs help, who has had his share is chosen no more, and is nobody's afterwards. */
TEST_F(Boost, WhoHasHadHisShareIsLetGo)
{
    reader_record *had = sleeper(), *other = sleeper();
    begin(GP_NORMAL);
    turn_slot(had)->boosted_gp = gp_seq(world_.gp(), GP_NORMAL);
    turn_slot(had)->boosted_ns = drive_->turn.boost_limit_ns;
    boost_until(GP_NORMAL, [&] { return rtrcu_load_acquire(&turn_slot(other)->boosted_ns) > 0; });
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(had)->boosted_ns), drive_->turn.boost_limit_ns);
    end(GP_NORMAL, {had, other});
}

/* Behind a slice that ran out nobody is boosted for as long, whatever became of those after it. */
TEST_F(Boost, RestsBehindASliceThatRanOut)
{
    constexpr uint64_t rounds = 20;
    constexpr int64_t slice_ns = 1000000;
    reader_record *record = sleeper(), *gone = sleeper();
    finish_last_sleeper(); /* nobody can be boosted there: what is found out comes to nothing at once */
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() >= 2; });
    uint64_t before = boosts();
    int64_t began = plat_clock_now(), boosted_ns = int64_t(rtrcu_load_acquire(&drive_->turn.boost_ns.count));
    boost_until(GP_NORMAL, [&] { return boosts() >= before + 2 * rounds; });
    boosted_ns = int64_t(rtrcu_load_acquire(&drive_->turn.boost_ns.count)) - boosted_ns;
    EXPECT_GE(plat_clock_now() - began, boosted_ns - slice_ns + int64_t(rounds - 1) * slice_ns);
    end(GP_NORMAL, {record, gone});
}

/* Nobody was boosted there, for however long. */
TEST_F(Boost, NotOfWhoIsGone)
{
    reader_record *gone = sleeper();
    finish_last_sleeper();
    begin(GP_NORMAL);
    for (int i = 0; i < 20; i++) {
        turn_boost(normal_);
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    }
    EXPECT_EQ(boosts(), 0u);
    EXPECT_EQ(rtrcu_load_acquire(&drive_->turn.boost_ns.count), 0u);
    end(GP_NORMAL, {gone});
}

std::atomic<int> room_sleeps, rest_sleeps;

/* A sleep of the booster's, which ends at once: between two looks, or behind a slice that ran out. */
long note_sleep()
{
    long ns = reinterpret_cast<const struct timespec *>(test::third_argument.load())->tv_nsec;
    room_sleeps += ns == 100000;
    rest_sleeps += ns == 1000000;
    return 0;
}

/* A round that kept nobody's CPU is followed by the next at once. */
TEST_F(Boost, DoesNotRestWhereNoSliceRanOut)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
    reader_record *gone = sleeper();
    finish_last_sleeper();
    begin(GP_NORMAL);
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    bool trapped = start_booster_without_sleeps(note_sleep);
    for (int i = 0; trapped && i < 2; i++) { /* the first is through when the second has been taken */
        turn_boost(normal_);
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    }
    EXPECT_TRUE(!trapped || room_sleeps >= 10);
    EXPECT_EQ(rest_sleeps, 0);
    end(GP_NORMAL, {gone});
    if (!trapped)
        GTEST_SKIP() << "no call can be trapped here";
}

/* One thread wakes those who boost: two of them might spin at once, on CPUs that it does not wake. */
TEST_F(Boost, OneThreadBoostsAtATime)
{
    reader_record *record = sleeper();
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() > 0; });
    auto is_free = [&] { return rtrcu_load_acquire(&drive_->turn.boosting.booster.number) == 0; };
    auto take = [&] {
        lock_acquire(&nudger_->lock);
        bool free = is_free();
        if (free) {
            drive_->turn.boosting.booster = lock_thread_id();
            drive_->turn.boosting.cpu_at = &drive_->turn.boosting.cpu;
        }
        lock_release(&nudger_->lock);
        return free;
    };
    ASSERT_TRUE(test::eventually(take));
    uint64_t before = boosts();
    for (int i = 0; i < 3; i++) {
        uint32_t woken = work_thread_event(&booster_->thread);
        boost_until(GP_NORMAL, [&] { return work_thread_event(&booster_->thread) != woken; });
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    }
    EXPECT_FALSE(is_free());
    EXPECT_EQ(boosts(), before);
    lock_acquire(&nudger_->lock);
    drive_->turn.boosting.booster = PLAT_NOBODY;
    lock_release(&nudger_->lock);
    boost_until(GP_NORMAL, [&] { return boosts() > before; });
    end(GP_NORMAL, {record});
}

/* Behind a few looks in vain it sleeps until somebody boosts. */
TEST_F(Boost, WhereNobodyBoostsTheNudgerSleepsOn)
{
    reader_record *record = sleeper();
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() > 0; });
    end(GP_NORMAL, {record});
    int priority = -1;
    EXPECT_TRUE(test::eventually([&] {
        lock_acquire(&nudger_->lock);
        bool rests = drive_->turn.boosting.nap_ns == 0 && drive_->turn.boosting.booster.number == 0;
        if (rests)
            priority = rtrcu_load_relaxed(&drive_->turn.boosting.priority);
        lock_release(&nudger_->lock);
        return rests;
    }));
    EXPECT_EQ(priority, 0) << "nobody has boosted since";
}

/* A grace period of the other kind may not have come to its delay. */
TEST_F(Boost, OnlyOfTheKindThatIsAskedFor)
{
    reader_record *both = sleeper();
    begin(GP_NORMAL);
    reader_record *expedited = sleeper(); /* later than that */
    begin(GP_EXPEDITED);
    drive_->turn.boost_limit_ns = INT64_MAX / 2; /* else there might be nothing left to ask for */
    boost_until(GP_NORMAL, [&] { return boosts() > 0; });
    for (int i = 0; i < 2; i++) { /* whatever the booster was asked for before, it has done */
        turn_boost(normal_);
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    }
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(expedited)->boosted_gp), 0u);
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(both)->boosted_gp), gp_seq(world_.gp(), GP_NORMAL));
    end(GP_EXPEDITED, {both, expedited});
    end(GP_NORMAL, {});
}

reader_record *loses_its_flag;

/* A heavy fence; before the first one an update of the reader's, which was under way, has swallowed the flag. */
long lose_the_flag()
{
    if (fences_answered++ == 0)
        rtrcu_word_disarm(loses_its_flag->self);
    return 0;
}

/* Behind the fence the flag must have stood there since before it: else the reader might leave by its fast path, and
 * whoever boosts would sleep on. */
TEST_F(Boost, AFlagThatWasLostIsFencedAgain)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
    loses_its_flag = sleeper();
    reader_record *keeps_it = sleeper(); /* looked at behind the other */
    ASSERT_EQ(loses_its_flag->leaf, keeps_it->leaf);
    bool trapped = boost_with_fences(lose_the_flag);
    EXPECT_TRUE(!trapped || fences_answered == 2) << fences_answered;
    end(GP_EXPEDITED, {loses_its_flag, keeps_it});
    if (!trapped)
        GTEST_SKIP() << "no call can be trapped here";
}

reader_record *changes_hands;
uint32_t successor;

/* Before the fence is over the thread that was chosen has gone, and another has its slot. */
long give_the_slot_on()
{
    if (fences_answered++ == 0)
        rtrcu_store_relaxed(&changes_hands->thread_id, successor);
    return 0;
}

/* That one was not looked at, and the word says that the other is waited for. */
TEST_F(Boost, NotOfWhoHasTakenTheSlotMeanwhile)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
    changes_hands = sleeper();
    successor = lock_thread_number();
    bool trapped = boost_with_fences(give_the_slot_on);
    EXPECT_EQ(boosts(), 0u);
    end(GP_EXPEDITED, {changes_hands});
    if (!trapped)
        GTEST_SKIP() << "no call can be trapped here";
}

class BoostByCaller : public Boost
{
  protected:
    /* A thread at @priority boosts until it has had a slice at least; nobody else does. */
    void boost_at(int priority, std::initializer_list<reader_record *> readers)
    {
        begin(GP_EXPEDITED);
        ASSERT_NO_FATAL_FAILURE(start_nudger());
        for (reader_record *record : readers)
            ASSERT_TRUE(test::eventually([&] { return test::is_asleep(pid_t(reader_thread_id(record).number)); }));
        std::thread([&] {
            ASSERT_EQ(plat_sched_set(priority, 0), 0);
            EXPECT_TRUE(test::eventually([&] {
                (void)turn_boost_here(expedited_);
                return boosts() > 0;
            }));
        }).join();
    }
};

/* What a slice was not enough for is the worker's: a caller does not stay for the others. */
TEST_F(BoostByCaller, StopsBehindASliceThatRanOut)
{
    reader_record *one = sleeper(), *other = sleeper();
    ASSERT_EQ(one->leaf, other->leaf);
    boost_at(config_.kthread_prio, {one, other});
    EXPECT_EQ(boosts(), 1u);
    end(GP_EXPEDITED, {one, other});
}

/* Each time that the thread's CPU time is asked for it has had a second more. */
long has_run()
{
    static time_t seconds;
    *reinterpret_cast<struct timespec *>(test::second_argument.load()) = {++seconds, 0};
    return 0;
}

/* Who has run between the two looks needs nothing: no claim, no word, no fence. */
TEST_F(BoostByCaller, DoesNotChooseWhoHasRun)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
    reader_record *runs = sleeper();
    long clock = long{~reader_thread_id(runs).number} << 3 | 6; /* of that thread's time on a CPU */
    begin(GP_EXPEDITED);
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    bool trapped = true;
    std::thread([&] {
        ASSERT_EQ(plat_sched_set(config_.kthread_prio, 0), 0);
        trapped = test::trap(SYS_clock_gettime, reinterpret_cast<const void *>(clock), has_run);
        EXPECT_TRUE(!trapped || test::eventually([&] { return turn_boost_here(expedited_); }));
    }).join();
    EXPECT_EQ(turn_slot(runs)->boosted_gp, 0u);
    EXPECT_EQ(boosts(), 0u);
    end(GP_EXPEDITED, {runs});
    if (!trapped)
        GTEST_SKIP() << "no call can be trapped here";
}

/* Then it leaves the rest to the worker. */
TEST_F(BoostByCaller, DoesNotWhereItMayNot)
{
    reader_record *record = sleeper();
    begin(GP_EXPEDITED);
    EXPECT_FALSE(turn_boost_here(expedited_)) << "an ordinary thread";
    std::thread([&] {
        ASSERT_EQ(plat_sched_set(config_.kthread_prio - 1, 0), 0);
        EXPECT_FALSE(turn_boost_here(expedited_)) << "one below the worker";
        ASSERT_EQ(plat_sched_set(config_.kthread_prio, 0), 0);
        config_.boost = 0;
        EXPECT_FALSE(turn_boost_here(expedited_)) << "where nobody is boosted";
    }).join();
    EXPECT_EQ(turn_slot(record)->boosted_gp, 0u);
    end(GP_EXPEDITED, {record});
}

/* Who boosts already has said where it runs, for whoever nudges it. */
TEST_F(BoostByCaller, LeavesItToWhoBoosts)
{
    reader_record *record = sleeper();
    begin(GP_EXPEDITED);
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    struct plat_tid other = reader_thread_id(record);
    claim_for(other);
    std::thread([&] {
        ASSERT_EQ(plat_sched_set(config_.kthread_prio, 0), 0);
        for (int i = 0; i < 3; i++)
            (void)turn_boost_here(expedited_);
    }).join();
    EXPECT_TRUE(plat_tid_is(drive_->turn.boosting.booster, other));
    EXPECT_EQ(boosts(), 0u);
    claim_for({});
    end(GP_EXPEDITED, {record});
}

/* One that is not above it could not end its spinning. */
TEST_F(BoostByCaller, NeedsANudgerAboveIt)
{
    reader_record *record = sleeper();
    test::Worker still;
    start_refused_nudger(still);
    ASSERT_TRUE(test::eventually([&] { return test::is_asleep(pid_t(reader_thread_id(record).number)); }));
    begin(GP_EXPEDITED);
    std::thread([&] {
        ASSERT_EQ(plat_sched_set(config_.kthread_prio, 0), 0);
        for (int i = 0; i < 3; i++)
            EXPECT_FALSE(turn_boost_here(expedited_));
        EXPECT_EQ(boosts(), 0u);
        EXPECT_TRUE(plat_tid_is_nobody(drive_->turn.boosting.booster));
        nudger_->priority = config_.kthread_prio + 1;
        EXPECT_TRUE(test::eventually([&] {
            (void)turn_boost_here(expedited_);
            return boosts() > 0;
        }));
    }).join();
    end(GP_EXPEDITED, {record});
}

/* Where nobody has boosted for a while it is no higher than the setting says. */
TEST_F(BoostByCaller, TheNudgerIsNotAboveItForEver)
{
    constexpr int high = 20;
    reader_record *record = sleeper();
    boost_at(high, {record});
    end(GP_EXPEDITED, {record});
    EXPECT_TRUE(test::eventually([&] { /* its last look in vain, or one behind it */
                                       work_worker_wake(work_worker(&drive_->work, WORK_WORKER_NUDGE));
                                       return work_worker_priority(nudger_) == config_.kthread_prio + 1;
    }));
}

/* It can only keep those from spinning who run where it does. */
TEST_F(Boost, TheNudgerGoesWhereTheBoosterRuns)
{
    reader_record *record = sleeper();
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] {
        cpu_set_t allowed;
        auto id = pid_t(rtrcu_load_acquire(&nudger_->thread_id));
        return id != 0 && sched_getaffinity(id, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) == 1;
    });
    end(GP_NORMAL, {record});
}

TEST_F(Boost, FollowsItsPriorityDownToo)
{
    reader_record *record = sleeper();
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return rtrcu_load_acquire(&booster_->priority) == 3 && boosts() > 0; });
    EXPECT_GT(rtrcu_load_acquire(&nudger_->priority), 3);
    others_[0] = config_;
    others_[0].kthread_prio = 1;
    configure(others_[0]);
    boost_until(GP_NORMAL, [&] { return rtrcu_load_acquire(&booster_->priority) == 1; });
    end(GP_NORMAL, {record});
}

/* Where the booster may not be a real-time thread nothing is boosted, and each round that was asked for is counted. */
TEST_F(Boost, WithoutAPriorityOfItsOwnItIsARefusal)
{
    config_.kthread_prio = 0;
    reader_record *record = sleeper();
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return rtrcu_load_acquire(&drive_->turn.boost_refused.count) >= 1; });
    EXPECT_EQ(boosts(), 0u);
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(record)->booster), 0u);
    end(GP_NORMAL, {record});
}

TEST_F(Boost, IsDueAtOnceBehindADelayOrInAFlood)
{
    int64_t now = plat_clock_now();
    config_.boost_delay_us = 3600000000;
    EXPECT_TRUE(turn_boost_is_due(expedited_));
    world_.gp()->machine[GP_NORMAL].began_ns = now;
    EXPECT_FALSE(turn_boost_is_due(normal_));
    world_.gp()->machine[GP_NORMAL].began_ns = now - 3600 * INT64_C(1000000000);
    EXPECT_TRUE(turn_boost_is_due(normal_));
    world_.gp()->machine[GP_NORMAL].began_ns = now;
    drive_->work.flooded_ns = INT64_MAX / 2; /* just now, however long this test is kept from its CPU */
    EXPECT_TRUE(turn_boost_is_due(normal_));
    config_.boost = 0;
    EXPECT_FALSE(turn_boost_is_due(normal_));
    EXPECT_FALSE(turn_boost_is_due(expedited_));
}

} // namespace
