/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the counters of callbacks in struct rtrcu_stats. */
#include "world.h"

namespace
{

using Count = CallbackWorld;

/* The histogram counts the times from the oldest call_rcu() of a batch to its first callback.  The last bucket also
 * counts all longer times. */
TEST_F(Count, WaitsAreCountedByTheirLength)
{
    reader_record *record = world_.craft(0);
    for (int64_t waited_ns : {INT64_C(1000000000), INT64_MAX / 2}) {
        queue_ready(record, 1);
        callback_slot(record)->oldest_ready_ns = plat_clock_now() - waited_ns;
        invoke(record, everything());
    }
    struct rtrcu_stats stats = {};
    callback_stats(cb_, &stats);
    uint64_t all = 0, second = 0;
    for (int i = 0; i < RTRCU_LATENCY_BUCKETS; i++)
        all += stats.latency_us_log2[i];
    for (int i = 19; i < RTRCU_LATENCY_BUCKETS - 1; i++)
        second += stats.latency_us_log2[i];
    EXPECT_EQ(all, 2u);
    EXPECT_EQ(second, 1u) << "one second, or more on a busy machine";
    EXPECT_EQ(stats.latency_us_log2[RTRCU_LATENCY_BUCKETS - 1], 1u);
}

TEST_F(Count, CallbacksAndFreesCountAsReturned)
{
    reader_record *record = world_.craft(0);
    callback_slot(record)->queue.invoked = 3;
    callback_slot(record)->free_done = 4;
    EXPECT_EQ(callback_returned(record), 7u);
}

/* Each stage of a queue keeps the time of its oldest callback, which later callbacks do not change. */
TEST_F(Count, AgeOfTheOldestCallbackIsKnownInEachStage)
{
    auto told = [&] {
        struct rtrcu_stats stats = {};
        callback_stats(cb_, &stats);
        return stats.callback_oldest_ns;
    };
    reader_record *record = world_.craft(0);
    struct callback_slot *slot = callback_slot(record);
    EXPECT_EQ(told(), 0u);
    enqueue(record);
    slot->oldest_ns = 100; /* the oldest callback of this test */
    EXPECT_EQ(told(), 100u);
    callback_collect(cb_);
    EXPECT_EQ(slot->waiting_ns[0], 100);
    EXPECT_EQ(told(), 100u);
    enqueue(record);
    slot->oldest_ns = 200;
    callback_collect(cb_); /* these callbacks wait for the same grace period as the first ones */
    EXPECT_EQ(slot->waiting_ns[0], 100);
    EXPECT_EQ(slot->waiting_ns[1], 0);
    {
        test::GpStepper stepper(world_.gp());
        stepper.begin_and_scan();
        enqueue(record);
        slot->oldest_ns = 300;
        callback_collect(cb_); /* these callbacks wait for the next grace period */
        EXPECT_EQ(slot->waiting_ns[0], 100);
        EXPECT_EQ(slot->waiting_ns[1], 300);
        stepper.end();
    }
    advance(record);
    EXPECT_EQ(slot->oldest_ready_ns, 100);
    EXPECT_EQ(told(), 100u);
    EXPECT_EQ(slot->waiting_ns[0], 300);
    EXPECT_EQ(slot->waiting_ns[1], 0);
    callback_budget one = everything();
    one.count_max = 1;
    invoke(record, one);
    EXPECT_EQ(slot->oldest_ready_ns, 0);
    EXPECT_EQ(slot->batch_ns, 100) << "one callback is left in the batch";
    EXPECT_EQ(told(), 100u);
    grace_period();
    advance(record);
    EXPECT_EQ(slot->oldest_ready_ns, 300);
    invoke(record, everything());
    EXPECT_EQ(told(), 0u);
    EXPECT_EQ(slot->batch_ns, 0);
    EXPECT_EQ(slot->waiting_ns[0], 0);
}

TEST_F(Count, OnlyTheFirstLeakIsReported)
{
    EXPECT_TRUE(callback_count_leaked(cb_));
    EXPECT_FALSE(callback_count_leaked(cb_));
    EXPECT_EQ(counter_read(&cb_->frees_leaked), 2u);
}

void busy(rcu_head *)
{
    for (int64_t end = plat_clock_now() + 2000000; plat_clock_now() < end;)
        ;
}

/* A batch also measures the time of its last callback, with and without a time limit. */
TEST_F(Count, LongestCallbackAndItsFunctionAreRecorded)
{
    reader_record *record = world_.craft(0);
    struct callback_slot *slot = callback_slot(record);
    callback_budget timed = everything();
    timed.end_ns = INT64_MAX;
    for (const callback_budget &budget : {timed, everything()}) {
        slot->longest_ns = 0;
        enqueue(record, busy);
        make_ready(record);
        invoke(record, budget);
        EXPECT_GE(slot->longest_ns, 2000000u);
        EXPECT_EQ(slot->longest, busy);
    }
}

TEST_F(Count, CallsAtQmaxAreCounted)
{
    struct rtrcu_stats stats = {};
    callback_count_over_qmax(cb_);
    callback_count_blocked(cb_);
    callback_count_blocked(cb_);
    callback_stats(cb_, &stats);
    EXPECT_EQ(stats.over_qmax, 1u);
    EXPECT_EQ(stats.blocked_at_qmax, 2u);
}

/* The statistics of two leaves are combined: counters are added; the larger maximum and the earlier of the oldest times
 * are reported. */
TEST_F(Count, StatisticsCoverEveryLeaf)
{
    reader_record *first = world_.craft(0), *second = world_.craft(0);
    while (second->leaf == first->leaf)
        second = world_.craft(0);
    uint64_t by_leaf = 1;
    for (reader_record *record : {first, second}) {
        callback_slot(record)->queue.enqueued = 30 * by_leaf;
        callback_slot(record)->queue.invoked = 20 * by_leaf;
        callback_slot(record)->free_queued = 7 * by_leaf;
        callback_slot(record)->free_done = 5 * by_leaf;
        callback_slot(record)->oldest_ns = static_cast<int64_t>(by_leaf == 1 ? 900 : 800);
        callback_slot(record)->longest_ns = by_leaf == 1 ? 50 : 40;
        callback_slot(record)->longest = by_leaf == 1 ? note : nullptr;
        callback_leaf(record->leaf)->by_owner.count = 3 * by_leaf;
        for (counter &bucket : callback_leaf(record->leaf)->latency_us_log2)
            bucket.count = by_leaf;
        by_leaf *= 10;
    }
    struct rtrcu_stats stats = {};
    callback_stats(cb_, &stats);
    EXPECT_EQ(stats.callbacks_queued, 37u * 11);
    EXPECT_EQ(stats.callbacks_invoked, 25u * 11);
    EXPECT_EQ(stats.callbacks_backlog, 12u * 11);
    EXPECT_EQ(stats.callbacks_by_owner, 33u);
    for (int i = 0; i < RTRCU_LATENCY_BUCKETS; i++)
        EXPECT_EQ(stats.latency_us_log2[i], 11u) << i;
    EXPECT_EQ(stats.callback_oldest_ns, 800u);
    EXPECT_EQ(stats.callback_ns_max, 50u);
    EXPECT_EQ(stats.callback_longest, reinterpret_cast<uintptr_t>(note));
    callback_slot(second)->queue.invoked = 300; /* all callbacks have returned, but not all pointers are freed */
    stats = {};
    callback_stats(cb_, &stats);
    EXPECT_EQ(stats.callback_oldest_ns, 800u);
    callback_slot(second)->free_done = 70; /* all pointers are freed too, so the slot's oldest time does not count */
    stats = {};
    callback_stats(cb_, &stats);
    EXPECT_EQ(stats.callback_oldest_ns, 900u);
}

/* Callbacks that become ready later do not change the time of ready ones that no thread has run. */
TEST_F(Count, LaterReadyCallbacksKeepTheOldestReadyTime)
{
    reader_record *record = world_.craft(0);
    uint32_t times = callback_times_ready(record);
    for (int64_t since_ns : {100, 200}) {
        enqueue(record);
        callback_slot(record)->oldest_ns = since_ns;
        make_ready(record);
        EXPECT_EQ(callback_slot(record)->oldest_ready_ns, 100);
        EXPECT_EQ(callback_times_ready(record), ++times);
        advance(record);
        EXPECT_EQ(callback_times_ready(record), times) << "no further callback became ready";
    }
    EXPECT_EQ(invoke(record, everything()), 2u);
}

/* Callers of callback_count_leaked() print a message only if it returns true. */
TEST_F(Count, CountLeakedReturnsTrueOnce)
{
    EXPECT_TRUE(callback_count_leaked(cb_));
    EXPECT_FALSE(callback_count_leaked(cb_));
    EXPECT_FALSE(callback_count_leaked(cb_));
    EXPECT_EQ(cb_->frees_leaked.count, 3u);
}

} // namespace
