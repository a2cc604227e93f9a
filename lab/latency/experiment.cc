// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu latency`: what reclamation does to a deadline, policy by policy, on real work.
#include <algorithm>
#include <fmt/format.h>

#include "command/experiment.h"
#include "latency/checks.h"
#include "latency/child.h"
#include "latency/plan.h"
#include "latency/rows.h"
#include "machine/realtime.h"
#include "report/chart.h"
#include "workload/inputs.h"

namespace lab
{
namespace latency
{

// A round of a variant costs its companions' start and end and a warm-up beside what it measures.
constexpr double turn_overhead_s = 0.03;

class Latency : public Experiment
{
  public:
    void declare(Options &options) override;
    void prepare() override;
    void print_plan() const override;
    bool measure() override;
    bool measured() const override
    {
        return std::any_of(processes_.begin(), processes_.end(),
                           [](const auto &process) { return process->record().sum().rounds != 0; });
    }
    std::vector<std::string> left_out() const override;
    void print_results() override;
    Verdicts judge(bool times) override;
    void fill(Document &document) override;

  private:
    void plan_time();
    void measure_interrupts();
    bool start_processes();
    void calibrate();
    bool run_rounds();
    std::vector<Row> make_rows() const;
    Samples inline_shares() const;

    PlanOptions wanted_;
    InputOptions input_options_;
    std::vector<std::string> set_;
    bool other_ = false, raised_threshold_ = false, let_sleep_ = false;
    double work_us_ = 40, probe_us_ = 200, reader_ms_ = 10;

