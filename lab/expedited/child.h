// SPDX-License-Identifier: MIT OR Apache-2.0
// One experiment: a critical caller waits for grace periods beside a load, in a process of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "expedited/load.h"
#include "machine/shared_value.h"
#include "probe/shared_array.h"

namespace lab::expedited
{

// The function that the caller calls.
enum class Call {
    expedited,  // synchronize_rcu_expedited()
    liburcu,    // liburcu-memb's synchronize_rcu()
    round_trip, // the floor, without RCU: wakes a SCHED_FIFO thread and waits for its answer
    request,    // requests expedited grace periods at a fixed rate and does not wait
};

// Values of exp_worker: the document's baseline, the document's change alone, and this library's default.
enum class Worker { workqueue, kthread_only, kthread };
const char *name_of(Worker worker);

struct Variant {
    Call call = Call::expedited;
    Worker worker = Worker::kthread;
    bool normal = false; // the setting normal=1: expedited calls wait for normal grace periods
    bool boost = true;
    unsigned hogs_a_cpu = 0;
    unsigned readers = 0;
    ReaderShape shape;
    bool outside = false; // runs beside the load of another process group

    std::string label() const;
};

constexpr int caller_priority = 10;
// The caller sleeps for 0.5 to 1.5 times this between two calls; Call::request makes one request in this time.
constexpr int64_t pause_between_ns = 1'000'000;

struct ExperimentOptions {
    std::vector<int> cpus;
    int64_t duration_ns = 400'000'000;
    uint64_t seed = 1;
    PeerSettings settings; // added to the settings of the variant
};

// Totals of one experiment, filled in by the child.
struct Outcomes {
    int64_t wall_ns;
    uint64_t unfinished; // 1: the last call was cut off when the readers were stopped; its latency is a lower bound
    uint64_t sections, errors;
    uint64_t requests;
    // The library's counters: their increase during the measured time, except for the maximum boost_ns_max.
    uint64_t expedited, by_caller, boosts, boost_ns_max, boost_refused, rt_refused;
};

struct ExperimentRecord {
    explicit ExperimentRecord(std::size_t capacity) : latency_ns(capacity)
    {
    }
    SharedArray<uint64_t> latency_ns;
    SharedValue<Outcomes> outcomes;
};

// Runs one experiment in a child, for a bounded time.  Returns false and sets `error` if it fails.
bool run_experiment(const Variant &variant, const ExperimentOptions &options, ExperimentRecord &record,
                    std::string &error);

// synchronize_rcu() of liburcu-memb.  This function is in a separate file because both libraries use the same names.
void liburcu_synchronize();

} // namespace lab::expedited
