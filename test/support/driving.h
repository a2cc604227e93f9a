/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fixture with the data of the rooms that wait, wake and create threads, separate from the process's own.  Threads that
 * a test creates outlive it, so such a test keeps the data. */
#ifndef RTRCU_TEST_SUPPORT_DRIVING_H
#define RTRCU_TEST_SUPPORT_DRIVING_H

#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "internals.h"
#include "sandbox.h"
#include "sync.h"

class DriveWorld : public testing::Test
{
    struct Apart {
        test::World world;
        config room = {};
        std::unique_ptr<callback, test::Freer> callbacks = test::zeroed<callback>();
        std::unique_ptr<struct domain_drive, test::Freer> drive = test::zeroed<struct domain_drive>();
        struct watch watch = {};
        std::deque<rcu_head> heads;
        rtrcu_config others[2] = {};
    };
    static inline auto &all_kept_ = *new std::vector<Apart *>; /* keeps it reachable for the leak check */
    Apart *apart_ = new Apart;
    bool kept_ = false;

  protected:
    test::World &world_ = apart_->world;
    config &room_ = apart_->room;
    rtrcu_config &config_ = room_.first;
    rtrcu_config (&others_)[2] = apart_->others; /* settings that a test may apply */
    callback *cb_ = apart_->callbacks.get();
    struct domain_drive *drive_ = apart_->drive.get();
    struct gp_state *normal_ = turn_gp_state(&drive_->turn, GP_NORMAL);
    struct gp_state *expedited_ = turn_gp_state(&drive_->turn, GP_EXPEDITED);

    ~DriveWorld() override
    {
        if (kept_)
            all_kept_.push_back(apart_);
        else
            delete apart_;
    }
    void SetUp() override
    {
        if (test::membarrier_is_refused())
            keep(); /* the visit to every CPU, in place of the first fence, creates a thread that watches it */
        rtrcu_config_init(&config_);
        config_.policy = RTRCU_POLICY_INLINE;
        room_.in_force = &config_;
        callback_init(cb_, &room_, world_.gp());
        watch_init(&apart_->watch, &room_, world_.gp(), cb_);
        api_drive_init(drive_, &room_, world_.gp(), cb_, &apart_->watch);
    }
    /* Keep the data after the test, for its threads. */
    void keep()
    {
        kept_ = true;
    }
    void queue(
        reader_record *record, int count, rcu_callback_t func = [](rcu_head *) {})
    {
        for (int i = 0; i < count; i++) {
            apart_->heads.emplace_back();
            callback_enqueue(cb_, record, &apart_->heads.back(), func);
        }
    }
    /* Queue and collect callbacks that stay with their owner when they are ready. */
    void queue_and_collect(reader_record *record, int count = 1)
    {
        queue(record, count);
        ASSERT_TRUE(callback_collect(cb_));
    }
    void grace_period()
    {
        test::GpStepper stepper(world_.gp());
        stepper.begin_and_scan();
        stepper.end();
    }
    /* Add ready callbacks to the queue of @record. */
    void make_ready(
        reader_record *record, int count, rcu_callback_t func = [](rcu_head *) {})
    {
        queue(record, count, func);
        ASSERT_TRUE(callback_collect(cb_));
        grace_period();
        callback_queues_lock(record->leaf);
        reader_lock(record->leaf);
        (void)callback_advance(cb_, record, plat_clock_now());
        reader_unlock(record->leaf);
        callback_queues_unlock(record->leaf);
        ASSERT_TRUE(callback_has_ready(record));
    }
    /* Pass the queue of @record to daemon 0; its callback sets @began, waits for @may_end, and ends the thread. */
    void give_until_the_daemon_ends(reader_record *record, std::atomic<bool> &began, std::atomic<bool> &may_end)
    {
        EXPECT_TRUE(
            test::eventually([&] { return serve_daemon_enqueue(&drive_->serve, record, 0, false) && began.load(); }));
        may_end = true;
        may_end.notify_all();
        EXPECT_TRUE(test::eventually(
            [&] { return rtrcu_load_acquire(&drive_->serve.daemon[0].thread.state) == uint32_t(WORK_NONE); }));
    }
    uint64_t left(const reader_record *record)
    {
        return callback_pending(record);
    }
    void after_fork_child(plat_tid old_thread_id)
    {
        api_drive_after_fork_child(drive_, old_thread_id);
    }
    /* Read a value guarded by a lock that the test must not take. */
    __attribute__((noinline, no_sanitize("thread"))) static uint32_t peek(const uint32_t *guarded)
    {
        return *static_cast<const volatile uint32_t *>(guarded);
    }
    /* Returns whether a thread may set and drop a real-time priority. */
    static bool real_time_allowed()
    {
        bool allowed = false;
        std::thread([&] { allowed = plat_sched_set(1, 0) == 0 && plat_sched_set(0, 0) == 0; }).join();
        return allowed;
    }
};

#endif
