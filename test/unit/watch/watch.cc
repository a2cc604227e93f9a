/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of statistics, which are gathered from every record, and of stall reports. */
#include <string>

#include <gtest/gtest.h>

#include "../../support/capture.h"
#include "../../support/internals.h"

namespace
{

class Watch : public testing::Test
{
  protected:
    test::World world_;
    config room_ = {};
    rtrcu_config &config_ = room_.first;
    std::unique_ptr<callback, test::Freer> memory_ = test::zeroed<callback>();
    callback *cb_ = memory_.get();
    struct watch watch_ = {};

    void SetUp() override
    {
        rtrcu_config_init(&config_);
        room_.in_force = &config_;
        callback_init(cb_, &room_, world_.gp());
        watch_init(&watch_, &room_, world_.gp(), cb_);
    }
    struct rtrcu_stats stats()
    {
        struct rtrcu_stats stats = {};
        stats.size = sizeof(stats);
        watch_stats(&watch_, &stats);
        return stats;
    }
    void park(reader_record *record, rcu_task *task)
    {
        reader_lock(record->leaf);
        gp_park(world_.gp(), record, task);
        reader_unlock(record->leaf);
    }
    void unpark(reader_record *record, rcu_task *task)
    {
        reader_lock(record->leaf);
        (void)gp_unpark(world_.gp(), record->leaf, task);
        reader_unlock(record->leaf);
    }
    std::string report(int64_t age_ns)
    {
        test::GpStepper stepper(world_.gp());
        stepper.begin_and_scan(1000);
        test::CapturedErrors errors;
        watch_stall_gather(&watch_, GP_NORMAL, 1000 + age_ns);
        EXPECT_EQ(errors.text(), "") << "gathering prints nothing";
        EXPECT_TRUE(watch_report_print(&watch_));
        EXPECT_FALSE(watch_report_print(&watch_)) << "a report is printed once";
        for (reader_leaf *leaf = nullptr; (leaf = reader_next_leaf(world_.registry(), leaf));) {
            uint32_t left = gp_holdouts(world_.gp(), GP_NORMAL, leaf);
            while (reader_record *record = reader_next(leaf, &left))
                gp_report(world_.gp(), record);
        }
        while (reader_anonymous(world_.registry()))
            (void)reader_anonymous_leave(world_.registry(), READER_PHASE_EVEN);
        stepper.poll(false);
        stepper.end();
        return errors.text();
    }
};

TEST_F(Watch, ReportsAreDueAtGrowingAges)
{
    config_.stall_timeout_ms = 20;
    int64_t first = watch_next_report(&watch_, 0);
    EXPECT_EQ(first, 20000000);
    int64_t second = watch_next_report(&watch_, first);
    EXPECT_GE(second, 2 * first);
    EXPECT_GE(watch_next_report(&watch_, second), 2 * second);
}

TEST_F(Watch, NoReportWithoutATimeout)
{
    config_.stall_timeout_ms = 0;
    EXPECT_EQ(watch_next_report(&watch_, 0), INT64_MAX);
}

TEST_F(Watch, ReportNamesExactlyTheHoldouts)
{
    reader_record *inside = world_.craft(3), *outside = world_.craft(0), *qs = world_.craft(RTRCU_QSBR_ONLINE | 2);
    inside->thread_id = lock_thread_number();
    outside->thread_id = 1111;
    qs->thread_id = 2222;
    char name[32];
    plat_thread_name(plat_thread_id(), name, sizeof(name));
    std::string text = report(5000000);
    EXPECT_NE(text.find("normal grace period 0 has"), std::string::npos)
        << "grace periods are numbered from 0: " << text;
    EXPECT_NE(text.find("for 5 ms"), std::string::npos) << text;
    EXPECT_NE(text.find("thread " + std::to_string(lock_thread_number()) + " \"" + name + "\": preemptible"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("nesting 3"), std::string::npos) << text;
    EXPECT_NE(text.find("thread 2222"), std::string::npos) << text;
    EXPECT_NE(text.find("quiescent-state discipline"), std::string::npos) << text;
    EXPECT_NE(text.find("nesting 2"), std::string::npos) << text;
    EXPECT_EQ(text.find("1111"), std::string::npos) << text;
    EXPECT_EQ(stats().stall_reports, 1u);
}

TEST_F(Watch, ThreadThatWaitsInItsSectionIsReportedWithItsCall)
{
    reader_record *record = world_.craft(1);
    record->self->waits_in = "rcu_barrier";
    record->self->waits_from = 0x1234;
    std::string text = report(1);
    EXPECT_NE(text.find("waits for itself in rcu_barrier(), which it called inside that section at 0x1234"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("in system call"), std::string::npos) << text;
}

/* The gathering thread is reported as runnable: it would find itself in the system call with which it reads its own
 * state. */
TEST_F(Watch, ThreadThatGathersTheReportIsReportedAsRunnable)
{
    world_.craft(1)->thread_id = lock_thread_number();
    std::string text = report(1);
    EXPECT_NE(text.find("nesting 1, runnable"), std::string::npos) << text;
    EXPECT_EQ(text.find("in system call"), std::string::npos) << text;
    EXPECT_EQ(text.find("waits for itself"), std::string::npos) << text;
}

/* The task parked after the scan, and is still on its thread's list. */
TEST_F(Watch, ReportNamesATaskThatJustParked)
{
    rcu_task task = {};
    task.name = "just now";
    reader_record *record = world_.craft(1);
    test::CapturedErrors errors;
    test::GpStepper stepper(world_.gp());
    ASSERT_TRUE(stepper.begin_and_scan(1000));
    parked_add_to_thread(record, &task);
    watch_stall_gather(&watch_, GP_NORMAL, 2000);
    EXPECT_TRUE(watch_report_print(&watch_));
    EXPECT_TRUE(errors.contains("task \"just now\": parked")) << errors.text();
    ASSERT_EQ(task.where, static_cast<uint32_t>(PARKED_ON_LEAF));
    unpark(record, &task);
    world_.set_inside(record, 0);
    (void)gp_report(world_.gp(), record);
    stepper.poll(false);
    stepper.end();
}

TEST_F(Watch, ReportNamesOnlyTheTasksThatItsGracePeriodWaitsFor)
{
    rcu_task older = {}, younger = {};
    older.name = "older";
    younger.name = "younger";
    reader_record *record = world_.craft(0);
    test::CapturedErrors errors;
    park(record, &older);
    test::GpStepper stepper(world_.gp(), GP_EXPEDITED);
    ASSERT_TRUE(stepper.begin_and_scan(1000));
    park(record, &younger);
    watch_stall_gather(&watch_, GP_EXPEDITED, 2000);
    EXPECT_TRUE(watch_report_print(&watch_));
    EXPECT_TRUE(errors.contains("expedited grace period")) << errors.text();
    EXPECT_TRUE(errors.contains("task \"older\": parked")) << errors.text();
    EXPECT_FALSE(errors.contains("younger")) << errors.text();
    unpark(record, &older);
    unpark(record, &younger);
    stepper.poll(false);
    stepper.end();
}

TEST_F(Watch, ReportNamesReadersWithoutARecordAndQueuedCallbacks)
{
    reader_anonymous_enter(world_.registry(), READER_PHASE_EVEN);
    reader_anonymous_enter(world_.registry(), READER_PHASE_EVEN);
    reader_record *record = world_.craft(0);
    callback_slot(record)->queue.enqueued = 42;
    std::string text = report(1);
    EXPECT_NE(text.find("2 threads without a record"), std::string::npos) << text;
    EXPECT_NE(text.find("callbacks that wait for it: 42"), std::string::npos) << text;
}

TEST_F(Watch, MissingFenceIsReported)
{
    test::CapturedErrors errors;
    watch_fence_gather(&watch_, GP_NORMAL, -EPERM);
    EXPECT_EQ(stats().stall_reports, 1u) << "the report is counted before it is printed";
    EXPECT_TRUE(watch_report_print(&watch_));
    EXPECT_TRUE(errors.contains("grace periods cannot end")) << errors.text();
    EXPECT_TRUE(errors.contains("error 1")) << errors.text();
    EXPECT_EQ(stats().stall_reports, 1u);
}

TEST_F(Watch, SecondReportOfAKindIsDroppedWhileTheFirstWaits)
{
    test::CapturedErrors errors;
    watch_fence_gather(&watch_, GP_NORMAL, -EPERM);
    watch_fence_gather(&watch_, GP_NORMAL, -ENOSYS);
    watch_fence_gather(&watch_, GP_EXPEDITED, -EINVAL);
    watch_report_print_here(&watch_);
    EXPECT_FALSE(watch_report_print(&watch_));
    EXPECT_TRUE(errors.contains("error " + std::to_string(EPERM))) << errors.text();
    EXPECT_FALSE(errors.contains("error " + std::to_string(ENOSYS))) << errors.text();
    EXPECT_TRUE(errors.contains("error " + std::to_string(EINVAL))) << errors.text();
    watch_fence_gather(&watch_, GP_NORMAL, -EPERM);
    watch_after_fork_child(&watch_);
    EXPECT_FALSE(watch_report_print(&watch_)) << "the child drops the parent's reports";
}

/* The holder of the lock does not exist in the child, where the next report would wait for ever. */
TEST_F(Watch, ForksChildResetsTheReportLock)
{
    constexpr uint32_t elsewhere = 0x3ffffff0;
    rtrcu_store_relaxed(&watch_.lock.word, elsewhere);
    watch_after_fork_child(&watch_);
    ASSERT_TRUE(lock_try(&watch_.lock));
    lock_release(&watch_.lock);
    test::CapturedErrors errors;
    watch_fence_gather(&watch_, GP_NORMAL, -EPERM);
    EXPECT_TRUE(watch_report_print(&watch_));
    EXPECT_TRUE(errors.contains("error " + std::to_string(EPERM))) << errors.text();
}

TEST_F(Watch, ReportCountsReadersThatItDoesNotName)
{
    for (int i = 0; i < WATCH_READERS_NAMED + 3; i++)
        world_.craft(1)->thread_id = 100000u + static_cast<uint32_t>(i);
    std::string text = report(1);
    EXPECT_NE(text.find("and 3 more threads"), std::string::npos) << text;
}

TEST_F(Watch, StuckBarrierNamesItsQueues)
{
    reader_record *stuck = world_.craft(0), *done = world_.craft(0);
    stuck->thread_id = 4711;
    callback_slot(stuck)->queue.enqueued = 9;
    callback_slot(stuck)->queue.invoked = 4;
    callback_slot(stuck)->free_queued = 3;
    callback_slot(stuck)->queue.claim = 4712;
    callback_slot(stuck)->queue.function = reinterpret_cast<rcu_callback_t>(uintptr_t{0x1234});
    done->thread_id = 4713;
    callback_slot(done)->queue.enqueued = callback_slot(done)->queue.invoked = 5;
    test::CapturedErrors errors;
    watch_barrier_gather(&watch_, 70000000);
    EXPECT_FALSE(watch_report_print(&watch_)) << "no barrier is in progress";
    callback_barrier_set(cb_);
    callback_slot(stuck)->queue.enqueued = 100;
    watch_barrier_gather(&watch_, 70000000);
    EXPECT_TRUE(watch_report_print(&watch_));
    EXPECT_TRUE(errors.contains("rcu_barrier() has waited for 70 ms")) << errors.text();
    EXPECT_TRUE(errors.contains("for 8 callbacks and frees of thread 4711")) << errors.text();
    EXPECT_TRUE(errors.contains("thread 4712 invokes them, and runs or has just run 0x1234")) << errors.text();
    EXPECT_FALSE(errors.contains("4713")) << errors.text();
    EXPECT_EQ(stats().stall_reports, 1u);
}

TEST_F(Watch, StuckBarrierNamesAnExitedThreadsQueue)
{
    reader_record *gone = world_.craft(0);
    gone->thread_id = 4711;
    callback_slot(gone)->queue.enqueued = 9;
    callback_barrier_set(cb_);
    world_.withdraw(gone);
    ASSERT_FALSE(reader_is_registered(gone));
    test::CapturedErrors errors;
    watch_barrier_gather(&watch_, 70000000);
    EXPECT_TRUE(watch_report_print(&watch_));
    EXPECT_TRUE(errors.contains("for 9 callbacks and frees of thread 4711")) << errors.text();
}

TEST_F(Watch, LongestSectionIsRecordedWithItsCallSite)
{
    EXPECT_EQ(stats().section_ns_max, 0u);
    watch_note_section(&watch_, 300, 0x3000);
    watch_note_section(&watch_, 200, 0x2000);
    EXPECT_EQ(stats().section_ns_max, 300u);
    EXPECT_EQ(stats().section_longest, 0x3000u);
    watch_note_section(&watch_, 400, 0x4000);
    EXPECT_EQ(stats().section_ns_max, 400u);
    EXPECT_EQ(stats().section_longest, 0x4000u);
}

TEST_F(Watch, StatisticsSumTheRecordsOfEveryLeaf)
{
    reader_record *first = world_.craft(0);
    world_.fill_last_leaf();
    reader_record *second = world_.craft(0);
    ASSERT_EQ(second->leaf->index, 1u);
    callback_slot(first)->queue.enqueued = 100;
    callback_slot(first)->queue.invoked = 60;
    callback_slot(first)->free_queued = 7;
    callback_slot(first)->free_done = 3;
    callback_slot(second)->queue.enqueued = 1000;
    callback_slot(second)->queue.invoked = 1000;
    second->slow_calls.count = 9;
    callback_slot(first)->batch_ns = 5000;
    callback_slot(first)->oldest_ns = 7000; /* the time of later callbacks */
    callback_slot(second)->oldest_ns = 1;   /* the time of callbacks that have returned */
    callback_slot(first)->longest_ns = 10;
    callback_slot(second)->longest_ns = 20;
    callback_slot(second)->longest = reinterpret_cast<rcu_callback_t>(uintptr_t{0x1234});
    struct rtrcu_stats all = stats();
    EXPECT_EQ(all.callback_oldest_ns, 5000u);
    EXPECT_EQ(all.callback_ns_max, 20u);
    EXPECT_EQ(all.callback_longest, 0x1234u);
    EXPECT_EQ(all.callbacks_queued, 1107u);
    EXPECT_EQ(all.callbacks_invoked, 1063u);
    EXPECT_EQ(all.callbacks_backlog, 44u);
    EXPECT_EQ(all.slow_locks, 9u);
    EXPECT_EQ(all.threads_registered, 2u);
    EXPECT_EQ(all.threads_peak, 2u);
    world_.withdraw(second);
    EXPECT_EQ(stats().threads_registered, 1u);
    EXPECT_EQ(stats().threads_peak, 2u);
    EXPECT_EQ(stats().callbacks_invoked, 1063u) << "totals include threads that have exited";
}

TEST_F(Watch, StatisticsCopyTheCountersOfGracePeriodsAndCallbacks)
{
    gp_machine *normal = &world_.gp()->machine[GP_NORMAL], *expedited = &world_.gp()->machine[GP_EXPEDITED];
    normal->completed.count = 1;
    normal->busy.count = 2;
    normal->at_once.count = 3;
    normal->ns_last = 5;
    normal->ns_max = 6;
    expedited->completed.count = 7;
    callback_leaf(reader_leaf_at(world_.registry(), 0))->by_owner.count = 8;
    cb_->over_qmax.count = 9;
    cb_->blocked_at_qmax.count = 10;
    cb_->limit_raised.count = 11;
    cb_->deadline_stops.count = 12;
    cb_->budget_stops.count = 13;
    cb_->lost_at_fork.count = 14;
    cb_->frees_leaked.count = 16;
    reader_fences_start_full(world_.registry());
    world_.registry()->deadline_count = 15;
    struct rtrcu_stats all = stats();
    EXPECT_EQ(all.gp_completed, 1u);
    EXPECT_EQ(all.gp_busy, 2u);
    EXPECT_EQ(all.gp_at_once, 3u);
    EXPECT_EQ(all.gp_ns_last, 5u);
    EXPECT_EQ(all.gp_ns_max, 6u);
    EXPECT_EQ(all.exp_completed, 7u);
    EXPECT_EQ(all.callbacks_by_owner, 8u);
    EXPECT_EQ(all.over_qmax, 9u);
    EXPECT_EQ(all.blocked_at_qmax, 10u);
    EXPECT_EQ(all.limit_raised, 11u);
    EXPECT_EQ(all.deadline_stops, 12u);
    EXPECT_EQ(all.budget_stops, 13u);
    EXPECT_EQ(all.callbacks_lost_at_fork, 14u);
    EXPECT_EQ(all.frees_leaked, 16u);
    EXPECT_EQ(all.full_fences, 1u);
    EXPECT_EQ(all.threads_deadline, 15u);
}

} // namespace
