// SPDX-License-Identifier: MIT OR Apache-2.0
// What the experiment and its child program tell each other: a request on the command line, a result as JSON on
// standard output.  Times are nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab::blocked
{

// Where parked readers are listed, and under which lock: a spinning one as in 2026, or the library's own.  `none`:
// fibers that only yield, the ceiling of iterations.
enum class Lists { none, node_spin, percpu_spin, node, percpu };
std::string name_of(Lists lists);
bool spins(Lists lists);
bool are_per_cpu(Lists lists);

// As JSON, for all of the types below.  from_text() throws what is wrong.
template <class T> std::string to_text(const T &value);
template <class T> T from_text(const std::string &text);

// One run: fibers on carriers, beside preemptors, while grace periods pass now and then.
struct RunRequest {
    Lists lists = Lists::percpu;
    unsigned readers = 64, carriers = 2, preemptors = 32;
    std::vector<int> cpus;
    int64_t burst_ns = 0;       // mean time that a preemptor keeps a CPU
    double preempted_share = 0; // of each CPU's time that all of them want
    int64_t gp_pause_ns = 0;    // mean pause between two grace periods
    int64_t throughput_ns = 0;  // how long each phase takes
    int64_t metered_ns = 0;     //
    int64_t without_gp_ns = 0;  //
    int64_t undisturbed_ns = 0; //
    uint64_t seed = 1;
};

// The leaf's lock in one phase, by who held it: readers (the carriers), or whoever turns the crank.
struct LockUse {
    uint64_t acquisitions = 0;
    double hold_ns = 0, hold_ns_max = 0, wait_ns = 0, wait_ns_max = 0; // sums and maxima
    std::vector<uint64_t> hold_log2;                                   // holds of 2^i to 2^(i+1) ns
};

struct Phase {
    double seconds = 0;
    uint64_t iterations = 0;
    double preemptor_cpu_s = 0;
    LockUse readers, others; // nothing while the meter is off
    uint64_t promotions = 0;
    double promotion_ns = 0;
};

struct RunResult {
    Phase throughput;  // preemptors and grace periods, the meter off: what is compared
    Phase metered;     // the same with the meter on
    Phase without_gp;  // preemptors, no grace period
    Phase undisturbed; // grace periods, no preemptor
    std::vector<uint64_t> gp_latency_ns, wake_lateness_ns;
    uint64_t errors = 0; // readers that saw a record after the grace period that retired it
};

// Who is waited for: tasks parked before a grace period began and tasks parked later, in random order.
struct OrderRequest {
    Lists lists = Lists::percpu;
    unsigned rounds = 0, older = 0, later = 0;
    uint64_t seed = 1;
};

struct OrderResult {
    uint64_t rounds = 0;
    uint64_t ended_early = 0;       // while an older task was still inside
    uint64_t not_ended = 0;         // though all older ones had left, within the time allowed
    uint64_t older_not_waited = 0;  // older tasks that rcu_task_blocking() did not name
    uint64_t later_waited_for = 0;  // later ones that it did
    std::vector<uint64_t> found_ns; // from the last older unlock to the end of the grace period
};

// What so many parked tasks cost.
struct CrowdRequest {
    Lists lists = Lists::percpu;
    uint64_t tasks = 0;
};

struct CrowdResult {
    double bytes_each = 0; // struct rcu_task, and by how much the process grew while they parked
    double park_ns = 0, unlock_ns = 0;
    uint64_t promotions = 0;
    double promotion_ns = 0;     // of one grace period
    double begin_ns = 0;         // from the call to when the last of them is waited for
    double end_ns = 0;           // from the last unlock to the return of the call
    double spread_ns = 0;        // of both together: half the distance between the quartiles of the repetitions
    double gp_without_ns = 0;    // a grace period with none parked
    double lock_hold_ns_max = 0; // the longest time that the leaf's lock was held
};

} // namespace lab::blocked
