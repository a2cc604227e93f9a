// SPDX-License-Identifier: MIT OR Apache-2.0
// What one variant of the latency experiment records, in memory that parent and child share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "probe/shared_array.h"

namespace lab
{

// A duration as a record holds it.
inline uint32_t to_u32(int64_t value)
{
    return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, UINT32_MAX));
}

// One due time of the loop's probe.  The overrun fields are 0 where no batch of callbacks was in the way.
struct ProbeSample {
    uint32_t late_ns;
    uint32_t overrun_ns;
    uint32_t overrun_cpu_ns;
    uint32_t overrun_callbacks;
    uint32_t share_ns; // of the overrun, the callbacks' own share: measure/late_share.h
};

// A sample of the loop's probe that was late, and what was counted meanwhile: probe/witness.h.
struct LateSample {
    uint32_t late_ns;
    uint32_t own_ns;            // the callbacks' own share, as in ProbeSample
    uint32_t work_ns, calls_ns; // of the lateness: in the loop's own work, in the call that may run callbacks
    uint32_t stolen_ns;         // on a CPU that the host did not run
    uint32_t waited_ns;         // runnable without running
    uint32_t blocked_ns;        // off the CPU inside a turn
    uint32_t faults, major_faults;
    uint32_t involuntary;         // switches
    uint32_t interrupts;          // of the loop's timers
    uint32_t callbacks_elsewhere; // begun on the loop's CPU by other threads
    bool asleep;                  // the loop slept when the probe was due
};

// Something that took from one time to another, nanoseconds since the begin of the part that is kept: probe/trace.h.
struct TraceEvent {
    enum Kind : uint32_t {
        deadline,     // from due to served
        batch,        // a call of the loop that ran callbacks
        helper_batch, // callbacks of other threads that followed each other
        grace_period, // another one's number was seen by the loop; takes no time
        section,      // of the long reader
    };
    Kind kind;
    uint32_t callbacks;
    int64_t begin_ns, end_ns;
};

struct BacklogSample {
    uint32_t at_ms; // measured time of this variant
    uint32_t backlog;
};

// One round: how long callbacks waited from call_rcu() to their invocation, against how many waited at most.
struct InvocationSample {
    uint32_t backlog_max;
    uint32_t p99_us; // the upper bound of the counter's power of two
};

// One round's measured time.  A spread is that of rounds.
struct RoundSample {
    uint64_t operations, callbacks;
    uint64_t wall_ns, loop_cpu_ns;
    uint64_t helper_cpu_ns; // CPU time of the back-end's own threads
    uint64_t samples_end;   // loop samples recorded up to its end
    uint64_t backlog_max, backlog_end;
};

// Totals of the measured time; written by the child between rounds.
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
    uint64_t work_events_lost; // arrivals given up since the loop could not keep up
    uint64_t dropped;          // operations dropped by the workload, since the back-end pushed back
    uint64_t backlog_limit;    // the backlog at which it does; 0: never
    uint64_t bursts;
    int64_t traced_late_ns; // lateness of the sample in the middle of the trace
    double callback_ns;
    double work_ns_per_operation; // calibration
    // The library's own counters over the measured time.
    uint64_t grace_periods, deadline_stops, budget_stops, over_qmax, limit_raised, direct, direct_refused;
    bool fifo; // the loop ran as SCHED_FIFO
    // Of the witness of late samples.
    uint64_t witness_readings, witness_ns; // and what they took
    uint64_t fault_ns;                     // a page fault without I/O
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
    SharedArray<uint32_t> thread; // lateness of the control, ns
    SharedArray<BacklogSample> backlog;
    SharedArray<uint32_t> callbacks_a_gp;
    SharedArray<uint32_t> batches; // callbacks of each call that ran any
    SharedArray<InvocationSample> invocations;
    SharedArray<RoundSample> rounds;
    SharedArray<LateSample> late; // of the witness; empty without one
    SharedArray<uint32_t> wakes;  // lateness of each sample that found the loop asleep, ns; the same
    SharedArray<TraceEvent> trace;
    SharedArray<Totals> totals;
};

} // namespace lab
