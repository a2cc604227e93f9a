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

// What the caller does, and against what.
enum class Call {
    expedited,  // synchronize_rcu_expedited()
    liburcu,    // liburcu-memb's synchronize_rcu()
    round_trip, // no RCU: wakes a SCHED_FIFO thread and waits for its answer; the floor under all of them
    request,    // asks for expedited grace periods at a fixed rate and does not wait
};

// exp_worker: the document's baseline, the document's change by itself, and ours.
enum class Worker { workqueue, kthread_only, kthread };
const char *name_of(Worker worker);

struct Variant {
    Call call = Call::expedited;
    Worker worker = Worker::kthread;
    bool normal = false; // the setting of that name: calls become waits for normal grace periods
    bool boost = true;
    unsigned hogs_a_cpu = 0;
    unsigned readers = 0;
    ReaderShape shape;
    bool outside = false; // beside another process group's load

    std::string label() const;
};

constexpr int caller_priority = 10;
// Between two calls the caller sleeps for half to one and a half of this; requests are made once in it.
constexpr int64_t pause_between_ns = 1'000'000;

struct ExperimentOptions {
    std::vector<int> cpus;
    int64_t duration_ns = 400'000'000;
    uint64_t seed = 1;
    PeerSettings settings; // added to those of the variant
};

// Totals of one experiment; filled by the child.
struct Outcomes {
    int64_t wall_ns;
    uint64_t unfinished; // 1: the last call ended only since the readers were stopped, and its latency is cut off
    uint64_t sections, errors;
    uint64_t requests;
    // The library's counters over the measured time.
    uint64_t expedited, by_caller, boosts, boost_ns_max, boost_refused, rt_refused;
};

struct ExperimentRecord {
    explicit ExperimentRecord(std::size_t capacity) : latency_ns(capacity)
    {
    }
    SharedArray<uint64_t> latency_ns;
    SharedValue<Outcomes> outcomes;
};

// In a child, for a bounded time.  False with `error`.
bool run_experiment(const Variant &variant, const ExperimentOptions &options, ExperimentRecord &record,
                    std::string &error);

// liburcu-memb's, in a file of its own, since both libraries use the same names.
void liburcu_synchronize();

} // namespace lab::expedited
