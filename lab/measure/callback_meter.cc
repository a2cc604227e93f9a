// SPDX-License-Identifier: MIT OR Apache-2.0
// The callback meter's code for the less frequent cases.
#include "measure/callback_meter.h"

#include <sched.h>

#include <algorithm>

namespace lab
{

CallbackMeter callback_meter;
constinit StampLog callback_stamps;
thread_local bool CallbackMeter::on_loop = false;

// The meter stamps every callback that begins within this time before the due time.
constexpr int64_t near_ns = 2000;
// An interval that contains a timer interrupt is longer than other intervals by at least this.
constexpr int64_t interrupted_ns = 1000;
// A longer interval contains a preemption or the end of a batch, and does not count as the time of a callback.
constexpr double longest_callback_ns = 5000;

// Returns the first expiry after `now_ns` of a timer that first expired at `first_ns`.
static int64_t next_expiry(int64_t first_ns, int64_t period_ns, int64_t now_ns)
{
    return period_ns <= 0 || now_ns < first_ns ? first_ns : now_ns + period_ns - (now_ns - first_ns) % period_ns;
}

void CallbackMeter::begin_call(int64_t due_ns, bool with_cpu, const LoopTimers &timers)
{
    with_cpu_ = with_cpu;
    first_of_call_ = invoked_on_loop();
    cpu_at_late_stamp_ = -1;
    last_stamp_ = {};
    due_is_near_ = false;
    if (with_cpu)
        cpu_at_begin_ = thread_cpu_ns();
    begin_ns_ = now_ns();
    // Both clocks are read again at each call, so that their drift accumulates over one call only.
    const uint64_t now = cycles_now();
    auto cycles = [](int64_t ns) {
        return static_cast<uint64_t>(static_cast<double>(std::max<int64_t>(ns, 0)) * cycles_per_ns());
    };
    due_cycles_ = now + cycles(due_ns - begin_ns_);
    near_cycles_ = cycles(near_ns);
    on_time_ = first_of_call_;
    const int64_t probe_ns = next_expiry(due_ns, timers.probe_period_ns, begin_ns_);
    const int64_t work_ns = next_expiry(timers.work_first_ns, timers.work_period_ns, begin_ns_);
    share_.begin(now, due_cycles_, cycles(interrupted_ns),
                 {now + cycles(probe_ns - begin_ns_), cycles(timers.probe_period_ns)},
                 {now + cycles(work_ns - begin_ns_), cycles(timers.work_period_ns)});
    share_begun_ = first_of_call_;
}

// Returns the CPU time that callbacks took after the due time.  It is exact after the first late stamp.  The time
// between the last stamp before the due time and the first one after it is divided by the number of callbacks.
int64_t CallbackMeter::late_cpu_share(const BatchRecord &record, int64_t cpu_now) const
{
    int64_t each = record.cpu_ns / static_cast<int64_t>(std::max<uint64_t>(record.callbacks, 1));
    int64_t unstamped = each * static_cast<int64_t>(std::min(callback_stamp_stride, record.late_callbacks + 1));
    int64_t stamped = cpu_at_late_stamp_ < 0 ? 0 : cpu_now - cpu_at_late_stamp_;
    return std::min({stamped + unstamped, record.cpu_ns, record.late_ns});
}

BatchRecord CallbackMeter::end_call(int64_t due_ns)
{
    BatchRecord record;
    record.begin_ns = begin_ns_;
    record.end_ns = now_ns();
    record.callbacks = invoked_on_loop() - first_of_call_;
    int64_t cpu_now = with_cpu_ ? thread_cpu_ns() : 0;
    record.cpu_ns = cpu_now - (with_cpu_ ? cpu_at_begin_ : 0);
    if (record.end_ns > due_ns)
        record.late_callbacks = invoked_on_loop() - on_time_;
    // A batch whose callbacks all began in time counts as ended in time: any further delay is due to the machine.
    if (record.late_callbacks != 0) {
        record.late_ns = record.end_ns - std::max(due_ns, record.begin_ns);
        record.late_cpu_ns = late_cpu_share(record, cpu_now);
        share_.stamp(cycles_now(), invoked_on_loop() - share_begun_);
        record.own_ns =
            std::min(static_cast<int64_t>(static_cast<double>(share_.own()) / cycles_per_ns()), record.late_ns);
    }
    due_cycles_ = 0;
    return record;
}

void CallbackMeter::Stamp::next(uint64_t now, uint64_t now_begun, CallbackMeter &meter)
{
    const uint64_t callbacks = now_begun - begun;
    const double longest = longest_callback_ns * static_cast<double>(callbacks) * cycles_per_ns();
    if (cycles != 0 && static_cast<double>(now - cycles) < longest) {
        meter.timed_cycles_.fetch_add(now - cycles, std::memory_order_relaxed);
        meter.timed_callbacks_.fetch_add(callbacks, std::memory_order_relaxed);
    }
    cycles = now;
    begun = now_begun;
}

void CallbackMeter::begins_elsewhere()
{
    static thread_local uint64_t begun = 0;
    static thread_local Stamp last;
    invoked_elsewhere_.fetch_add(1, std::memory_order_relaxed);
    if ((begun++ & (callback_stamp_stride - 1)) != 0)
        return;
    const uint64_t now = cycles_now();
    last.next(now, begun, *this);
    callback_stamps.note(now);
    const int watched = watched_cpu_.load(std::memory_order_relaxed);
    if (watched >= 0 && sched_getcpu() == watched)
        invoked_on_watched_.fetch_add(callback_stamp_stride, std::memory_order_relaxed);
}

double CallbackMeter::callback_ns() const
{
    const uint64_t callbacks = timed_callbacks_.load(std::memory_order_relaxed);
    if (callbacks == 0)
        return 0;
    double cycles = static_cast<double>(timed_cycles_.load(std::memory_order_relaxed));
    return cycles / static_cast<double>(callbacks) / cycles_per_ns();
}

void CallbackMeter::reset_callback_ns()
{
    timed_cycles_ = 0;
    timed_callbacks_ = 0;
}

} // namespace lab
