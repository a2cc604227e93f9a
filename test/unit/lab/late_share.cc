// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the callbacks' share of a delay, with made-up stamps: one cycle is one nanosecond.
#include <gtest/gtest.h>

#include "measure/late_share.h"

using namespace lab;

namespace
{

constexpr uint64_t due = 10'000, slack = 1'000, callback = 50;

// A batch that begins at `begin`; the probe's timer expires at 10,000 and every 200,000 after that.
class Batch
{
  public:
    explicit Batch(uint64_t begin, LateShare::Timer work = {}) : now_(begin)
    {
        share_.begin(begin, due, slack, {begin < due ? due : due + 200'000, 200'000}, work);
    }
    Batch &run(int callbacks, uint64_t each = callback)
    {
        for (int i = 0; i < callbacks; i++)
            share_.stamp(now_ += each, 1);
        return *this;
    }
    uint64_t own() const
    {
        return share_.own();
    }

  private:
    LateShare share_;
    uint64_t now_;
};

} // namespace

TEST(LateShare, CallbacksBeforeTheDueTimeAreNotCharged)
{
    EXPECT_EQ(Batch(0).run(100).own(), 0u);
}

TEST(LateShare, CallbacksAfterTheDueTimeAreChargedInFull)
{
    EXPECT_EQ(Batch(due - 20 * callback).run(50).own(), 30 * callback);
    EXPECT_EQ(Batch(due + 7'000).run(50).own(), 50 * callback)
        << "a batch that begins late is charged its own time only";
}

TEST(LateShare, CallbackAcrossTheDueTimeIsChargedFromTheDueTime)
{
    EXPECT_EQ(Batch(due - 30).run(1).own(), 20u);
}

TEST(LateShare, InterruptOfTheProbesTimerIsNotCharged)
{
    const uint64_t own = Batch(due - 2 * callback).run(2).run(1, 15'000).run(3).own();
    EXPECT_EQ(own, callback + 3 * callback);
}

TEST(LateShare, InterruptOfTheWorkTimerIsNotCharged)
{
    const uint64_t own = Batch(due + 5, {due + 400, 217'000}).run(10).run(1, 15'000).run(3).own();
    EXPECT_EQ(own, 14 * callback);
}

TEST(LateShare, OneExpiryExplainsOneLongIntervalOnly)
{
    const uint64_t own = Batch(due - 2 * callback).run(2).run(2, 15'000).run(3).own();
    EXPECT_EQ(own, callback + 15'000 + 3 * callback) << "two long intervals, one expiry: the other interval is charged";
}

TEST(LateShare, LongIntervalWithoutAnExpiryIsCharged)
{
    EXPECT_EQ(Batch(due + 5).run(10).run(1, 15'000).own(), 10 * callback + 15'000);
}

TEST(LateShare, LongCallbackIsChargedEvenAtATimerExpiry)
{
    const uint64_t each = 50'000;
    EXPECT_GE(Batch(due - 3 * each / 2).run(4, each).own(), 2 * each + each / 2);
}

TEST(LateShare, InterruptedCallbackIsChargedTheCostFromThePreviousBatch)
{
    LateShare share;
    share.begin(0, due, slack, {}, {});
    share.stamp(callback, 1);
    share.begin(due - 10, due, slack, {due, 200'000}, {});
    share.stamp(due + 20'000, 1);
    EXPECT_EQ(share.own(), callback);
}
