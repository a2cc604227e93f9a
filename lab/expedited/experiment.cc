// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu expedited`: how long a critical caller waits for a grace period, depending on the thread that runs it.
#include <algorithm>
#include <fmt/format.h>

#include "command/experiment.h"
#include "expedited/checks.h"
#include "expedited/plan.h"
#include "expedited/rows.h"

namespace lab
{
namespace expedited
{

constexpr double between_experiments_s = 0.1;

class Expedited : public Experiment
{
  public:
    void declare(Options &options) override
    {
        options.texts("--set", set_, "NAME=VALUE of the library's configuration, for every variant of it");
        options.text("--out", out, "directory for expedited.html");
    }
    void prepare() override;
    void print_plan() const override;
    bool measure() override;
    bool measured() const override
    {
        return std::any_of(plan_.cells.begin(), plan_.cells.end(),
                           [](const Cell &cell) { return cell.experiments != 0; });
    }
    std::vector<std::string> left_out() const override;
    void print_results() override;
    Verdicts judge(bool times) override
    {
        return expedited::judge(plan_, static_cast<unsigned>(machine.cpus_allowed.size()), times);
    }
    void fill(Document &document) override;

  private:
    const GroupPlan &group(Group which) const
    {
        return plan_.group[static_cast<int>(which)];
    }
    double seconds_of(Group which) const
    {
        return static_cast<double>(group(which).duration_ns) / 1e9;
    }
    void run(Cell &cell, unsigned experiment);
    bool measure_interrupts();

