/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of grace periods without readers, of queries about all readers, and of durations. */
#include <thread>

#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

class Alone : public testing::Test
{
  protected:
    test::World world_;
    struct gp *gp_ = world_.gp();
    gp_machine *normal_ = &world_.gp()->machine[GP_NORMAL];

    bool pass()
    {
        lock_acquire(&normal_->gp_lock);
        bool passed = gp_try_immediate(gp_, GP_NORMAL);
        lock_release(&normal_->gp_lock);
        return passed;
    }
    void expect_refused(const char *why)
    {
        uint64_t seq = normal_->seq, completed = normal_->completed.count, at_once = normal_->at_once.count;
        EXPECT_FALSE(pass()) << why;
        EXPECT_EQ(normal_->seq, seq) << why;
        EXPECT_EQ(normal_->completed.count, completed) << why;
        EXPECT_EQ(normal_->at_once.count, at_once) << why;
    }
    void expect_passed(const char *why)
    {
        uint64_t cookie = gp_snap(gp_, GP_NORMAL), completed = normal_->completed.count;
        EXPECT_FALSE(gp_reached(gp_, GP_NORMAL, cookie));
        EXPECT_TRUE(pass()) << why;
        EXPECT_TRUE(gp_reached(gp_, GP_NORMAL, cookie)) << why;
        EXPECT_FALSE(seq_is_running(normal_->seq));
        EXPECT_EQ(normal_->completed.count, completed + 1);
        EXPECT_EQ(normal_->at_once.count, completed + 1);
        EXPECT_EQ(normal_->busy.count, 0u);
    }
};

/* A reader without a record wakes waiters only if it is the last of its phase. */
TEST_F(Alone, LastReaderOfAPhaseWithoutARecordWakesWaiters)
{
    for (reader_phase group : {READER_PHASE_EVEN, READER_PHASE_EVEN, READER_PHASE_ODD})
        reader_anonymous_enter(world_.registry(), group);
    EXPECT_EQ(gp_report_anonymous(gp_, READER_PHASE_EVEN), GP_ACTION_NONE);
    constexpr auto both = static_cast<gp_actions>(GP_ACTION_WAKE_NORMAL | GP_ACTION_WAKE_EXPEDITED);
    EXPECT_EQ(gp_report_anonymous(gp_, READER_PHASE_EVEN), both) << "the last reader of the even phase";
    EXPECT_EQ(gp_report_anonymous(gp_, READER_PHASE_ODD), both) << "the last reader of all";
}

TEST_F(Alone, GracePeriodCompletesImmediatelyWithoutReaders)
{
    expect_passed("no reader exists");
    reader_record *record = world_.craft(0);
    expect_refused("a registered thread may read at any time");
    world_.withdraw(record);
    expect_passed("the thread has unregistered");
    for (reader_phase group : {READER_PHASE_EVEN, READER_PHASE_ODD}) {
        reader_anonymous_enter(world_.registry(), group);
        expect_refused("one without a record reads");
        (void)reader_anonymous_leave(world_.registry(), group);
    }
    expect_passed("it has left");
}

TEST_F(Alone, GracePeriodOfAThreadOutsideDoesNotWaitForThatThread)
{
    std::thread([&] {
        reader_record *self = reader_slot_take(world_.registry());
        test::publish(world_.registry(), self, &rtrcu_self);
        expect_passed("the advancing thread is outside");
        world_.set_inside(self, 1);
        expect_refused("the advancing thread is inside");
        world_.set_inside(self, 0);
        rcu_task task = {};
        parked_add_to_thread(self, &task);
        expect_refused("it has parked a task");
        EXPECT_TRUE(parked_remove_from_thread(&task));
        expect_passed("the task has ended");
        reader_record *other = world_.craft(0);
        expect_refused("another is awake");
        world_.withdraw(other);
        world_.withdraw(self);
    }).join();
}

TEST_F(Alone, NextNeededCookieIsTheEarliestRequested)
{
    uint64_t cookie = 0, next = gp_snap(gp_, GP_NORMAL);
    EXPECT_FALSE(gp_next_needed(gp_, GP_NORMAL, &cookie));
    EXPECT_TRUE(gp_request(gp_, GP_NORMAL, next));
    EXPECT_EQ(gp_needed(gp_, GP_NORMAL), next);
    EXPECT_TRUE(gp_next_needed(gp_, GP_NORMAL, &cookie));
    EXPECT_EQ(cookie, next);
    EXPECT_TRUE(gp_request(gp_, GP_NORMAL, next + 3 * SEQ_STEP));
    EXPECT_TRUE(gp_next_needed(gp_, GP_NORMAL, &cookie));
    EXPECT_EQ(cookie, next) << "the latest requested cookie is three grace periods later";
    expect_passed("one grace period completes");
    EXPECT_TRUE(gp_next_needed(gp_, GP_NORMAL, &cookie));
    EXPECT_EQ(cookie, next + SEQ_STEP);
    {
        test::GpStepper stepper(gp_);
        (void)stepper.begin_and_scan();
        EXPECT_TRUE(gp_next_needed(gp_, GP_NORMAL, &cookie));
        EXPECT_EQ(cookie, next + 2 * SEQ_STEP) << "the grace period in progress does not reach a cookie taken now";
        stepper.end();
    }
}

