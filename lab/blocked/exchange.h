// SPDX-License-Identifier: MIT OR Apache-2.0
// The interface between the experiment and its child program: a request on the command line, a result as JSON on
// standard
// output.  Times are in nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab::blocked
{

// Where parked readers are listed, and under which lock.  node: one list per leaf; percpu: one list per thread; _spin:
// under a spin lock, as in the patches of 2026, otherwise under the library's lock.  none: fibers only yield, which
// gives the highest possible rate of iterations.
enum class Lists { none, node_spin, percpu_spin, node, percpu };
std::string name_of(Lists lists);
bool spins(Lists lists);
bool are_per_cpu(Lists lists);

// Converts any of the types below to JSON.  from_text() throws a description of the error.
template <class T> std::string to_text(const T &value);
template <class T> T from_text(const std::string &text);

// The request for a run: fibers on carriers, beside preemptors, with grace periods at intervals.
struct RunRequest {
    Lists lists = Lists::percpu;
    unsigned readers = 64, carriers = 2, preemptors = 32;
    std::vector<int> cpus;
    int64_t burst_ns = 0;       // mean time that a preemptor keeps a CPU
    double preempted_share = 0; // share of each CPU's time that all preemptors together try to use
    int64_t gp_pause_ns = 0;    // mean pause between two grace periods
    int64_t throughput_ns = 0;  // duration of each phase
    int64_t metered_ns = 0;     //
    int64_t without_gp_ns = 0;  //
    int64_t undisturbed_ns = 0; //
    uint64_t seed = 1;
};

// Use of the leaf's lock in one phase, by the readers (the carriers) or by the thread that advances the grace period.
struct LockUse {
    uint64_t acquisitions = 0;
    double hold_ns = 0, hold_ns_max = 0, wait_ns = 0, wait_ns_max = 0; // sum and maximum of hold times and wait times
    std::vector<uint64_t> hold_log2;                                   // holds of 2^i to 2^(i+1) ns
};

struct Phase {
    double seconds = 0;
    uint64_t iterations = 0;
    double preemptor_cpu_s = 0;
    LockUse readers, others; // zero while the meter is off
    uint64_t promotions = 0;
    double promotion_ns = 0;
};

struct RunResult {
    Phase throughput;  // preemptors and grace periods, meter off: the rates that are compared
    Phase metered;     // preemptors and grace periods, with the meter on
    Phase without_gp;  // preemptors, but no grace period
    Phase undisturbed; // grace periods, but no preemptor
    std::vector<uint64_t> gp_latency_ns, wake_lateness_ns;
    uint64_t errors = 0; // readers that saw a record after the grace period that followed its removal
};

// A check of the tasks for which a grace period waits: the older tasks park before it begins, the later tasks after its
// beginning.
struct OrderRequest {
    Lists lists = Lists::percpu;
    unsigned rounds = 0, older = 0, later = 0;
    uint64_t seed = 1;
};

struct OrderResult {
    uint64_t rounds = 0;
    uint64_t ended_early = 0;       // grace periods that ended while an older task was still inside
    uint64_t not_ended = 0;         // grace periods that did not end in time although all older tasks had left
    uint64_t older_not_waited = 0;  // older tasks that rcu_task_blocking() did not name
    uint64_t later_waited_for = 0;  // later tasks that rcu_task_blocking() named
    std::vector<uint64_t> found_ns; // from the last older unlock to the end of the grace period
};

// The cost of a large number of parked tasks.
struct CrowdRequest {
    Lists lists = Lists::percpu;
    uint64_t tasks = 0;
};

struct CrowdResult {
    double bytes_each = 0; // sizeof(struct rcu_task), and the growth of the process divided by the tasks
    double park_ns = 0, unlock_ns = 0;
    uint64_t promotions = 0;
    double promotion_ns = 0; // time to promote one task, within one grace period
    double begin_ns = 0;     // from the call until the grace period waits for all of the tasks
    double end_ns = 0;       // from the last end of a section until the call returned
    double spread_ns =
        0; // spread of begin_ns and end_ns together: half the distance between the quartiles of the repetitions
    double gp_without_ns = 0;    // a grace period with no parked task
    double lock_hold_ns_max = 0; // the longest time that the leaf's lock was held
};

} // namespace lab::blocked
