// SPDX-License-Identifier: MIT OR Apache-2.0
// The measurement of `rtrcu latency`: processes, calibration, rounds.
#include <fmt/format.h>

#include "latency/experiment.h"
#include "machine/machine.h"
#include "machine/realtime.h"

namespace lab::latency
{

bool Latency::measure()
{
    if (plan_.empty())
        return run_fifo_rounds();
    measure_interrupts();
    // The updater that interrupts is run on the route cache, as in the paper.
    if (std::any_of(plan_.begin(), plan_.end(), [](const Variant &one) { return one.workload == "route"; }))
        interrupting_ = run_interrupting(inputs_.prefixes, interrupting_error_);
    bool complete = start_processes();
    if (complete) {
        calibrate();
        complete = run_rounds();
    }
    measure_interrupts();
    if (complete && rounds_.done < rounds_.planned)
        fmt::print("\nthe machine is busy: {} of {} rounds fitted into the time\n", rounds_.done, rounds_.planned);
    return complete && run_fifo_rounds();
}

bool Latency::run_fifo_rounds()
{
    std::vector<Turn> turns;
    for (Fifo &one : fifo_)
        turns.push_back({fmt::format("fifo {}", one.variant->name),
                         static_cast<double>(fifo_ns_) / 1e9 + fifo_overhead_s, &one.error, [this, &one](unsigned) {
                             FifoRound round{};
                             if (run_fifo_round(*one.variant, child_.settings, fifo_ns_, round, one.error))
                                 one.rounds.push_back(round);
                         }});
    return turns.empty() || play(fifo_rounds_, turns);
}

void Latency::measure_interrupts()
{
    for (uint64_t gap : interrupt_cost(child_.loop_cpu, common.quick ? 0.1 : 0.4, other_ ? 0 : loop_priority))
        interrupts_.push_back(gap);
}

bool Latency::start_processes()
{
    std::vector<Turn> turns;
    for (const Variant &variant : plan_) {
        const double seconds =
            1.2 * (variant.part == Part::console ? console_round_s * rounds_.planned : unit_s_ * variant.weight) + 1;
        const auto samples = static_cast<std::size_t>(seconds * 1e6 / probe_us_);
        VariantProcess &process = *processes_.emplace_back(std::make_unique<VariantProcess>(
            variant, inputs_, child_, samples, static_cast<std::size_t>(seconds * 1000)));
        turns.push_back({variant.label(), 1, &process.error, [&](unsigned) { (void)process.start(); }});
    }
    Rounds once{"building the variants"};
    return play(once, turns);
}

// Determines the number of operations in an event of work. The number is the same for all variants of a workload, so it
// is measured once: without reclamation, except for the console.
void Latency::calibrate()
{
    operations_an_event_.assign(processes_.size(), 0);
    for (std::size_t i = 0; i < processes_.size(); i++) {
        VariantProcess &process = *processes_[i];
        const std::string &workload = process.variant().workload;
        // Calibrate with the floor's process.  The console's floor has no flood, so the console uses its first policy's
        // process, before the first round.
        const bool console = process.variant().part == Part::console;
        const bool floor = process.variant().policy->peer == &none_peer;
        if (operations_an_event_[i] != 0 || floor == console || !process.calibrate())
            continue;
        const double each_ns = process.record().sum().work_ns_per_operation;
        const double event_ns = console ? console_load * static_cast<double>(loop_.work_period_ns) : work_us_ * 1000;
        const auto an_event = static_cast<unsigned>(std::max(1.0, event_ns / each_ns));
        fmt::print("  {}: {:.0f} ns per operation, {} operations per event\n", workload, each_ns, an_event);
        for (std::size_t j = 0; j < processes_.size(); j++)
            if (processes_[j]->variant().workload == workload)
                operations_an_event_[j] = an_event;
    }
}

LoopParameters Latency::parameters_of(std::size_t process, double seconds) const
{
    LoopParameters parameters = loop_;
    const Variant &variant = processes_[process]->variant();
    const bool no_flood = variant.part == Part::console && variant.policy->peer == &none_peer;
    parameters.operations_an_event = no_flood ? 0 : std::max(1u, operations_an_event_[process]);
    // In Table 1 several events arrive together, since the paper's machine was heavily loaded.
    parameters.events_an_arrival = variant.part == Part::table1 ? table1_events : 1;
    parameters.measure_ns = static_cast<int64_t>(seconds * 1e9);
    return parameters;
}

double Latency::seconds_of_turn(const Variant &variant) const
{
    if (variant.part == Part::console)
        return console_seconds();
    const unsigned every = every_of(variant), times = (rounds_.planned + every - 1) / every;
    return unit_s_ * variant.weight / times;
}

void Latency::run_turn(std::size_t process, const LoopParameters &parameters)
{
    VariantProcess &child = *processes_[process];
    if (child.variant().part != Part::console) {
        (void)child.round(parameters);
        return;
    }
    Console console({child_.loop_cpu}, parameters.measure_ns * 10);
    if (child.round(parameters))
        console_[process].push_back(console.stop());
}

bool Latency::run_rounds()
{
    std::vector<Turn> turns;
    console_.resize(processes_.size());
    for (std::size_t i = 0; i < processes_.size(); i++) {
        VariantProcess &process = *processes_[i];
        const double seconds = seconds_of_turn(process.variant());
        const LoopParameters parameters = parameters_of(i, seconds);
        turns.push_back({process.variant().label(), seconds + turn_overhead_s, &process.error,
                         [this, i, parameters](unsigned) { run_turn(i, parameters); }, every_of(process.variant())});
    }
    return play(rounds_, turns);
}

} // namespace lab::latency
