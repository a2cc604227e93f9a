// SPDX-License-Identifier: MIT OR Apache-2.0
// The records of one variant of the latency experiment, in memory that parent and child share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "probe/shared_array.h"

namespace lab
{

// Converts a duration to the 32-bit type of the records; limits it to the range of that type.
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
    uint32_t share_ns; // the part of the overrun in which the callbacks themselves ran: measure/late_share.h
};

// A late sample of the loop's probe, with times and counts of events during the delay, which probe/witness.h records.
struct LateSample {
    uint32_t late_ns;
    uint32_t own_ns; // the part of the lateness in which the callbacks themselves ran, as ProbeSample::share_ns
    uint32_t work_ns, calls_ns; // the parts of the lateness in the loop's own work, and in the call that may run
                                // callbacks
    uint32_t stolen_ns;         // time that the host stole from the thread
    uint32_t waited_ns;         // time in which the loop was runnable but did not run
    uint32_t blocked_ns;        // time inside an iteration in which the loop was blocked
    uint32_t faults, major_faults;
    uint32_t involuntary;         // involuntary context switches
    uint32_t interrupts;          // interrupts of the loop's timers
    uint32_t callbacks_elsewhere; // callbacks that other threads began on the loop's CPU
    bool asleep;                  // the loop slept when the probe was due
};

// An event of the trace (probe/trace.h).  Its begin and end are in nanoseconds since the begin of the recorded window.
struct TraceEvent {
    enum Kind : uint32_t {
        deadline,     // from the due time to the time when it was served
        batch,        // a call of the loop that ran callbacks
        helper_batch, // consecutive callbacks of other threads
        grace_period, // the time at which the loop saw the number of a new grace period; no duration
        section,      // a section of the long reader
    };
    Kind kind;
    uint32_t callbacks;
    int64_t begin_ns, end_ns;
};

struct BacklogSample {
    uint32_t at_ms; // milliseconds of measurement of this variant before the sample
    uint32_t backlog;
};

// The largest backlog of one round, and the 99th percentile of the time from call_rcu() to a callback's begin.
struct InvocationSample {
    uint32_t backlog_max;
    uint32_t p99_us; // rounded up to the upper bound of the percentile's power-of-two bucket
};

// The totals of one round's measurement.  The spread of a figure is computed over the rounds.
struct RoundSample {
    uint64_t operations, callbacks;
    uint64_t wall_ns, loop_cpu_ns;
    uint64_t helper_cpu_ns; // CPU time of the back-end's own threads
    uint64_t samples_end;   // number of loop samples in all rounds so far, this round included
    uint64_t backlog_max, backlog_end;
};

// Totals over all measured rounds; the child process updates them between rounds.
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
    uint64_t dropped;          // operations that the workload dropped because the back-end refused more callbacks
    uint64_t backlog_limit;    // the backlog at which the back-end refuses callbacks; 0: no limit
    uint64_t bursts;
    int64_t traced_late_ns; // lateness of the sample in the middle of the trace
    double callback_ns;
    double work_ns_per_operation; // measured in the calibration
    // Increases of the library's own counters over the measured time.
    uint64_t grace_periods, deadline_stops, budget_stops, over_qmax, limit_raised, direct, direct_refused;
    bool fifo; // the loop ran as SCHED_FIFO
    // The number of readings by the recorder of late samples, and the time that they took.
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
    SharedArray<uint32_t> thread; // lateness of each wake-up of ThreadProbe, in ns
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