    std::vector<std::string> set_;
    ExperimentOptions experiment_;
    Plan plan_;
};

void Expedited::prepare()
{
    experiment_.settings = parse_settings(set_);
    need_realtime("the critical caller must be a real-time thread");
    need_two_cpus("on one CPU readers would never run beside the caller");
    experiment_.cpus = machine.cpus_allowed;
    plan_ = make_plan(common.quick, seconds_or(12, 120), static_cast<unsigned>(experiment_.cpus.size()));
}

void Expedited::print_plan() const
{
    const Variant &variant = plan_.cells.front().variant;
    fmt::print("A critical thread waits for expedited grace periods beside ordinary load: which thread "
               "should run them?\n\n");
    fmt::print("  the caller: SCHED_FIFO {}, a low priority; between two calls it sleeps for 0.5 to 1.5 ms\n",
               caller_priority);
    fmt::print("  the tables of \"rcu: Move expedited grace period (GP) work to RT kthread_worker\" (Linux, 2022): {} "
               "hogs a CPU and {} readers with short sections, all SCHED_OTHER\n    {} experiments of {:.2f} s each; "
               "variants alternate, and each experiment is a new process\n",
               variant.hogs_a_cpu, variant.readers, group(Group::worker).experiments, seconds_of(Group::worker));
    fmt::print("    workqueue: a worker at SCHED_OTHER (the document's \"workqueues\"); kthread-only: a SCHED_FIFO "
               "worker runs all steps (the document's \"kthread_worker\"); kthread: the caller runs the first step, "
               "the SCHED_FIFO worker the other steps; normal=1: expedited calls wait for normal grace periods, as on "
               "PREEMPT_RT kernels\n");
    fmt::print("  these variants under load from other sessions (setsid()), 2 CPU hogs per CPU and a process that "
               "writes files: {} experiments of {:.2f} s each\n",
               group(Group::loaded).experiments, seconds_of(Group::loaded));
    fmt::print("  busy readers, inside a section most of the time: {} experiments of {:.2f} s each\n",
               group(Group::busy).experiments, seconds_of(Group::busy));
    fmt::print("  throughput of busy readers at 1,000 requests per second: {} experiments of {:.2f} s each\n",
               group(Group::throughput).experiments, seconds_of(Group::throughput));
    fmt::print("  interrupts at the CPU of an isolated reader: {} experiments of {:.2f} s each\n",
               plan_.interrupt_plan.experiments, static_cast<double>(plan_.interrupt_plan.duration_ns) / 1e9);
    fmt::print("  floor: the same caller wakes a SCHED_FIFO thread and waits for its answer; seed {}\n\n", common.seed);
}

void Expedited::run(Cell &cell, unsigned experiment)
{
    ExperimentOptions options = experiment_;
    options.duration_ns = group(cell.group).duration_ns;
    options.seed = common.seed * 1000 + experiment;
    ExperimentRecord record(static_cast<std::size_t>(2 * options.duration_ns / pause_between_ns) + 64);
    if (run_experiment(cell.variant, options, record, cell.error))
        cell.add(record);
}

bool Expedited::measure()
{
    for (Group which : {Group::worker, Group::loaded, Group::busy, Group::throughput}) {
        static constexpr const char *names[groups] = {"quiet", "busy readers", "throughput", "loaded"};
        std::vector<Turn> turns;
        for (Cell &cell : plan_.cells)
            if (cell.group == which)
                turns.push_back({cell.variant.label(), seconds_of(which) + between_experiments_s, &cell.error,
                                 [this, &cell](unsigned experiment) { run(cell, experiment); }});
        Rounds rounds{names[static_cast<int>(which)], group(which).experiments, common.seed};
        if (!play(rounds, turns))
            return false;
    }
    return measure_interrupts();
}

bool Expedited::measure_interrupts()
{
    std::vector<Turn> turns;
    const double seconds = static_cast<double>(plan_.interrupt_plan.duration_ns) / 1e9;
    for (InterruptCell &cell : plan_.interrupts)
        turns.push_back({name_of(cell.isolation), seconds, &cell.error, [this, &cell](unsigned experiment) {
                             ExperimentOptions options = experiment_;
                             options.duration_ns = plan_.interrupt_plan.duration_ns;
                             options.seed = common.seed * 1000 + experiment;
                             InterruptTotals totals{};
                             if (count_interrupts(cell.isolation, options, totals, cell.error))
                                 cell.experiments.push_back(totals);
                         }});
    Rounds rounds{"interrupts", plan_.interrupt_plan.experiments, common.seed};
    return play(rounds, turns);
}

void Expedited::print_results()
{
    for (Group which : {Group::worker, Group::loaded})
        fmt::print("{}\n\n{}\n{}\n{}\n",
                   which == Group::loaded ? "Beside CPU hogs and writers of another process group"
                                          : "Without load from other processes",
                   document_table(plan_, which, durations), document_table(plan_, which, ranges),
                   document_table(plan_, which, turned));
    fmt::print("Busy readers on {} CPUs, synchronize_rcu_expedited() beside liburcu-memb's synchronize_rcu() "
               "(unfinished: calls cut off by the end of the experiment, which are in no other figure; boosts: number "
               "of boosts)\n\n{}\n",
               machine.cpus_allowed.size(),
               table_text<BusyRow>(0, busy_rows(plan_), [](const BusyRow &row) { return whole(row.readers); }));
    fmt::print("Sections that readers completed while a thread requested 1,000 expedited grace periods per second\n\n"
               "{}\n",
               table_text(0, throughput_rows(plan_)));
    fmt::print("Function-call interrupts at the CPU of an isolated reader (control: no grace periods)\n\n{}\n",
               table_text(0, interrupt_rows(plan_)));
}

std::vector<std::string> Expedited::left_out() const
{
    std::vector<std::string> texts;
    for (const Cell &cell : plan_.cells)
        if (!cell.error.empty())
            texts.push_back(fmt::format("{} left out after {} experiments: {}", cell.variant.label(), cell.experiments,
                                        cell.error));
    for (const InterruptCell &cell : plan_.interrupts)
        if (!cell.error.empty())
            texts.push_back(fmt::format("interrupts, {} left out: {}", name_of(cell.isolation), cell.error));
    return texts;
}

void Expedited::fill(Document &document)
{
    document.argument("set", set_);
    document.argument("caller_priority", caller_priority);
    document.argument("experiments", group(Group::worker).experiments);
    document.argument("experiment_ms", group(Group::worker).duration_ns / 1'000'000);
    document.argument("busy_ms", group(Group::busy).duration_ns / 1'000'000);
    document.rows(worker_rows(plan_));
    document.rows(busy_rows(plan_));
    document.rows(throughput_rows(plan_));
    document.rows(interrupt_rows(plan_));
    for (const WorkerCurve &curve : worker_curves(plan_))
        document.curve(curve);
}

} // namespace expedited

Registration add_expedited(CLI::App &application)
{
    return add_experiment<expedited::Expedited>(
        application, "expedited",
        "measure a critical caller's wait for a grace period, by runner and with or without boosting");
}

} // namespace lab
