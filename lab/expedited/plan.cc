// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes the cells, and divides the time among them.
#include "expedited/plan.h"

#include <algorithm>

namespace lab::expedited
{
namespace
{

constexpr unsigned hogs_a_cpu = 4;
constexpr unsigned readers_a_cpu = 2;
constexpr unsigned floor_readers = 64; // busy readers beside the floor: the largest number that has a verdict
// Readers of the document's tables are inside for a twentieth of the time, so that a grace period seldom waits for
// them.
constexpr ReaderShape short_sections = {40, 800};

// Adds the cells of the document's tables for an environment: without other load, or beside other processes.
void add_worker_cells(Plan &plan, Group group, unsigned cpus)
{
    Variant variant;
    variant.outside = group == Group::loaded;
    variant.hogs_a_cpu = hogs_a_cpu;
    variant.readers = readers_a_cpu * cpus;
    variant.shape = short_sections;
    for (bool boost : {true, false})
        for (Worker worker : {Worker::workqueue, Worker::kthread_only, Worker::kthread}) {
            variant.boost = boost;
            variant.worker = worker;
            plan.cells.push_back({group, variant, {}, {}, {}, {}});
        }
    variant.call = Call::round_trip;
    plan.cells.push_back({group, variant, {}, {}, {}, {}});
    variant.call = Call::expedited;
    variant.boost = variant.normal = true;
    if (group == Group::worker)
        plan.cells.push_back({group, variant, {}, {}, {}, {}});
}

void add_busy_cells(Plan &plan, const std::vector<unsigned> &counts)
{
    for (unsigned readers : counts) {
        Variant variant;
        variant.readers = readers;
        plan.cells.push_back({Group::busy, variant, {}, {}, {}, {}});
        variant.boost = false;
        plan.cells.push_back({Group::busy, variant, {}, {}, {}, {}});
        variant.call = Call::liburcu;
        plan.cells.push_back({Group::busy, variant, {}, {}, {}, {}});
    }
    Variant floor;
    floor.call = Call::round_trip;
    floor.readers = floor_readers;
    plan.cells.push_back({Group::busy, floor, {}, {}, {}, {}});
}

void add_throughput_cells(Plan &plan, const std::vector<unsigned> &counts)
{
    for (unsigned readers : counts)
        for (bool boost : {true, false}) {
            Variant variant;
            variant.call = Call::request;
            variant.readers = readers;
            variant.boost = boost;
            plan.cells.push_back({Group::throughput, variant, {}, {}, {}, {}});
        }
}

} // namespace

void Cell::add(const ExperimentRecord &record)
{
    const Outcomes &outcomes = *record.outcomes;
    std::vector<uint64_t> values;
    for (std::size_t i = 0; i < record.latency_ns.count(); i++)
        values.push_back(record.latency_ns[i]);
    if (outcomes.unfinished != 0 && !values.empty()) {
        cut_off_ns.push_back(values.back());
        values.pop_back();
    }
    latency_ns.push_back(std::move(values));
    lost += record.latency_ns.lost();
    experiments++;
    if (outcomes.wall_ns > 0)
        sections_per_s.push_back(static_cast<double>(outcomes.sections) * 1e9 / static_cast<double>(outcomes.wall_ns));
    sum.wall_ns += outcomes.wall_ns;
    sum.unfinished += outcomes.unfinished;
    sum.sections += outcomes.sections;
    sum.errors += outcomes.errors;
    sum.requests += outcomes.requests;
    sum.expedited += outcomes.expedited;
    sum.by_caller += outcomes.by_caller;
    sum.boosts += outcomes.boosts;
    sum.boost_ns_max = std::max(sum.boost_ns_max, outcomes.boost_ns_max);
    sum.boost_refused += outcomes.boost_refused;
    sum.rt_refused += outcomes.rt_refused;
}

std::vector<uint64_t> Cell::all_latencies() const
{
    std::vector<uint64_t> all;
    for (const auto &experiment : latency_ns)
        all.insert(all.end(), experiment.begin(), experiment.end());
    return all;
}

Plan make_plan(bool quick, double seconds, unsigned cpus)
{
    // Each group's share of the run's time, and the time that an experiment of the group needs to start and end
    // processes and threads.
    constexpr double share[groups] = {0.37, 0.21, 0.12, 0.26}, start_s[groups] = {0.08, 0.3, 0.1, 0.15};
    constexpr double interrupts_share = 0.04, interrupts_start_s = 0.02;
    const unsigned experiments[groups] = {quick ? 2u : 25u, quick ? 1u : 2u, quick ? 2u : 7u, quick ? 1u : 10u};
    Plan plan;
    add_worker_cells(plan, Group::worker, cpus);
    add_busy_cells(plan, quick ? std::vector<unsigned>{4, 16, 64} : std::vector<unsigned>{4, 16, 64, 256});
    add_throughput_cells(plan, quick ? std::vector<unsigned>{cpus} : std::vector<unsigned>{cpus, 16});
    add_worker_cells(plan, Group::loaded, cpus);
    for (int group = 0; group < groups; group++) {
        const auto cells = std::count_if(plan.cells.begin(), plan.cells.end(),
                                         [&](const Cell &cell) { return cell.group == static_cast<Group>(group); });
        const double each_s = share[group] * seconds / (experiments[group] * static_cast<double>(cells));
        plan.group[group].experiments = experiments[group];
        plan.group[group].duration_ns = static_cast<int64_t>(std::max(each_s - start_s[group], 0.1) * 1e9);
    }
    for (Isolation isolation : {Isolation::control, Isolation::expedited, Isolation::normal, Isolation::no_membarrier,
                                Isolation::quiescent_state})
        plan.interrupts.push_back({isolation, {}, {}});
    plan.interrupt_plan.experiments = quick ? 1 : 5;
    const double each_s =
        interrupts_share * seconds / (plan.interrupt_plan.experiments * static_cast<double>(plan.interrupts.size()));
    plan.interrupt_plan.duration_ns = static_cast<int64_t>(std::max(each_s - interrupts_start_s, 0.05) * 1e9);
    return plan;
}

const Cell *find_cell(const Plan &plan, Group group, Call call, unsigned readers, bool boost, Worker worker)
{
    for (const Cell &cell : plan.cells) {
        const Variant &variant = cell.variant;
        const bool tables = group == Group::worker || group == Group::loaded;
        if (cell.group == group && variant.call == call && !variant.normal && (tables || variant.readers == readers) &&
            (call == Call::round_trip || (variant.boost == boost && variant.worker == worker)))
            return &cell;
    }
    return nullptr;
}

const Cell *find_normal_cell(const Plan &plan, Group group)
{
    for (const Cell &cell : plan.cells)
        if (cell.group == group && cell.variant.normal)
            return &cell;
    return nullptr;
}

const InterruptCell *find_interrupts(const Plan &plan, Isolation isolation)
{
    for (const InterruptCell &cell : plan.interrupts)
        if (cell.isolation == isolation && !cell.experiments.empty())
            return &cell;
    return nullptr;
}

} // namespace lab::expedited
