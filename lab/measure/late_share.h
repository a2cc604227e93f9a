// SPDX-License-Identifier: MIT OR Apache-2.0
// The callbacks' own part of a delay: the time that callbacks took after a due time, without timer interrupts.
//
// The loop's timers, and so the due time, expire at known times. Each causes an interrupt, whose time the kernel counts
// as the loop's.  The intervals between stamps are charged to the callbacks in full, with one exception: after each
// expiry, one interval that is longer than usual is assumed to contain the interrupt. It is charged, for each callback,
// the time of the longest other interval in this batch.  Other interrupts and stolen time stay charged to the
// callbacks, so the result is an upper bound.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lab
{

class LateShare
{
  public:
    // The expiries of one timer, in cycles; period 0: there is no timer.
    struct Timer {
        uint64_t next = 0, period = 0;
        unsigned expired(uint64_t now)
        {
            if (period == 0 || now < next)
                return 0;
            const uint64_t count = (now - next) / period + 1;
            next += count * period;
            return static_cast<unsigned>(count);
        }
    };

    // Begins a batch.  `slack`: an interval is longer than usual if it exceeds twice the longest other interval by at
    // least `slack`.
    void begin(uint64_t now, uint64_t due, uint64_t slack, Timer probe, Timer work)
    {
        last_ = now;
        due_ = due;
        slack_ = slack;
        probe_ = probe;
        work_ = work;
        expected_ = 0;
        own_ = 0;
        usual_before_ = usual();
        longest_ = 0;
    }
    // Called when a callback begins or the batch ends.  `callbacks`: the number that began since the preceding stamp.
    void stamp(uint64_t now, uint64_t callbacks)
    {
        const uint64_t count = std::max<uint64_t>(callbacks, 1);
        expected_ += probe_.expired(now) + work_.expired(now);
        if (now > due_)
            own_ += std::min(charge(now - last_, count), now - std::max(last_, due_));
        else
            (void)charge(now - last_, count);
        last_ = now;
    }
    uint64_t own() const
    {
        return own_;
    }

  private:
    uint64_t usual() const
    {
        return longest_ != 0 ? longest_ : usual_before_;
    }
    uint64_t charge(uint64_t length, uint64_t count)
    {
        const uint64_t each = length / count;
        if (expected_ != 0 && usual() != 0 && each > 2 * usual() + slack_ / count) {
            expected_--;
            return std::min(length, usual() * count);
        }
        longest_ = std::max(longest_, each);
        return length;
    }

    uint64_t last_ = 0, due_ = 0, slack_ = 0;
    Timer probe_, work_;
    unsigned expected_ = 0; // expiries whose interrupt has not been found yet
    uint64_t own_ = 0;
    uint64_t longest_ = 0,
             usual_before_ = 0; // longest interval divided by its callbacks: in this batch, and in the batch before
};

} // namespace lab
