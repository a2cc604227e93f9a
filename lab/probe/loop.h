// SPDX-License-Identifier: MIT OR Apache-2.0
// The event loop with a deadline, which reclamation must not delay.
//
// It runs to completion and sleeps in epoll.  Two timers wake it: the deadline probe, whose lateness after its absolute
// due time is measured; and the arrivals of work, whose period is not a multiple of the probe's, so that all phase
// differences occur.  An iteration serves the probe, then one event of work. Then it tells the back-end when the next
// probe is due, passes a quiescent state, and lets the back-end run callbacks.  Before it sleeps it goes offline.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "measure/callback_meter.h"
#include "peer/peer.h"
#include "probe/record.h"
#include "probe/witness.h"
#include "workload/workload.h"

namespace lab
{

struct LoopParameters {
    int cpu = 0;
    bool fifo = true;
    int64_t probe_period_ns = 200'000;
    int64_t work_period_ns = 217'000;
    unsigned operations_an_event = 100;
    unsigned events_an_arrival = 1; // each event is served in an iteration of its own
    int64_t warm_up_ns = 20'000'000;
    int64_t measure_ns = 200'000'000;
};

class DeadlineLoop
{
  public:
    // `late_from_ns`: samples at least this late are recorded with the causes of the delay; 0: no sample is.
    DeadlineLoop(const Peer &peer, Workload &workload, VariantRecord &record, int64_t late_from_ns = 0);
    ~DeadlineLoop();
    DeadlineLoop(const DeadlineLoop &) = delete;
    DeadlineLoop &operator=(const DeadlineLoop &) = delete;

    // Runs one round on the calling thread, which is an ordinary thread before and after.  Returns false if SCHED_FIFO
    // was requested and refused.  `begin_ns`: when the first probe is due.  All threads except this one and the
    // `companions` count as the back-end's helpers, whose CPU time is measured.
    bool run(const LoopParameters &parameters, int64_t begin_ns, const std::vector<pid_t> &companions);

  private:
    // The totals at the begin of the measurement, which are subtracted from the totals at its end.
    struct Mark {
        int64_t wall_ns, loop_cpu_ns, process_cpu_ns, helper_cpu_ns;
        uint64_t operations, callbacks, callbacks_on_loop, dropped;
        uint64_t witness_readings, witness_ns;
    };
    Mark mark() const;
    void find_helpers();
    void add_round(const Mark &begin);
    void arm(int timer, int64_t first_ns, int64_t period_ns);
    void take_turns(const LoopParameters &parameters, int64_t begin_ns);
    void serve_probe(int64_t period_ns);
    void record_due(int64_t now, int64_t due_ns);
    void serve_work(const LoopParameters &parameters, bool arrived);
    void run_callbacks();
    void note_backlog();

    const Peer &peer_;
    Workload &workload_;
    VariantRecord &record_;
    const std::unique_ptr<LateWitness> witness_; // empty if causes of delays are not recorded
    int epoll_, probe_timer_, work_timer_;

    // One round's state.
    std::vector<pid_t> companions_, helpers_;
    LoopTimers timers_;
    int64_t next_due_ns_ = 0;
    int64_t measure_from_ns_ = 0;
    int64_t backlog_due_ns_ = 0;
    uint64_t backlog_max_ = 0;
    uint64_t pending_events_ = 0;
    uint64_t operations_ = 0;
    uint64_t grace_period_ = 0;
    uint64_t queued_at_grace_period_ = 0;
    BatchRecord last_late_{}; // the last call whose callbacks delayed a due time that the loop has not served yet
};

} // namespace lab
