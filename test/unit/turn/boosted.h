/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fixture of the tests of boosting: readers that sleep inside their sections, a nudger and a booster. */
#ifndef RTRCU_TEST_UNIT_DRIVE_BOOSTED_H
#define RTRCU_TEST_UNIT_DRIVE_BOOSTED_H

#include "../../support/trapped.h"
#include "../../support/driving.h"

class BoostWorld : public DriveWorld
{
    std::deque<test::Worker> sleepers_;

  protected:
    struct work_worker *booster_ = &drive_->work.worker[WORK_WORKER_BOOST];
    struct work_worker *nudger_ = &drive_->work.worker[WORK_WORKER_NUDGE];

    /* A reader whose thread sleeps inside its section. */
    reader_record *sleeper()
    {
        reader_record *record = nullptr;
        sleepers_.emplace_back().run([&] { record = world_.craft(1); });
        return record;
    }
    void finish_last_sleeper()
    {
        sleepers_.back().finish();
    }
    void SetUp() override
    {
        DriveWorld::SetUp();
        if (!real_time_allowed())
            GTEST_SKIP() << "real-time scheduling is refused";
        keep();
        config_.kthread_prio = 3;
        config_.qmax = 4;
    }
    void start_nudger()
    {
        ASSERT_EQ(work_worker_start(work_worker(&drive_->work, WORK_WORKER_NUDGE)), 0);
        ASSERT_TRUE(test::eventually([&] { return work_worker_has_appeared(nudger_); }));
    }
    /* Make the nudger count as running at @priority; its thread is @still, which does nothing. */
    void start_still_nudger(test::Worker &still, int priority)
    {
        still.run([&] { nudger_->thread_id = lock_thread_number(); });
        nudger_->thread.state = WORK_RUNNING;
        nudger_->priority = priority;
    }
    /* Make the nudger count as running at the booster's priority, and a raise of that priority as just refused. */
    void start_refused_nudger(test::Worker &still)
    {
        start_still_nudger(still, config_.kthread_prio);
        nudger_->refused = config_.kthread_prio + 1;
        nudger_->refused_ns = INT64_MAX / 2; /* a refusal that counts as recent throughout the test */
    }
    /* Start the booster with @note in place of its sleeps.  Returns false if system calls cannot be trapped here. */
    bool start_booster_without_sleeps(long (*note)())
    {
        bool trapped = true;
        std::thread([&] {
            trapped = test::trap(SYS_clock_nanosleep, nullptr, note);
            EXPECT_EQ(work_worker_start(work_worker(&drive_->work, WORK_WORKER_BOOST)), 0);
        }).join();
        return trapped;
    }
    void begin(gp_kind kind)
    {
        test::GpStepper stepper(world_.gp(), kind);
        ASSERT_TRUE(stepper.begin_and_scan(plat_clock_now()));
    }
    /* Make @who the booster, under the lock of the nudger, which may be running. */
    void claim_for(struct plat_tid who)
    {
        lock_acquire(&nudger_->lock);
        drive_->turn.boosting.booster = who;
        drive_->turn.boosting.cpu_at = &drive_->turn.boosting.cpu;
        lock_release(&nudger_->lock);
    }
    /* Boost until @enough returns true. */
    template <typename Condition> void boost_until(gp_kind kind, Condition enough)
    {
        EXPECT_TRUE(test::eventually([&] {
            turn_boost(turn_gp_state(&drive_->turn, kind));
            return enough();
        }));
    }
    /* @readers leave, and the grace period ends.  On return no thread boosts. */
    void end(gp_kind kind, std::initializer_list<reader_record *> readers)
    {
        for (reader_record *record : readers)
            test::World::set_inside(record, 0);
        test::GpStepper stepper(world_.gp(), kind);
        (void)stepper.poll(true);
        ASSERT_TRUE(stepper.is_clear());
        stepper.end(plat_clock_now());
        for (reader_record *record : readers) {
            reader_lock(record->leaf); /* wait for a thread that is choosing it */
            reader_unlock(record->leaf);
            EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&turn_slot(record)->booster) == 0; }));
            EXPECT_EQ(rtrcu_load_acquire(reader_boost_word(record)), 0u);
        }
    }
    uint64_t boosts()
    {
        return rtrcu_load_acquire(&drive_->turn.boosts.count);
    }
    /* Change the configuration, which workers read at their next poll. */
    void configure(const rtrcu_config &config)
    {
        rtrcu_store_release(&room_.in_force, &config);
    }
};

#endif
