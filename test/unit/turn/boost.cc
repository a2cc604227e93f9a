/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of boosting; the readers are sleeping threads of the test. */
#include <linux/futex.h>
#include <sched.h>
#include <thread>

#include "../../support/sandbox.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "boosted.h"

namespace
{

int fences_answered; /* heavy fences answered since the last boost began */

class Boost : public BoostWorld
{
  protected:
    /* A caller boosts once, with @answer in place of membarrier().  Returns false if system calls cannot be
     * trapped here. */
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

TEST_F(Boost, TimeOfABoostIsAddedToTheStatistics)
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
    EXPECT_EQ(drive_->turn.boost_refused.count, 0u) << "the end of a slice does not count as a refusal";
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&nudger_->wanted) == 0; }));
}

/* A running reader is not boosted: the booster would spin in the kernel as long as the reader runs. */
TEST_F(Boost, RunningReaderIsNotBoosted)
{
    SKIP_WITHOUT_MEMBARRIER();
    if (std::thread::hardware_concurrency() < 2)
        GTEST_SKIP() << "a reader that always runs needs a CPU of its own";
    std::atomic<reader_record *> running{nullptr};
    std::atomic<bool> stop{false};
    int64_t paused_ns = 0;
    std::thread runner([&] {
        EXPECT_EQ(plat_sched_set(50, 0), 0);
        plat_tid self = lock_thread_id();
        auto not_run_ns = [self] { return plat_clock_now() - plat_clock_of_thread(self); };
        int64_t before = not_run_ns();
        running = world_.craft(1);
        bool last = false; /* the thread measures once more after the test has told it to stop */
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
    if (paused_ns > 50000) /* the kernel throttled or preempted the reader */
        GTEST_SKIP() << "the reader was off the CPU for " << paused_ns << " ns";
    EXPECT_EQ(boosted_gp, 0u);
    EXPECT_EQ(boosted_ns, 0);
}

/* A normal grace period does not boost a reader whose backlog is at its share of the process's limit. */
TEST_F(Boost, NormalGracePeriodDoesNotBoostAReaderWhoseBacklogIsAtItsShare)
{
    config_.qmax = 1000;
    config_.qmax_process = 6;
    reader_record *flooder = sleeper(), *other = sleeper();
    queue(flooder, 5);
    queue_and_collect(other, 2);
    ASSERT_EQ(callback_full_at(cb_), 3u);
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() >= 3; });
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(flooder)->boosted_gp), 0u);
    EXPECT_NE(rtrcu_load_acquire(&turn_slot(other)->boosted_gp), 0u);
    end(GP_NORMAL, {flooder, other});
}

/* A reader whose backlog is at qmax is not boosted by a normal grace period, but by an expedited one. */
TEST_F(Boost, NormalGracePeriodDoesNotBoostFloodingReader)
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

/* A reader that has reached its limit is not boosted again in that grace period, but in the next one. */
TEST_F(Boost, BoostLimitAppliesToOneGracePeriod)
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
    EXPECT_EQ(work_thread_event(&booster_->thread), woken) << "the booster is not woken again";
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    EXPECT_EQ(boosts(), before);
    end(GP_NORMAL, {record});
    EXPECT_EQ(drive_->turn.boost_given_up.count, 1u);
    test::World::set_inside(record, 1);
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() > before; });
    end(GP_NORMAL, {record});
}

/* The booster does not choose a reader at its limit, and chooses another reader instead. */
TEST_F(Boost, AnotherReaderIsChosenIfTheFirstIsAtItsLimit)
{
    reader_record *had = sleeper(), *other = sleeper();
    begin(GP_NORMAL);
    turn_slot(had)->boosted_gp = gp_seq(world_.gp(), GP_NORMAL);
    turn_slot(had)->boosted_ns = drive_->turn.boost_limit_ns;
    boost_until(GP_NORMAL, [&] { return rtrcu_load_acquire(&turn_slot(other)->boosted_ns) > 0; });
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(had)->boosted_ns), drive_->turn.boost_limit_ns);
    end(GP_NORMAL, {had, other});
}

/* After a used-up slice the booster pauses as long as a slice lasts, even if other boosts have failed since. */
TEST_F(Boost, BoosterPausesAfterAUsedUpSlice)
{
    constexpr uint64_t rounds = 20;
    constexpr int64_t slice_ns = 1000000;
    reader_record *record = sleeper(), *gone = sleeper();
    finish_last_sleeper(); /* the boost of this reader fails immediately */
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() >= 2; });
    uint64_t before = boosts();
    int64_t began = plat_clock_now(), boosted_ns = int64_t(rtrcu_load_acquire(&drive_->turn.boost_ns.count));
    boost_until(GP_NORMAL, [&] { return boosts() >= before + 2 * rounds; });
    boosted_ns = int64_t(rtrcu_load_acquire(&drive_->turn.boost_ns.count)) - boosted_ns;
    EXPECT_GE(plat_clock_now() - began, boosted_ns - slice_ns + int64_t(rounds - 1) * slice_ns);
    end(GP_NORMAL, {record, gone});
}

