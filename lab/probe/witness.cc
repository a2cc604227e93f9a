// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes a late sample from two readings of the counters.
#include "probe/witness.h"

#include <algorithm>

#include "measure/clock.h"

namespace lab
{

static uint32_t since(uint64_t now, uint64_t before)
{
    return to_u32(static_cast<int64_t>(now - before));
}

static int64_t overlap(int64_t begin_ns, int64_t end_ns, int64_t from_ns, int64_t to_ns)
{
    return begin_ns == 0 ? 0 : std::max<int64_t>(0, std::min(end_ns, to_ns) - std::max(begin_ns, from_ns));
}

// Returns the number of expiries in [from, to] of a timer that first expired at `first`.
static int64_t expiries(int64_t first_ns, int64_t period_ns, int64_t from_ns, int64_t to_ns)
{
    if (period_ns <= 0 || to_ns < first_ns)
        return 0;
    const int64_t until = (to_ns - first_ns) / period_ns + 1;
    const int64_t before = from_ns <= first_ns ? 0 : (from_ns - 1 - first_ns) / period_ns + 1;
    return until - before;
}

// Returns the time inside an iteration for which the thread neither ran nor waited for a CPU: it waited for a lock or a
// page, since an iteration calls nothing else that blocks.
static int64_t blocked_ns(const ThreadCounts &before, const ThreadCounts &after, const LoopPhases &phases)
{
    const uint64_t switches = after.voluntary - before.voluntary;
    if (phases.turn_begin_ns == 0 || switches <= (phases.slept_before ? 1 : 0))
        return 0;
    return after.at_ns - phases.turn_begin_ns - (after.occupied_ns - before.occupied_ns) -
           (after.waited_ns - before.waited_ns);
}

LateSample make_late_sample(const ThreadCounts &before, const ThreadCounts &after, const LoopPhases &phases,
                            const LoopTimers &timers, const ProbeSample &sample, int64_t due_ns, int64_t served_ns)
{
    LateSample late{};
    late.late_ns = sample.late_ns;
    late.asleep = due_ns >= phases.turn_end_ns;
    late.own_ns = sample.share_ns;
    late.work_ns = to_u32(overlap(phases.work_begin_ns, phases.work_end_ns, due_ns, served_ns));
    late.calls_ns = to_u32(overlap(phases.calls_begin_ns, phases.calls_end_ns, due_ns, served_ns));
    late.waited_ns = to_u32(after.waited_ns - before.waited_ns);
    late.stolen_ns = to_u32((after.occupied_ns - before.occupied_ns) - (after.cpu_ns - before.cpu_ns));
    late.blocked_ns = late.asleep ? 0 : to_u32(blocked_ns(before, after, phases));
    late.faults = since(after.faults, before.faults);
    late.major_faults = since(after.major_faults, before.major_faults);
    late.involuntary = since(after.involuntary, before.involuntary);
    // The interrupt that wakes a sleeping loop is part of the wake-up, and is not counted here.
    late.interrupts = to_u32(expiries(due_ns, timers.probe_period_ns, due_ns, served_ns) - (late.asleep ? 1 : 0) +
                             expiries(timers.work_first_ns, timers.work_period_ns, due_ns, served_ns));
    return late;
}

LateWitness::LateWitness(int64_t late_from_ns, VariantRecord &record) : late_from_ns_(late_from_ns), record_(record)
{
    Totals &sum = record_.sum();
    sum.fault_ns = static_cast<uint64_t>(minor_fault_ns());
    sum.stolen_is_known = counters_.has_task_clock();
    sum.waiting_is_known = counters_.has_waiting();
}

ThreadCounts LateWitness::read()
{
    const int64_t begin = now_ns();
    const ThreadCounts counts = counters_.read();
    readings_++;
    readings_ns_ += static_cast<uint64_t>(now_ns() - begin);
    return counts;
}

void LateWitness::round_begins()
{
    before_.reset();
    after_.reset();
    phases_ = {};
    may_sleep_ = false;
}

// Records the wake-up time of each sample that found the loop asleep, and all details of a sample that is late.
void LateWitness::sample(const ProbeSample &sample, int64_t due_ns, int64_t served_ns, const LoopTimers &timers)
{
    if (!before_)
        return;
    if (due_ns >= phases_.turn_end_ns)
        record_.wakes.push(sample.late_ns);
    if (sample.late_ns < late_from_ns_)
        return;
    if (!after_) {
        after_ = read();
        elsewhere_after_ = callback_meter.invoked_on_watched_cpu();
    }
    LateSample late = make_late_sample(*before_, *after_, phases_, timers, sample, due_ns, served_ns);
    late.callbacks_elsewhere = since(elsewhere_after_, elsewhere_before_);
    record_.late.push(late);
}

void LateWitness::turn_begins(int64_t now)
{
    after_.reset();
    phases_ = {};
    phases_.turn_begin_ns = now;
    phases_.slept_before = may_sleep_;
}

void LateWitness::worked(int64_t begin_ns, int64_t end_ns)
{
    phases_.work_begin_ns = begin_ns;
    phases_.work_end_ns = end_ns;
}

void LateWitness::called(int64_t begin_ns, int64_t end_ns)
{
    phases_.calls_begin_ns = begin_ns;
    phases_.calls_end_ns = end_ns;
}

void LateWitness::turn_ends(int64_t next_due_ns, bool sleeps)
{
    may_sleep_ = sleeps;
    phases_.turn_end_ns = now_ns();
    if (phases_.turn_end_ns >= next_due_ns) // the next due time has already passed: keep the older readings
        return;
    before_ = read();
    elsewhere_before_ = callback_meter.invoked_on_watched_cpu();
    phases_.turn_end_ns = now_ns(); // so that the iteration includes the time of the reading
}

} // namespace lab
