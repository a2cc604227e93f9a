// SPDX-License-Identifier: MIT OR Apache-2.0
// The records of one variant of the latency experiment, in memory that parent and child share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "probe/shared_array.h"

namespace lab
{

// Converts a duration to the type of the records.
inline uint32_t to_u32(int64_t value)
{
    return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, UINT32_MAX));
}

// One due time of the loop's probe.  The overrun fields are 0 if no batch of callbacks delayed it.
struct ProbeSample {
    uint32_t late_ns;
    uint32_t overrun_ns;
    uint32_t overrun_cpu_ns;
    uint32_t overrun_callbacks;
    uint32_t share_ns; // the part of the overrun that the callbacks themselves took: measure/late_share.h
};

// A late sample of the loop's probe, and the counts during its delay: probe/witness.h.
struct LateSample {
    uint32_t late_ns;
    uint32_t own_ns;            // the part that the callbacks themselves took, as in ProbeSample
    uint32_t work_ns, calls_ns; // the parts of the lateness in the loop's own work, and in the call that may run
                                // callbacks
    uint32_t stolen_ns;         // stolen by the host
    uint32_t waited_ns;         // runnable, but not running
    uint32_t blocked_ns;        // not on the CPU, inside an iteration
    uint32_t faults, major_faults;
    uint32_t involuntary;         // switches
    uint32_t interrupts;          // interrupts of the loop's timers
    uint32_t callbacks_elsewhere; // callbacks that other threads began on the loop's CPU
    bool asleep;                  // the loop slept when the probe was due
};

// An event with a begin and an end, in nanoseconds since the begin of the part of the trace that is kept:
// probe/trace.h.
struct TraceEvent {
    enum Kind : uint32_t {
        deadline,     // from the due time to the time when it was served
        batch,        // a call of the loop that ran callbacks
        helper_batch, // consecutive callbacks of other threads
        grace_period, // the loop saw the number of a new grace period; has no duration
        section,      // a section of the long reader
    };
    Kind kind;
    uint32_t callbacks;
    int64_t begin_ns, end_ns;
};

struct BacklogSample {
    uint32_t at_ms; // the measured time of this variant at that moment
    uint32_t backlog;
};

// One round: the largest backlog, and the p99 of the time from call_rcu() to a callback's begin.
struct InvocationSample {
    uint32_t backlog_max;
    uint32_t p99_us; // the upper bound of its power-of-two bucket
};

// One round's measured time.  Spreads are computed over rounds.
struct RoundSample {
    uint64_t operations, callbacks;
    uint64_t wall_ns, loop_cpu_ns;
    uint64_t helper_cpu_ns; // CPU time of the back-end's own threads
    uint64_t samples_end;   // loop samples recorded up to the round's end
    uint64_t backlog_max, backlog_end;
};

// Totals over the measured time; the child updates them between rounds.
struct Totals {
    uint64_t rounds;
    uint64_t wall_ns;
    uint64_t loop_cpu_ns;
    uint64_t process_cpu_ns;
    uint64_t helper_cpu_ns; // CPU time of the back-end's own threads: daemons, drivers
    uint64_t operations;
    uint64_t callbacks;
    uint64_t callbacks_on_loop;
    uint64_t backlog_max;
    uint64_t backlog_end;
    uint64_t work_events_lost; // arrivals dropped because the loop was too slow
    uint64_t dropped;          // operations that the workload dropped because the back-end was at its limit
    uint64_t backlog_limit;    // the backlog at which the back-end refuses; 0: no limit
    uint64_t bursts;
    int64_t traced_late_ns; // lateness of the sample in the middle of the trace
    double callback_ns;
    double work_ns_per_operation; // measured in the calibration
    // Increases of the library's own counters over the measured time.
    uint64_t grace_periods, deadline_stops, budget_stops, over_qmax, limit_raised, direct, direct_refused;
    bool fifo; // the loop ran as SCHED_FIFO
    // The recorder of late samples: its readings, and the time that they took.
    uint64_t witness_readings, witness_ns;
    uint64_t fault_ns; // time of a page fault without I/O
    bool stolen_is_known, waiting_is_known;
};

struct VariantRecord {
    static constexpr std::size_t rounds_max = 4096, trace_events_max = 1 << 14;
    explicit VariantRecord(std::size_t samples, std::size_t milliseconds)
        : loop(samples), thread(milliseconds), backlog(milliseconds), callbacks_a_gp(samples), batches(samples),
          invocations(rounds_max), rounds(rounds_max), late(samples), wakes(samples), trace(trace_events_max), totals(1)
    {
        totals.push(Totals{});
    }
    Totals &sum()
    {
        return const_cast<Totals &>(totals[0]);
    }
    const Totals &sum() const
    {
        return totals[0];
    }

    SharedArray<ProbeSample> loop;
    SharedArray<uint32_t> thread; // lateness of ThreadProbe, a thread that only sleeps until each due time, ns
    SharedArray<BacklogSample> backlog;
    SharedArray<uint32_t> callbacks_a_gp;
    SharedArray<uint32_t> batches; // the number of callbacks of each call of turn() that ran any
    SharedArray<InvocationSample> invocations;
    SharedArray<RoundSample> rounds;
    SharedArray<LateSample> late; // recorded late samples; empty if they were not requested
    SharedArray<uint32_t> wakes;  // lateness of each sample that found the loop asleep, in ns; empty if not requested
    SharedArray<TraceEvent> trace;
    SharedArray<Totals> totals;
};

} // namespace lab