TEST_F(Alone, DurationsAreCountedAndReported)
{
    reader_record *reader = world_.craft(1);
    {
        test::GpStepper stepper(gp_);
        EXPECT_TRUE(stepper.begin_and_scan(1000));
        EXPECT_EQ(gp_began_ns(gp_, GP_NORMAL), 1000);
        EXPECT_TRUE(gp_is_running(gp_, GP_NORMAL));
        world_.set_inside(reader, 0);
        (void)gp_report(gp_, reader);
        stepper.end(6000);
        EXPECT_FALSE(gp_is_running(gp_, GP_NORMAL));
        (void)stepper.begin_and_scan(7000);
        stepper.end(8000);
    }
    EXPECT_EQ(normal_->ns_sum.count, 6000u);
    uint64_t counted = 0;
    for (const counter &bucket : normal_->ns_histogram)
        counted += bucket.count;
    EXPECT_EQ(counted, 2u);
    EXPECT_EQ(normal_->ns_histogram[gp_histogram_bucket(5000)].count, 1u);
    EXPECT_EQ(normal_->ns_histogram[gp_histogram_bucket(1000)].count, 1u);
    {
        test::GpStepper stepper(gp_, GP_EXPEDITED);
        (void)stepper.begin_and_scan(1);
        stepper.end(2);
    }
    world_.withdraw(reader);
    EXPECT_TRUE(pass());
    struct rtrcu_stats stats = {};
    gp_stats(gp_, &stats);
    EXPECT_EQ(stats.gp_completed, 3u);
    EXPECT_EQ(stats.gp_busy, 1u);
    EXPECT_EQ(stats.gp_at_once, 1u);
    EXPECT_EQ(stats.gp_ns_last, 1000u);
    EXPECT_EQ(stats.gp_ns_max, 5000u);
    EXPECT_EQ(stats.exp_completed, 1u);
}

/* A driver that spins yields its CPU to holdouts that were last seen there. */
TEST_F(Alone, HoldoutsAreReportedOnTheCpuWhereTheyWereLastSeen)
{
    constexpr uint32_t here = 3, far = 5;
    reader_record *one = world_.craft(1), *idle = world_.craft(0);
    world_.fill_last_leaf();
    reader_record *two = world_.craft(1);
    uint32_t cpu_one = here, cpu_two = far, cpu_idle = far;
    one->cpu = &cpu_one;
    two->cpu = &cpu_two;
    idle->cpu = &cpu_idle;
    auto where = [&] { return gp_holdouts_where(gp_, GP_NORMAL, here); };
    test::GpStepper stepper(gp_);
    ASSERT_TRUE(stepper.begin_and_scan());
    EXPECT_EQ(gp_holdouts_where(gp_, GP_EXPEDITED, here), GP_HOLDOUTS_NOWHERE)
        << "the expedited kind waits for no reader";
    EXPECT_EQ(where(), GP_HOLDOUTS_HERE | GP_HOLDOUTS_ELSEWHERE);
    cpu_two = here;
    EXPECT_EQ(where(), GP_HOLDOUTS_HERE) << "a reader that is no holdout does not count";
    cpu_one = cpu_two = far;
    EXPECT_EQ(where(), GP_HOLDOUTS_ELSEWHERE);
    one->cpu = nullptr;
    EXPECT_EQ(gp_holdouts_where(gp_, GP_NORMAL, far), GP_HOLDOUTS_HERE | GP_HOLDOUTS_ELSEWHERE)
        << "a reader on an unknown CPU counts as elsewhere";
    world_.set_inside(one, 0);
    (void)gp_report(gp_, one);
    EXPECT_EQ(gp_holdouts_where(gp_, GP_NORMAL, far), GP_HOLDOUTS_HERE);
    world_.set_inside(two, 0);
    EXPECT_EQ(gp_report(gp_, two), GP_ACTION_WAKE_NORMAL);
    EXPECT_EQ(where(), GP_HOLDOUTS_NOWHERE);
    stepper.end();
}

} // namespace