/* The boost of a reader whose thread has exited is not counted. */
TEST_F(Boost, ExitedReaderIsNotBoosted)
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

/* In place of a sleep of the booster: counts sleeps between two samples, and pauses after a slice. */
long note_sleep()
{
    long ns = reinterpret_cast<const struct timespec *>(test::third_argument.load())->tv_nsec;
    room_sleeps += ns == 100000;
    rest_sleeps += ns == 1000000;
    return 0;
}

/* The boost fails immediately, so no slice is used up after which the booster would pause. */
TEST_F(Boost, BoosterDoesNotPauseIfNoSliceWasUsedUp)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    reader_record *gone = sleeper();
    finish_last_sleeper();
    begin(GP_NORMAL);
    ASSERT_NO_FATAL_FAILURE(start_nudger());
    bool trapped = start_booster_without_sleeps(note_sleep);
    for (int i = 0; trapped && i < 2; i++) { /* the first request is finished when the second has been taken */
        turn_boost(normal_);
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    }
    EXPECT_TRUE(!trapped || room_sleeps >= 10);
    EXPECT_EQ(rest_sleeps, 0);
    end(GP_NORMAL, {gone});
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
}

/* There is one nudger, which can interrupt only a booster on its own CPU: so only one thread may boost. */
TEST_F(Boost, OneThreadBoostsAtATime)
{
    auto booster_is_free = [&] { return rtrcu_load_acquire(&drive_->turn.boosting.booster.number) == 0; };
    auto become_booster = [&] {
        lock_acquire(&nudger_->lock);
        bool free = booster_is_free();
        if (free) {
            drive_->turn.boosting.booster = lock_thread_id();
            drive_->turn.boosting.cpu_at = &drive_->turn.boosting.cpu;
        }
        lock_release(&nudger_->lock);
        return free;
    };
    auto stop_being_booster = [&] {
        lock_acquire(&nudger_->lock);
        drive_->turn.boosting.booster = PLAT_NOBODY;
        lock_release(&nudger_->lock);
    };
    auto request_a_boost_and_wait = [&] {
        uint32_t woken = work_thread_event(&booster_->thread);
        boost_until(GP_NORMAL, [&] { return work_thread_event(&booster_->thread) != woken; });
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    };
    reader_record *record = sleeper();
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return boosts() > 0; });

    ASSERT_TRUE(test::eventually(become_booster));
    uint64_t before = boosts();
    for (int i = 0; i < 3; i++)
        request_a_boost_and_wait();
    EXPECT_FALSE(booster_is_free());
    EXPECT_EQ(boosts(), before) << "this thread is the booster";

    stop_being_booster();
    boost_until(GP_NORMAL, [&] { return boosts() > before; });
    end(GP_NORMAL, {record});
}

/* After a few idle polls the nudger sleeps until a thread boosts. */
TEST_F(Boost, NudgerSleepsWithoutABooster)
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
    EXPECT_EQ(priority, 0) << "no thread has boosted since";
}

/* Readers of the other kind are not boosted: the boost delay of their grace period may not have passed. */
TEST_F(Boost, OnlyReadersOfTheRequestedKindAreBoosted)
{
    reader_record *both = sleeper();
    begin(GP_NORMAL);
    reader_record *expedited = sleeper(); /* entered after the normal grace period began */
    begin(GP_EXPEDITED);
    drive_->turn.boost_limit_ns = INT64_MAX / 2; /* so that there is always a reader to boost */
    boost_until(GP_NORMAL, [&] { return boosts() > 0; });
    for (int i = 0; i < 2; i++) { /* completes all earlier requests to the booster */
        turn_boost(normal_);
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&booster_->wanted) == 0; }));
    }
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(expedited)->boosted_gp), 0u);
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(both)->boosted_gp), gp_seq(world_.gp(), GP_NORMAL));
    end(GP_EXPEDITED, {both, expedited});
    end(GP_NORMAL, {});
}

reader_record *loses_its_flag;

/* Replaces the heavy fence.  The first call clears the flag, as an update by the reader itself may do at the same
 * time. */
long lose_the_flag()
{
    if (fences_answered++ == 0)
        rtrcu_word_disarm(loses_its_flag->self);
    return 0;
}

/* A flag set after the fence does not count: the reader could still leave by its fast path, and not end the boost. */
TEST_F(Boost, FlagLostByTheReaderIsSetAndFencedAgain)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    loses_its_flag = sleeper();
    reader_record *keeps_it = sleeper(); /* checked after the other one */
    ASSERT_EQ(loses_its_flag->leaf, keeps_it->leaf);
    bool trapped = boost_with_fences(lose_the_flag);
    EXPECT_TRUE(!trapped || fences_answered == 2) << fences_answered;
    end(GP_EXPEDITED, {loses_its_flag, keeps_it});
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
}

reader_record *changes_hands;
uint32_t successor;

/* In place of a heavy fence: the chosen thread exits, and another thread takes its slot. */
long give_the_slot_on()
{
    if (fences_answered++ == 0)
        rtrcu_store_relaxed(&changes_hands->thread_id, successor);
    return 0;
}

