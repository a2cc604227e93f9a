// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the callback meter, which counts a loop's callbacks and those that began after a due time.
#include <gtest/gtest.h>

#include <thread>

#include "measure/callback_meter.h"

using namespace lab;

static void run(CallbackMeter &meter, int callbacks)
{
    for (int i = 0; i < callbacks; i++)
        meter.callback_begins();
}

static void wait_until(int64_t ns)
{
    while (now_ns() < ns)
        ;
}

TEST(CallbackMeter, CountsCallbacksOfTheLoopSeparately)
{
    CallbackMeter meter;
    run(meter, 5);
    meter.attach_loop();
    run(meter, 3);
    std::thread([&] { run(meter, 7); }).join();
    meter.detach_loop();
    EXPECT_EQ(meter.invoked(), 15u);
    EXPECT_EQ(meter.invoked_on_loop(), 3u);
}

TEST(CallbackMeter, BatchBeforeTheDueTimeIsNotLate)
{
    CallbackMeter meter;
    meter.attach_loop();
    int64_t due = now_ns() + 1'000'000'000;
    meter.begin_call(due, true);
    run(meter, 100);
    BatchRecord batch = meter.end_call(due);
    meter.detach_loop();
    EXPECT_EQ(batch.callbacks, 100u);
    EXPECT_EQ(batch.late_callbacks, 0u);
    EXPECT_EQ(batch.late_ns, 0);
}

TEST(CallbackMeter, CountsAtLeastTheLateCallbacks)
{
    // On a busy machine the first 50 callbacks may be late; then the test tries again.
    for (int attempt = 0; attempt < 100; attempt++) {
        CallbackMeter meter;
        meter.attach_loop();
        int64_t due = now_ns() + 10'000'000;
        meter.begin_call(due, true);
        run(meter, 50);
        bool in_time = now_ns() < due;
        wait_until(due + 1'000'000); // more than the rates of both clocks may differ by in 10 ms
        run(meter, 30);
        BatchRecord batch = meter.end_call(due);
        meter.detach_loop();
        if (!in_time)
            continue;
        EXPECT_EQ(batch.callbacks, 80u);
        EXPECT_GE(batch.late_callbacks, 30u);
        EXPECT_LT(batch.late_callbacks, 30u + callback_stamp_stride);
        EXPECT_GE(batch.late_ns, 1000);
        EXPECT_LE(batch.late_cpu_ns, batch.late_ns);
        EXPECT_GT(batch.late_cpu_ns, 0);
        return;
    }
    FAIL() << "fifty callbacks never ran within 10 ms";
}

TEST(CallbackMeter, BatchBeforeTheDueTimeIsNotLateInALongCall)
{
    // On a busy machine the callbacks may be late; then the test tries again.
    for (int attempt = 0; attempt < 100; attempt++) {
        CallbackMeter meter;
        meter.attach_loop();
        int64_t due = now_ns() + 10'000'000;
        meter.begin_call(due, false);
        run(meter, 5); // the last one is stamped, as the first of the next four
        bool in_time = now_ns() < due;
        wait_until(due + 1'000'000); // more than the rates of both clocks may differ by in 10 ms
        BatchRecord batch = meter.end_call(due);
        meter.detach_loop();
        if (!in_time)
            continue;
        EXPECT_GT(batch.end_ns, due);
        EXPECT_EQ(batch.late_callbacks, 0u);
        EXPECT_EQ(batch.late_ns, 0);
        return;
    }
    FAIL() << "five callbacks never ran within 10 ms";
}

TEST(CallbackMeter, BatchThatBeginsAfterTheDueTimeIsEntirelyLate)
{
    CallbackMeter meter;
    meter.attach_loop();
    int64_t due = now_ns() - 5'000'000;
    meter.begin_call(due, true);
    run(meter, 10);
    BatchRecord batch = meter.end_call(due);
    meter.detach_loop();
    EXPECT_EQ(batch.late_callbacks, 10u);
    EXPECT_LT(batch.late_ns, 5'000'000) << "late_ns begins with the batch, not at the due time";
}
