// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the trace around the worst sample: the chosen round, its window, and batches of other threads.
#include "probe/trace.h"

#include <gtest/gtest.h>

#include "measure/clock.h"

namespace lab
{
namespace
{

constexpr int64_t ms = 1'000'000;

unsigned count_of(const VariantRecord &record, TraceEvent::Kind kind)
{
    unsigned count = 0;
    for (std::size_t i = 0; i < record.trace.count(); i++)
        count += record.trace[i].kind == kind;
    return count;
}

BatchRecord batch_at(int64_t begin_ns, int64_t end_ns, uint64_t callbacks)
{
    BatchRecord batch;
    batch.begin_ns = begin_ns;
    batch.end_ns = end_ns;
    batch.callbacks = callbacks;
    return batch;
}

struct TraceTest : testing::Test {
    VariantRecord record{16, 16};
    Trace trace;
    int64_t begin_ns = 0;

    void begin()
    {
        trace.begin_round();
        begin_ns = now_ns();
    }
    void late_at(int64_t at_ns, int64_t late_ns)
    {
        trace.deadline(begin_ns + at_ns, begin_ns + at_ns + late_ns);
    }
};

TEST_F(TraceTest, WorstSampleIsInTheMiddleOfTheTrace)
{
    begin();
    late_at(80 * ms, 5 * ms);
    late_at(90 * ms, 1 * ms);
    trace.keep(record);
    ASSERT_EQ(record.trace.count(), 2u);
    EXPECT_EQ(record.trace[0].begin_ns, 50 * ms);
    EXPECT_EQ(record.trace[0].end_ns, 55 * ms);
    EXPECT_EQ(record.trace[1].begin_ns, 60 * ms);
    EXPECT_EQ(record.sum().traced_late_ns, 5 * ms);
}

TEST_F(TraceTest, OnlyAWorseRoundReplacesTheTrace)
{
    for (const int64_t late_ns : {3 * ms, 2 * ms, 4 * ms}) {
        begin();
        late_at(80 * ms, late_ns);
        if (late_ns == 2 * ms)
            trace.grace_period(begin_ns + 80 * ms);
        trace.keep(record);
        EXPECT_EQ(count_of(record, TraceEvent::grace_period), 0u) << late_ns;
        EXPECT_EQ(count_of(record, TraceEvent::deadline), 1u) << late_ns;
        EXPECT_EQ(record.sum().traced_late_ns, std::max(late_ns, 3 * ms));
    }
}

TEST_F(TraceTest, EventsAreClippedToTheWindow)
{
    begin();
    late_at(200 * ms, 1 * ms);
    trace.batch(batch_at(begin_ns + 100 * ms, begin_ns + 149 * ms, 7)); // ends before the window
    trace.batch(batch_at(begin_ns + 140 * ms, begin_ns + 160 * ms, 8)); // overlaps its beginning
    trace.section(begin_ns + 240 * ms, begin_ns + 300 * ms);            // overlaps its end
    trace.section(begin_ns + 251 * ms, begin_ns + 252 * ms);            // begins after the window
    trace.keep(record);
    ASSERT_EQ(record.trace.count(), 3u);
    EXPECT_EQ(record.trace[1].callbacks, 8u);
    EXPECT_EQ(record.trace[1].begin_ns, 0);
    EXPECT_EQ(record.trace[1].end_ns, 10 * ms);
    EXPECT_EQ(record.trace[2].begin_ns, 90 * ms);
    EXPECT_EQ(record.trace[2].end_ns, 100 * ms);
}

TEST_F(TraceTest, ConsecutiveCallbacksOfOtherThreadsAreOneBatch)
{
    begin();
    const int64_t at = now_ns();
    const uint64_t first = cycles_now(), gap = static_cast<uint64_t>(1'000'000 * cycles_per_ns());
    for (const uint64_t stamp : {first, first + 1, first + 2, first + gap})
        callback_stamps.note(stamp);
    while (cycles_now() <= first + gap) // until the last stamp, which is in the future, has passed
        continue;
    late_at(0, 1 * ms);
    trace.keep(record);
    ASSERT_EQ(count_of(record, TraceEvent::helper_batch), 2u);
    const TraceEvent &earlier = record.trace[record.trace.count() - 2], &later = record.trace[record.trace.count() - 1];
    EXPECT_EQ(earlier.callbacks, 3 * callback_stamp_stride);
    EXPECT_EQ(later.callbacks, callback_stamp_stride);
    EXPECT_NEAR(static_cast<double>(later.begin_ns - earlier.begin_ns), 1e6, 2e5);
    EXPECT_GE(begin_ns + earlier.begin_ns - 50 * ms, at - 1 * ms);
}

TEST_F(TraceTest, RoundWithDroppedStampsIsNotKept)
{
    begin();
    late_at(0, 1 * ms);
    for (std::size_t i = 0; i <= StampLog::capacity; i++)
        callback_stamps.note(cycles_now());
    trace.keep(record);
    EXPECT_EQ(record.trace.count(), 0u);
    begin();
    late_at(0, 1 * ms);
    trace.keep(record);
    EXPECT_EQ(record.trace.count(), 1u);
}

} // namespace
} // namespace lab
