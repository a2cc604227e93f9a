// SPDX-License-Identifier: MIT OR Apache-2.0
// Counts callbacks as they begin, on the event loop's thread and elsewhere, and finds those that begin after a due
// time.
//
// A stamp costs about 11 ns, a callback about 30. So only every fourth callback is stamped, but each one while the due
// time is near.  Callbacks between the last stamp before the due time and the first one after it count as begun after
// it.
// So counts of late callbacks are upper bounds, at most three too high.
#pragma once

#include <atomic>
#include <cstdint>

#include "measure/clock.h"
#include "measure/late_share.h"
#include "measure/stamp_log.h"

namespace lab
{

constexpr uint64_t callback_stamp_stride = 4;

// Measurements of one call that may run callbacks.
struct BatchRecord {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    int64_t cpu_ns = 0; // thread CPU time
    uint64_t callbacks = 0;
    uint64_t late_callbacks = 0; // callbacks begun after the due time: an upper bound
    int64_t late_ns = 0;         // from the due time to the end; from the begin to the end if the batch began later
                                 // than the due time
    int64_t late_cpu_ns = 0;     // late_ns in thread CPU time: an upper bound
    int64_t own_ns = 0;          // the part of late_cpu_ns that the callbacks themselves took: late_share.h
};

// The loop's timers, whose interrupts may interrupt batches.
struct LoopTimers {
    int64_t probe_period_ns = 0;
    int64_t work_first_ns = 0, work_period_ns = 0;
};

class CallbackMeter
{
  public:
    // Makes the calling thread the event loop, whose callbacks are counted separately.
    void attach_loop()
    {
        on_loop = true;
    }
    void detach_loop()
    {
        on_loop = false;
    }

    // Every callback must call this first.
    void callback_begins()
    {
        if (on_loop)
            begins_on_loop();
        else
            begins_elsewhere();
    }

    // Called by the loop before and after a call that may run callbacks.  `with_cpu`: also read the thread's CPU clock,
    // which costs a system call each time.
    void begin_call(int64_t due_ns, bool with_cpu, const LoopTimers &timers = {});
    BatchRecord end_call(int64_t due_ns);

    // Callbacks begun so far.  Any thread may call it; the value may be slightly old.
    uint64_t invoked() const
    {
        return invoked_on_loop() + invoked_elsewhere_.load(std::memory_order_relaxed);
    }
    uint64_t invoked_on_loop() const
    {
        return invoked_loop_.load(std::memory_order_relaxed);
    }
    // The number of callbacks that other threads ran on the CPU set by watch_cpu(), estimated from every fourth
    // callback of each thread.
    void watch_cpu(int cpu)
    {
        watched_cpu_.store(cpu, std::memory_order_relaxed);
    }
    uint64_t invoked_on_watched_cpu() const
    {
        return invoked_on_watched_.load(std::memory_order_relaxed);
    }
    // Mean time of a callback, from stamps of consecutive callbacks; 0 if there are none.
    double callback_ns() const;
    void reset_callback_ns();

  private:
    void begins_on_loop()
    {
        const uint64_t before = invoked_on_loop();
        invoked_loop_.store(before + 1, std::memory_order_relaxed);
        if ((before & (callback_stamp_stride - 1)) == 0 || due_is_near_)
            stamp_on_loop();
    }
    void begins_elsewhere();
    void stamp_on_loop()
    {
        const uint64_t now = cycles_now(), begun = invoked_on_loop();
        if (now < due_cycles_)
            on_time_ = begun;
        else if (cpu_at_late_stamp_ < 0 && with_cpu_)
            cpu_at_late_stamp_ = thread_cpu_ns();
        due_is_near_ = due_cycles_ - now < near_cycles_; // false once the due time has passed: the difference wraps
        share_.stamp(now, begun - share_begun_);
        share_begun_ = begun;
        last_stamp_.next(now, begun, *this);
    }

    // A thread's last stamp.  next() adds the callbacks since this stamp, and their time, to the meter.
    struct Stamp {
        uint64_t cycles = 0, begun = 0;
        void next(uint64_t now, uint64_t now_begun, CallbackMeter &meter);
    };
    int64_t late_cpu_share(const BatchRecord &record, int64_t cpu_now) const;

    static thread_local bool on_loop;

    std::atomic<uint64_t> invoked_loop_{0}; // written only by the loop
    // Used by the loop's thread only.
    uint64_t due_cycles_ = 0;
    uint64_t on_time_ = 0;       // callbacks known to have begun before the due time
    uint64_t first_of_call_ = 0; // invoked_loop_ when the call began
    int64_t cpu_at_late_stamp_ = -1;
    int64_t cpu_at_begin_ = 0;
    int64_t begin_ns_ = 0;
    bool with_cpu_ = false;
    bool due_is_near_ = false;
    uint64_t near_cycles_ = 0;
    Stamp last_stamp_;
    LateShare share_;
    uint64_t share_begun_ = 0; // callbacks begun at the last stamp

    // Used by any thread.
    std::atomic<uint64_t> invoked_elsewhere_{0};
    std::atomic<int> watched_cpu_{-1};
    std::atomic<uint64_t> invoked_on_watched_{0};
    std::atomic<uint64_t> timed_cycles_{0};
    std::atomic<uint64_t> timed_callbacks_{0};
};

// The meter of the process.  It is global, because a callback receives only its head.
extern CallbackMeter callback_meter;
// The stamps of callbacks on other threads than the loop.
extern constinit StampLog callback_stamps;

} // namespace lab