    Inputs inputs_;
    std::vector<std::string> notes_;
    std::vector<Variant> plan_;
    ChildOptions child_;
    LoopParameters loop_;
    std::vector<uint64_t> interrupts_; // what one takes from whoever runs, before and after the measurement
    Rounds rounds_{"measuring"};
    double unit_s_ = 0; // measured time of weight 1
    std::vector<std::unique_ptr<VariantProcess>> processes_;
    std::vector<unsigned> operations_an_event_; // of each process
};

void Latency::declare(Options &options)
{
    options.texts("--workload", wanted_.workloads, "dcache, route or flood; may be repeated; default all");
    options.texts("--policy", wanted_.policies,
                  "none, unbounded, inline, daemon, krcud, throttle, direct, liburcu; may be repeated");
    options.texts("--set", set_, "NAME=VALUE of the library's configuration, for every policy of it");
    options.text("--tree", input_options_.tree, "directory tree for the dentry cache, or 'generated'");
    options.text("--loadfile", input_options_.loadfile, "dbench loadfile, or 'generated'");
    options.text("--geoip", input_options_.geoip, "tor geoip file, or 'generated'");
    options.flag("--other", other_, "the loop as SCHED_OTHER; needs no permission");
    options.flag("--raised-threshold", raised_threshold_, "route: a garbage-collection threshold never reached");
    options.flag("--let-sleep", let_sleep_, "no spinner at idle priority on the loop's CPU");
    options.number("--work-us", work_us_, "length of one event of work", 1, 10'000);
    options.number("--probe-us", probe_us_, "period of the deadline probe", 20, 100'000);
    options.number("--reader-ms", reader_ms_, "length of the long reader's sections", 0, 1'000);
    options.text("--out", out, "directory for latency.html");
}

void Latency::prepare()
{
    child_.settings = parse_settings(set_);
    wanted_.fifo = !other_;
    wanted_.judge_tail = !common.quick;
    std::string error;
    if (!make_plan(wanted_, plan_, error))
        throw Refusal(error);
    if (!machine.realtime_permitted && !other_)
        throw Refusal(realtime_refusal());
    const std::vector<int> &cpus = machine.cpus_allowed;
    child_.loop_cpu = cpus.back();
    child_.other_cpus = cpus.size() > 1 ? std::vector<int>(cpus.begin(), cpus.end() - 1) : cpus;
    child_.seed = common.seed;
    child_.route = route_parameters(raised_threshold_);
    child_.reader_section_ns = static_cast<int64_t>(reader_ms_ * 1e6);
    child_.keep_awake = !let_sleep_;
    input_options_.seed = common.seed;
    if (common.quick) {
        input_options_.max_tree_entries = 50'000;
        input_options_.max_tree_ns = 2'000'000'000;
    }
    if (!load_inputs(input_options_, inputs_, notes_, error))
        throw Refusal(error);
    plan_time();
}

void Latency::plan_time()
{
    rounds_.seconds = seconds_or(6, 62);
    rounds_.seed = common.seed;
    double weights = 0;
    for (const Variant &variant : plan_)
        weights += variant.weight;
    const double overheads_s = static_cast<double>(plan_.size()) * turn_overhead_s;
    const double rounds = rounds_.seconds / (weights * 0.2 + overheads_s);
    rounds_.planned = static_cast<unsigned>(std::clamp(rounds, common.quick ? 2.0 : 3.0, 12.0));
    const double a_round = std::max(0.02, (rounds_.seconds / rounds_.planned - overheads_s) / weights);
    unit_s_ = a_round * rounds_.planned;
    loop_.probe_period_ns = static_cast<int64_t>(probe_us_ * 1000);
    // Not a multiple of the probe's period, nor near one: the two drift through every phase.
    loop_.work_period_ns = loop_.probe_period_ns * 108'607 / 100'003;
}

void Latency::print_plan() const
{
    fmt::print(
        "An event loop with a deadline serves real work over RCU; who runs the callbacks, and what does it do to the "
        "deadline?\n\n");
    for (const std::string &note : notes_)
        fmt::print("  {}\n", note);
    fmt::print("  probe: due every {:g} µs; work: an event of about {:g} µs every {:.0f} µs; loop on CPU {} as {}\n",
               probe_us_, work_us_, static_cast<double>(loop_.work_period_ns) / 1000, child_.loop_cpu,
               other_ ? "SCHED_OTHER" : fmt::format("SCHED_FIFO {}", loop_priority));
    fmt::print(
        "  beside it: a control thread of SCHED_FIFO {} every {:g} µs; a reader on another CPU in sections of {:g} ms "
        "over the whole structure\n",
        thread_probe_priority, static_cast<double>(child_.thread_period_ns) / 1000, reader_ms_);
    if (machine.cpus_allowed.size() < 2)
        fmt::print(
            "  one CPU: the long reader and the daemons share it with the loop, which runs first; what they cost "
            "the loop on a CPU of their own, and grace periods beside a reader that runs, are not shown\n");
    if (child_.keep_awake)
        fmt::print("  a spinner at idle priority keeps the loop's CPU from being halted\n");
    fmt::print("  {} variants, {} rounds, {:.1f} s of measured time for one of weight 1; seed {}\n", plan_.size(),
               rounds_.planned, unit_s_, common.seed);
}

bool Latency::measure()
{
    measure_interrupts();
    bool complete = start_processes();
    if (complete) {
        calibrate();
        complete = run_rounds();
    }
    measure_interrupts();
    if (complete && rounds_.done < rounds_.planned)
        fmt::print("\nthe machine is busy: {} of {} rounds fitted into the time\n", rounds_.done, rounds_.planned);
    return complete;
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
        const double seconds = unit_s_ * variant.weight * 1.2 + 1;
        const auto samples = static_cast<std::size_t>(seconds * 1e6 / probe_us_);
        VariantProcess &process = *processes_.emplace_back(std::make_unique<VariantProcess>(
            variant, inputs_, child_, samples, static_cast<std::size_t>(seconds * 1000)));
        turns.push_back({variant.label(), 1, &process.error, [&](unsigned) { (void)process.start(); }});
    }
    Rounds once{"building the variants"};
    return play(once, turns);
}

// The share of work is the same for all variants of a workload: measured once, where nothing is reclaimed.
void Latency::calibrate()
{
    operations_an_event_.assign(processes_.size(), 1);
    for (const auto &process : processes_) {
        const std::string &workload = process->variant().workload;
        if (process->variant().policy->peer != &none_peer || !process->calibrate())
            continue;
        const double each_ns = process->record().sum().work_ns_per_operation;
        const auto an_event = static_cast<unsigned>(std::max(1.0, work_us_ * 1000 / each_ns));
        fmt::print("  {}: {:.0f} ns an operation, {} operations an event\n", workload, each_ns, an_event);
        for (std::size_t i = 0; i < processes_.size(); i++)
            if (processes_[i]->variant().workload == workload)
                operations_an_event_[i] = an_event;
    }
}

bool Latency::run_rounds()
{
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < processes_.size(); i++) {
        VariantProcess &process = *processes_[i];
        LoopParameters parameters = loop_;
        const double seconds = unit_s_ * process.variant().weight / rounds_.planned;
        parameters.operations_an_event = operations_an_event_[i];
        parameters.measure_ns = static_cast<int64_t>(seconds * 1e9);
        turns.push_back({process.variant().label(), seconds + turn_overhead_s, &process.error,
                         [&process, parameters](unsigned) { (void)process.round(parameters); }});
    }
    return play(rounds_, turns);
}

std::vector<Row> Latency::make_rows() const
{
    std::vector<Row> rows;
    for (const char *probe : {"loop", "thread"})
        for (const auto &process : processes_)
            if (process->record().sum().rounds != 0)
                rows.push_back(make_row(process->variant(), process->record(), probe));
    fill_floors(rows);
    return rows;
}

Samples Latency::inline_shares() const
{
    std::vector<uint64_t> all;
    for (const auto &process : processes_) {
        if (std::string(process->variant().policy->name) != "inline" || !process->variant().fifo)
            continue;
        const Samples samples = callback_share(process->record());
        all.insert(all.end(), samples.sorted().begin(), samples.sorted().end());
    }
    return Samples(std::move(all));
}

void Latency::print_results()
{
    const std::vector<Row> rows = make_rows();
    fmt::print(
        "\nLateness of the loop's deadline probe, microseconds.  floor: the same with policy none; control: p99 of a "
        "thread above the loop.\n\n{}\n",
        rows_table(rows, lateness));
    const Samples interrupts(interrupts_);
    auto interrupt_us = [&](double quantile) { return number(scaled(interrupts.quantile_of_few(quantile), 1e-3)); };
    fmt::print("What callbacks did, microseconds.  gp: callbacks that one grace period made ready; ns: time of one; "
               "over: from the probe's due\ntime to the end of the batch then running, and in CPU time of the loop; "
               "late: callbacks begun after the probe was due.\nA timer interrupt takes {} µs of CPU time from whoever "
               "runs here (p50; p95 {}).\n\n{}\n",
               interrupt_us(0.5), interrupt_us(0.95), rows_table(rows, reclaimed));
    std::vector<Strip> strips;
    for (const auto &process : processes_)
        if (process->record().sum().rounds != 0 && process->variant().burst % flood_burst == 0)
            strips.push_back({process->variant().label(), loop_lateness(process->record()).sorted()});
    fmt::print("{}", density_chart("Lateness, by share of samples: █ 10 % or more, ▓ 1 %, ▒ 0.1 %, ░ 0.01 %, · less",
                                   strips, 72));
    fmt::print("\npolicies:\n");
    for (const PolicyRow &policy : policy_table())
        if (std::any_of(plan_.begin(), plan_.end(), [&](const Variant &one) { return one.policy == &policy; }))
            fmt::print("  {:<10}{}\n", policy.name, policy.what);
}

std::vector<std::string> Latency::left_out() const
{
    std::vector<std::string> texts;
    for (const auto &process : processes_)
        if (!process->error.empty())
            texts.push_back(fmt::format("{} left out: {}", process->variant().label(), process->error));
    return texts;
}

Verdicts Latency::judge(bool times)
{
    return judge_latency({make_rows(), inline_shares(), times});
}

void Latency::fill(Document &document)
{
    document.argument("workloads", wanted_.workloads);
    document.argument("policies", wanted_.policies);
    document.argument("set", set_);
    document.argument("other", other_);
    document.argument("raised_threshold", raised_threshold_);
    document.argument("work_us", work_us_);
    document.argument("probe_us", probe_us_);
    document.argument("reader_ms", reader_ms_);
    document.rows(make_rows());
    for (const auto &process : processes_)
        if (process->record().sum().rounds != 0)
            document.curve(make_curve(process->variant(), process->record()));
}

} // namespace latency

Registration add_latency(CLI::App &application)
{
    return add_experiment<latency::Latency>(application, "latency",
                                            "what reclamation does to a deadline, policy by policy");
}

} // namespace lab