TEST_F(Boost, NextThreadOfASlotIsNotBoosted)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    changes_hands = sleeper();
    successor = lock_thread_number();
    bool trapped = boost_with_fences(give_the_slot_on);
    EXPECT_EQ(boosts(), 0u);
    end(GP_EXPEDITED, {changes_hands});
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
}

class BoostByCaller : public Boost
{
  protected:
    /* Only a thread at @priority boosts @readers, until it has spent at least one slice. */
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

/* A caller returns after one used-up slice, and leaves further boosts to the worker. */
TEST_F(BoostByCaller, CallerStopsBoostingAfterAUsedUpSlice)
{
    reader_record *one = sleeper(), *other = sleeper();
    ASSERT_EQ(one->leaf, other->leaf);
    boost_at(config_.kthread_prio, {one, other});
    EXPECT_EQ(boosts(), 1u);
    end(GP_EXPEDITED, {one, other});
}

/* In place of the thread's CPU clock: each reading is a second later than the previous one. */
long has_run()
{
    static time_t seconds;
    *reinterpret_cast<struct timespec *>(test::second_argument.load()) = {++seconds, 0};
    return 0;
}

/* A reader that has run between the two checks is not claimed, and no fence is issued. */
TEST_F(BoostByCaller, CallerDoesNotBoostAReaderThatRan)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    reader_record *runs = sleeper();
    long clock = long{~reader_thread_id(runs).number} << 3 | 6; /* the id of that thread's CPU clock */
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
        GTEST_SKIP() << "system calls cannot be trapped here";
}

TEST_F(BoostByCaller, CallerDoesNotBoostIfNotPermitted)
{
    reader_record *record = sleeper();
    begin(GP_EXPEDITED);
    EXPECT_FALSE(turn_boost_here(expedited_)) << "this thread has an ordinary priority";
    std::thread([&] {
        ASSERT_EQ(plat_sched_set(config_.kthread_prio - 1, 0), 0);
        EXPECT_FALSE(turn_boost_here(expedited_)) << "the priority is below the worker's";
        ASSERT_EQ(plat_sched_set(config_.kthread_prio, 0), 0);
        config_.boost = 0;
        EXPECT_FALSE(turn_boost_here(expedited_)) << "boosting is off";
    }).join();
    EXPECT_EQ(turn_slot(record)->boosted_gp, 0u);
    end(GP_EXPEDITED, {record});
}

/* The booster has already stored its CPU, for the thread that nudges it. */
TEST_F(BoostByCaller, CallerDoesNotBoostWhileAnotherThreadIsTheBooster)
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

/* A caller boosts only if the nudger's priority is higher: otherwise the nudger could not interrupt it. */
TEST_F(BoostByCaller, CallerBoostsOnlyWithANudgerOfHigherPriority)
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

/* If no thread has boosted for a while, the nudger returns to the configured priority. */
TEST_F(BoostByCaller, NudgerReturnsToItsOwnPriority)
{
    constexpr int high = 20;
    reader_record *record = sleeper();
    boost_at(high, {record});
    end(GP_EXPEDITED, {record});
    EXPECT_TRUE(test::eventually([&] { /* repeat until the nudger has polled long enough */
                                       work_worker_wake(work_worker(&drive_->work, WORK_WORKER_NUDGE));
                                       return work_worker_priority(nudger_) == config_.kthread_prio + 1;
    }));
}

/* The nudger moves to the booster's CPU: it can interrupt only a booster there. */
TEST_F(Boost, NudgerMovesToTheBoostersCpu)
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

TEST_F(Boost, BoosterTakesALoweredPriority)
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

/* Without a real-time priority the booster boosts no reader, and counts each request as refused. */
TEST_F(Boost, BoosterWithoutRealTimePriorityCountsARefusal)
{
    config_.kthread_prio = 0;
    reader_record *record = sleeper();
    begin(GP_NORMAL);
    boost_until(GP_NORMAL, [&] { return rtrcu_load_acquire(&drive_->turn.boost_refused.count) >= 1; });
    EXPECT_EQ(boosts(), 0u);
    EXPECT_EQ(rtrcu_load_acquire(&turn_slot(record)->booster), 0u);
    end(GP_NORMAL, {record});
}

TEST_F(Boost, BoostIsDueForExpeditedAfterTheDelayOrInAFlood)
{
    int64_t now = plat_clock_now();
    config_.boost_delay_us = 3600000000;
    EXPECT_TRUE(turn_boost_is_due(expedited_));
    world_.gp()->machine[GP_NORMAL].began_ns = now;
    EXPECT_FALSE(turn_boost_is_due(normal_));
    world_.gp()->machine[GP_NORMAL].began_ns = now - 3600 * INT64_C(1000000000);
    EXPECT_TRUE(turn_boost_is_due(normal_));
    world_.gp()->machine[GP_NORMAL].began_ns = now;
    drive_->work.flooded_ns = INT64_MAX / 2; /* a flood that counts as recent throughout the test */
    EXPECT_TRUE(turn_boost_is_due(normal_));
    config_.boost = 0;
    EXPECT_FALSE(turn_boost_is_due(normal_));
    EXPECT_FALSE(turn_boost_is_due(expedited_));
}

} // namespace
