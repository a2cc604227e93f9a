// SPDX-License-Identifier: MIT OR Apache-2.0
// Why a sample of the deadline probe was late: what was counted on the loop's thread since it was last in time.
//
// The loop takes a reading of its thread's counters at the end of each turn that ends before the next due time, and a
// second one where the probe is then late.  What lies between the two delayed the sample: also what came before the due
// time, since it moved the loop's work past it.
#pragma once

#include <cstdint>
#include <optional>

#include "machine/thread_counters.h"
#include "measure/callback_meter.h"
#include "probe/record.h"

namespace lab
{

// The loop's last turn, and the wait after it.  All are CLOCK_MONOTONIC, 0 where there was none.
struct LoopPhases {
    int64_t turn_begin_ns = 0;
    int64_t work_begin_ns = 0, work_end_ns = 0;
    int64_t calls_begin_ns = 0, calls_end_ns = 0; // the call that may run callbacks
    int64_t turn_end_ns = 0;
    bool slept_before = false; // the wait before that turn may have slept
};

// One late sample from two readings.  `sample`: what the loop recorded; its due time and when it was served.
LateSample make_late_sample(const ThreadCounts &before, const ThreadCounts &after, const LoopPhases &phases,
                            const LoopTimers &timers, const ProbeSample &sample, int64_t due_ns, int64_t served_ns);

class LateWitness
{
  public:
    // On the loop's thread.  Samples later than `late_from_ns` are recorded.
    LateWitness(int64_t late_from_ns, VariantRecord &record);

    // What ran between two rounds delayed no sample.
    void round_begins();
    // In this order, turn by turn.
    void sample(const ProbeSample &sample, int64_t due_ns, int64_t served_ns, const LoopTimers &timers);
    void turn_begins(int64_t now);
    void worked(int64_t begin_ns, int64_t end_ns);
    void called(int64_t begin_ns, int64_t end_ns);
    void turn_ends(int64_t next_due_ns, bool sleeps);

    // What the readings themselves took so far.
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
