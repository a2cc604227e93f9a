// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu latency`: how much reclamation delays a deadline under each policy, with real workloads.
#include "latency/experiment.h"

#include <fmt/format.h>

#include "machine/realtime.h"
#include "report/table.h"

namespace lab
{
namespace latency
{

void Latency::declare(Options &options)
{
    options.texts("--workload", wanted_.workloads,
                  "dcache, route, both, flood, console or fifo; may be repeated; default: all except fifo, a "
                  "SCHED_FIFO updater beside ordinary threads, which takes 35 s more");
    options.texts("--policy", wanted_.policies,
                  "none, unbounded, inline, daemon, krcud, krcud-always, krcud-0, throttle, throttle-16, direct, "
                  "liburcu; may be repeated");
    options.texts("--set", set_, "NAME=VALUE, a setting of this library, for all its policies");
    options.text("--tree", input_options_.tree, "directory tree for the dentry cache, or 'generated'");
    options.text("--loadfile", input_options_.loadfile, "dbench loadfile, or 'generated'");
    options.text("--geoip", input_options_.geoip, "tor geoip file, or 'generated'");
    options.flag("--other", other_, "run the loop as SCHED_OTHER, which needs no permission");
    options.flag("--raised-threshold", raised_threshold_,
                 "give the workload route a garbage-collection threshold that is never reached");
    options.flag("--let-sleep", let_sleep_, "run no spinner at idle priority on the loop's CPU");
    options.number("--work-us", work_us_, "length of one event of work", 1, 10'000);
    options.number("--probe-us", probe_us_, "period of the deadline probe", 20, 100'000);
    options.number("--reader-ms", reader_ms_, "length of the long reader's sections", 0, 1'000);
    options.flag("--why", why_, "print a table of the causes that delayed late samples");
    options.number("--late-us", late_us_, "with --why: lateness from which a sample is late", 1, 100'000);
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
    if (wants_fifo(wanted_))
        need_realtime("the workload fifo measures a SCHED_FIFO thread");
    if (!machine.realtime_permitted && !other_)
        throw Refusal(realtime_refusal());
    plan_fifo();
    const std::vector<int> &cpus = machine.cpus_allowed;
    child_.loop_cpu = cpus.back();
    child_.other_cpus = cpus.size() > 1 ? std::vector<int>(cpus.begin(), cpus.end() - 1) : cpus;
    child_.seed = common.seed;
    child_.route = route_parameters(raised_threshold_);
    child_.reader_section_ns = static_cast<int64_t>(reader_ms_ * 1e6);
    child_.keep_awake = !let_sleep_;
    child_.late_from_ns = why_ ? static_cast<int64_t>(late_us_ * 1000) : 0;
    input_options_.seed = common.seed;
    if (common.quick) {
        input_options_.max_tree_entries = 20'000;
        input_options_.max_tree_ns = 2'000'000'000;
    }
    if (!plan_.empty() && !load_inputs(input_options_, inputs_, notes_, error))
        throw Refusal(error);
    plan_time();
}

// Plans the rounds of the workload fifo.  If no other workload is measured, the rounds use the time of --seconds.
void Latency::plan_fifo()
{
    if (!wants_fifo(wanted_))
        return;
    fifo_ns_ = common.quick ? fifo_quick_round_ns : fifo_round_ns;
    for (const FifoVariant &variant : fifo_variants())
        fifo_.push_back({&variant, {}, {}});
    const double a_round = static_cast<double>(fifo_.size()) * (static_cast<double>(fifo_ns_) / 1e9 + fifo_overhead_s);
    fifo_rounds_.planned = common.quick ? fifo_quick_rounds : fifo_rounds;
    if (plan_.empty() && common.seconds > 0)
        fifo_rounds_.planned = static_cast<unsigned>(std::clamp(common.seconds / a_round, 1.0, 1000.0));
    fifo_rounds_.seed = common.seed;
}

// Plans one round for the console; if no other workload is measured, as many rounds as fit into `seconds`.  Returns the
// time that these rounds take.
double Latency::plan_console(double seconds)
{
    const auto variants = static_cast<double>(std::count_if(
        plan_.begin(), plan_.end(), [](const Variant &variant) { return variant.part == Part::console; }));
    const bool alone = static_cast<std::size_t>(variants) == plan_.size();
    const double a_round = variants * (console_seconds() + turn_overhead_s);
    const double fit = alone ? seconds / a_round : 1;
    const auto rounds = static_cast<unsigned>(std::clamp(fit, 1.0, static_cast<double>(rounds_.planned)));
    console_every_ = (rounds_.planned + rounds - 1) / rounds;
    return a_round * rounds;
}

// Chooses a number of rounds that leaves three quarters of the time for measuring.
void Latency::plan_time()
{
    rounds_.seconds = seconds_or(6, 62);
    rounds_.seed = common.seed;
    double weights = 0, overheads_s = 0;
    for (const Variant &variant : plan_)
        weights += variant.weight;
    for (rounds_.planned = common.quick ? 2 : 12; rounds_.planned >= 2; rounds_.planned -= 2) {
        every_ = rounds_.planned >= 10 ? 2 : 1;
        overheads_s = 0;
        for (const Variant &variant : plan_)
            if (variant.part != Part::console)
                overheads_s += turn_overhead_s * rounds_.planned / every_of(variant);
        if (overheads_s < rounds_.seconds / 4 || rounds_.planned == 2)
            break;
    }
    const double console_s = plan_console(rounds_.seconds);
    if (weights > 0)
        unit_s_ = std::max(0.02 * rounds_.planned, (rounds_.seconds - overheads_s - console_s) / weights);
    loop_.probe_period_ns = static_cast<int64_t>(probe_us_ * 1000);
    // The work's period is not close to a multiple of the probe's, so that all phase differences occur.
    loop_.work_period_ns = loop_.probe_period_ns * 108'607 / 100'003;
}

void Latency::print_plan() const
{
    if (!plan_.empty())
        print_loop_plan();
    if (fifo_.empty())
        return;
    fmt::print("{}A real-time thread queues callbacks beside ordinary threads: how many callbacks wait, and how much "
               "work can the ordinary threads do?\n\n",
               plan_.empty() ? "" : "\n");
    fmt::print("  fifo: a SCHED_FIFO {} thread has a due time every {:g} ms, and queues {} callbacks at each due time, "
               "{} a second,\n  for {:g} s; beside it {} ordinary threads run all the time; each round of a variant is "
               "a new process\n",
               fifo_flood::priority, fifo_flood::due_ns / 1e6, fifo_flood::due_ns / fifo_flood::callback_ns,
               whole(1e9 / fifo_flood::callback_ns), static_cast<double>(fifo_ns_) / 1e9, fifo_flood::busy_threads);
    for (const Fifo &one : fifo_)
        fmt::print("  {:<9} {}\n", one.variant->name, one.variant->what);
    fmt::print("  {} rounds; seed {}\n", fifo_rounds_.planned, common.seed);
}

void Latency::print_loop_plan() const
{
    fmt::print(
        "An event loop with a deadline serves real work over RCU: which thread runs the callbacks, and how does that "
        "affect the deadline?\n\n");
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
            "  there is only one CPU: the long reader and the daemons share it with the loop, which has precedence; "
            "their effect from another CPU, and grace periods beside a running reader, are not shown\n");
    if (child_.keep_awake)
        fmt::print("  a spinner at idle priority keeps the loop's CPU from being halted\n");
    if (std::any_of(plan_.begin(), plan_.end(), [](const Variant &one) { return one.part == Part::table1; }))
        fmt::print(
            "  Table 1: the loop, the reader, the driver and the daemons (nice -19) on CPU {}; {} events of work "
            "every {:.0f} µs\n",
            child_.loop_cpu, table1_events, static_cast<double>(loop_.work_period_ns) / 1000);
    if (std::any_of(plan_.begin(), plan_.end(), [](const Variant &one) { return one.part == Part::console; }))
        fmt::print("  console: a flood of {:.0f} % of the loop's capacity, and an ordinary process that answers a key "
                   "every {} ms, all on CPU {}\n",
                   100 * console_load, Console::key_period_ns / 1'000'000, child_.loop_cpu);
    fmt::print("  {} variants, {} rounds, {:.1f} s of measured time for a variant of weight 1; seed {}\n", plan_.size(),
               rounds_.planned, unit_s_, common.seed);
}

} // namespace latency

Registration add_latency(CLI::App &application)
{
    return add_experiment<latency::Latency>(application, "latency",
                                            "measure how much reclamation delays a deadline, for each policy");
}

} // namespace lab
