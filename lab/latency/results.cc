// SPDX-License-Identifier: MIT OR Apache-2.0
// The results of `rtrcu latency`: rows, tables, verdicts, the document.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "latency/checks.h"
#include "latency/experiment.h"
#include "report/chart.h"

namespace lab::latency
{

// A loop that uses more than this part of its CPU is called saturated.  The kernel reserves 5 % of a CPU for ordinary
// threads, so it stops such a loop under any policy.
static constexpr double saturated = 0.93;
static const char *const saturated_text = "the kernel stops the loop for 50 ms of each second "
                                          "(kernel.sched_rt_runtime_us, or the fair server), which determines its p99 "
                                          "with every policy";

std::vector<Row> Latency::make_rows() const
{
    std::vector<Row> rows;
    for (const char *probe : {"loop", "thread"})
        for (const Process &process : processes_)
            if (is_row(process))
                rows.push_back(make_row(process->variant(), process->record(), probe));
    fill_floors(rows);
    return rows;
}

std::vector<Table1Row> Latency::make_table1() const
{
    std::vector<Table1Row> rows;
    for (const Process &process : processes_)
        if (has_rounds(process) && process->variant().part == Part::table1)
            rows.push_back(make_table1_row(process->variant(), process->record()));
    return rows;
}

std::vector<ConsoleRow> Latency::make_console() const
{
    std::vector<ConsoleRow> rows;
    for (std::size_t i = 0; i < processes_.size(); i++)
        if (has_rounds(processes_[i]) && processes_[i]->variant().part == Part::console)
            rows.push_back(make_console_row(processes_[i]->variant(), processes_[i]->record(), console_[i],
                                            operations_an_event_[i]));
    return rows;
}

std::vector<FifoRow> Latency::make_fifo() const
{
    std::vector<FifoRow> rows;
    for (const Fifo &one : fifo_)
        if (!one.rounds.empty())
            rows.push_back(make_fifo_row(*one.variant, one.rounds));
    fill_fifo_intervals(rows);
    return rows;
}

std::vector<LateSummary> Latency::make_summaries() const
{
    std::vector<LateSummary> summaries;
    const double interrupt_ns = scaled(Samples(interrupts_).quantile_of_few(0.5)).value_or(0);
    for (const Process &process : processes_)
        if (why_ && has_rounds(process) && process->variant().part != Part::console)
            summaries.push_back(summarize(process->variant(), process->record(), interrupt_ns, work_us_ * 1000));
    return summaries;
}

Samples Latency::inline_shares() const
{
    std::vector<uint64_t> all;
    for (const Process &process : processes_) {
        if (std::string(process->variant().policy->name) != "inline" || !process->variant().fifo || !is_row(process))
            continue;
        const Samples samples = callback_share(process->record());
        all.insert(all.end(), samples.sorted().begin(), samples.sorted().end());
    }
    return Samples(std::move(all));
}

void Latency::print_rows() const
{
    const std::vector<Row> rows = make_rows();
    fmt::print(
        "\nLateness of the loop's deadline probe, microseconds.  floor: its lateness with policy none; control: p99 of "
        "a thread of higher priority.\n\n{}\n",
        rows_table(rows, lateness));
    const Samples interrupts(interrupts_);
    auto interrupt_us = [&](double quantile) { return number(scaled(interrupts.quantile_of_few(quantile), 1e-3)); };
    fmt::print(
        "The callbacks' part of the lateness, microseconds.  gp: callbacks that one grace period made ready; ns: time "
        "of a callback; over: from the\nprobe's due time to the end of the running batch; share: the callbacks' own "
        "part of this time, without timer interrupts;\nlate: callbacks begun after the probe was due; direct: "
        "callbacks run immediately; refused: callbacks queued instead.\nA timer interrupt takes {} µs of CPU time "
        "from the thread that it interrupts (p50; the p95 is {} µs).\n\n{}\n",
        interrupt_us(0.5), interrupt_us(0.95), rows_table(rows, reclaimed));
    for (const Row &row : rows)
        if (row.probe == "loop" && row.scheduling == "fifo" && row.utilisation.value_or(0) >= saturated)
            fmt::print("{} saturates its CPU: {}\n", row.label, saturated_text);
}

void Latency::print_table1() const
{
    const std::vector<Table1Row> rows = make_table1();
    if (rows.empty())
        return;
    fmt::print("Table 1 of 2004, all on one CPU: the largest lateness of a round and the callbacks' share of it, "
               "microseconds, as median over the\nrounds and its 95 % interval.  2004: dbench on a 2.4 GHz CPU, by "
               "amlat; the goal was {:g} µs.  The paper gives \"near 400 (413)\" for krcud\nand direct together.  "
               "throttle-16: throttling as the paper measured it; throttle: our settings (256, then a tick of "
               "rest).\n\n{}\n",
               table1_goal_us,
               table_text<Table1Row>(0, rows, [](const Table1Row &row) -> std::string { return row.workload; }));
}

void Latency::print_interrupting() const
{
    if (interrupting_.empty())
        return;
    fmt::print(
        "An updater that interrupts: a signal handler deletes the route that the thread is walking over.\n\n{}\n",
        table_text<InterruptingRow>(0, interrupting_));
}

void Latency::print_console() const
{
    const std::vector<ConsoleRow> rows = make_console();
    if (rows.empty())
        return;
    fmt::print(
        "Denial of service: a flood that saturates the loop, and a console at ordinary priority, all on one CPU.  "
        "limit: the backlog at which\nthe producer is slowed down (qmax), for policies with such a limit; dropped: "
        "share of the offered packets that were not served.\n≥: the round ended before the answer arrived.\n\n{}\n",
        table_text<ConsoleRow>(0, rows));
    auto is_saturated = [](const ConsoleRow &row) { return row.utilisation.value_or(0) >= saturated; };
    if (std::any_of(rows.begin(), rows.end(), is_saturated))
        fmt::print("A loop above {:.0f} % saturates its CPU: {}\n\n", 100 * saturated, saturated_text);
}

void Latency::print_fifo() const
{
    const std::vector<FifoRow> rows = make_fifo();
    if (rows.empty())
        return;
    fmt::print("\nA FIFO updater beside {} ordinary threads, median of the rounds (95 % interval).\n"
               "peak: the largest number of callbacks that waited after a due time.  late: time from a due time until "
               "its callbacks were queued, over all rounds.\n"
               "age: time from call_rcu() to the callback; p99 of a round, and the largest of all rounds.  ordinary "
               "work: work of the ordinary threads, in\nmultiples of their work in the same round of 'ordinary'.  "
               "their CPUs: CPU time of the ordinary threads; others' CPUs: CPU time of other\nprocesses and of the "
               "host, both in CPUs.  own CPU: CPU time of the back-end's threads.  real-time: of the back-end's "
               "threads that used\n1 ms or more, the number that were SCHED_FIFO at the end of a round.\n\n{}\n",
               fifo_flood::busy_threads, table_text<FifoRow>(0, rows));
}

void Latency::print_why() const
{
    const std::vector<LateSummary> summaries = make_summaries();
    if (!summaries.empty())
        fmt::print("{}\n", why_text(summaries, late_us_));
}

void Latency::print_densities() const
{
    std::vector<Strip> strips;
    for (const Process &process : processes_)
        if (is_row(process) && process->variant().burst % flood_burst == 0)
            strips.push_back({process->variant().label(), loop_lateness(process->record()).sorted()});
    fmt::print("{}", density_chart("Lateness, by share of samples: █ 10 % or more, ▓ 1 %, ▒ 0.1 %, ░ 0.01 %, · less",
                                   strips, 72));
}

void Latency::print_results()
{
    if (std::any_of(processes_.begin(), processes_.end(), is_row))
        print_rows();
    print_table1();
    print_interrupting();
    print_console();
    print_why();
    if (!plan_.empty())
        print_densities();
    print_fifo();
    fmt::print("{}", plan_.empty() ? "" : "\npolicies:\n");
    for (const PolicyRow &policy : policy_table())
        if (std::any_of(plan_.begin(), plan_.end(), [&](const Variant &one) { return one.policy == &policy; }))
            fmt::print("  {:<14}{}\n", policy.name, policy.what);
}

std::vector<std::string> Latency::left_out() const
{
    std::vector<std::string> texts;
    for (const Process &process : processes_)
        if (!process->error.empty())
            texts.push_back(fmt::format("{} left out: {}", process->variant().label(), process->error));
    for (const Fifo &one : fifo_)
        if (!one.error.empty())
            texts.push_back(fmt::format("fifo {} left out: {}", one.variant->name, one.error));
    if (!interrupting_error_.empty())
        texts.push_back(fmt::format("updater that interrupts left out: {}", interrupting_error_));
    return texts;
}

Verdicts Latency::judge(bool times)
{
    Verdicts verdicts = judge_latency({make_rows(), inline_shares(), times});
    for (const Verdicts &more :
         {judge_table1(make_table1(), times), judge_interrupting(interrupting_), judge_console(make_console(), times),
          judge_why(make_summaries(), times), judge_fifo(make_fifo(), times)})
        verdicts.insert(verdicts.end(), more.begin(), more.end());
    return verdicts;
}

// Adds rows of another kind to the document, in a list separate from the experiment's tables.
template <class R> static void add_list(Document &document, const char *name, const std::vector<R> &rows)
{
    Json &list = document.json()[name] = Json::array();
    for (const R &row : rows)
        list.push_back(to_json(row));
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
    for (const PolicyRow &policy : policy_table())
        document.json()["policies"].push_back({{"name", policy.name}, {"what", policy.what}});
    add_list(document, "table1", make_table1());
    add_list(document, "console", make_console());
    add_list(document, "interrupting_updater", interrupting_);
    if (const std::vector<FifoRow> rows = make_fifo(); !rows.empty()) {
        add_list(document, "fifo", rows);
        for (const Fifo &one : fifo_)
            document.curve(make_fifo_curve(*one.variant, one.rounds));
    }
    if (const std::vector<LateSummary> summaries = make_summaries(); !summaries.empty()) {
        document.argument("late_us", late_us_);
        add_list(document, "why", make_why_rows(summaries));
        document.json()["why_instrument"] = to_json(make_instrument_row(summaries));
    }
    for (const Process &process : processes_)
        if (is_row(process))
            document.curve(make_curve(process->variant(), process->record()));
}

} // namespace lab::latency
