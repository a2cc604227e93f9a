// SPDX-License-Identifier: MIT OR Apache-2.0
// Records why a sample of the deadline probe was late: events counted on the loop's thread since it was last in time.
//
// The loop reads its thread's counters at the end of each iteration that ends before the next due time. If the probe is
// then late, it reads them again. Everything between the two readings delayed the sample, even before the due time,
// because it delayed the loop's work.
#pragma once

#include <cstdint>
#include <optional>

#include "machine/thread_counters.h"
#include "measure/callback_meter.h"
#include "probe/record.h"

namespace lab
{

// The phases of the loop's last iteration.  Times are CLOCK_MONOTONIC; 0 if the iteration did not reach the phase.
struct LoopPhases {
    int64_t turn_begin_ns = 0;
    int64_t work_begin_ns = 0, work_end_ns = 0;
    int64_t calls_begin_ns = 0, calls_end_ns = 0; // the call that may run callbacks
    int64_t turn_end_ns = 0;
    bool slept_before = false; // the loop may have slept in the wait before that iteration
};

// Returns the record of a late sample.  `before`, `after`: the thread's counters before and after the delay; `sample`:
// the loop's record of the sample, whose due time is `due_ns` and which was served at `served_ns`.
LateSample make_late_sample(const ThreadCounts &before, const ThreadCounts &after, const LoopPhases &phases,
                            const LoopTimers &timers, const ProbeSample &sample, int64_t due_ns, int64_t served_ns);

class LateWitness
{
  public:
    // Must be created by the loop's thread.  Records samples that are at least `late_from_ns` late.
    LateWitness(int64_t late_from_ns, VariantRecord &record);

    // Called before each round, so that events between rounds are not attributed to samples.
    void round_begins();
    // The loop calls these four functions in this order in every iteration.
    void sample(const ProbeSample &sample, int64_t due_ns, int64_t served_ns, const LoopTimers &timers);
    void turn_begins(int64_t now);
    void worked(int64_t begin_ns, int64_t end_ns);
    void called(int64_t begin_ns, int64_t end_ns);
    void turn_ends(int64_t next_due_ns, bool sleeps);

    // The number of readings so far, and the time that they took.
    uint64_t readings() const
    {
        return readings_;
    }
    uint64_t readings_ns() const
    {
        return readings_ns_;
    }

  private:
    ThreadCounts read();

    const int64_t late_from_ns_;
    VariantRecord &record_;
    ThreadCounters counters_;
    std::optional<ThreadCounts> before_, after_;
    uint64_t elsewhere_before_ = 0, elsewhere_after_ = 0;
    LoopPhases phases_;
    bool may_sleep_ = false;
    uint64_t readings_ = 0, readings_ns_ = 0;
};

} // namespace lab
