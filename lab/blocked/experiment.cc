// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu blocked`: readers that are parked inside their sections, and the lists that hold them.
#include <algorithm>
#include <fmt/format.h>

#include "blocked/ask.h"
#include "blocked/checks.h"
#include "blocked/plan.h"
#include "blocked/rows.h"
#include "command/experiment.h"
#include "report/chart.h"

namespace lab
{
namespace blocked
{

constexpr unsigned full_runs = 100, quick_runs = 5;

class Blocked : public Experiment
{
  public:
    void declare(Options &options) override;
    void prepare() override;
    void print_plan() const override;
    bool measure() override;
    bool measured() const override
    {
        return std::any_of(plan_.cells.begin(), plan_.cells.end(), [](const Cell &cell) { return !cell.runs.empty(); });
    }
    std::vector<std::string> left_out() const override;
    void print_results() override;
    Verdicts judge(bool times) override
    {
        return blocked::judge(plan_, times);
    }
    void fill(Document &document) override;

  private:
    void run(Cell &cell, unsigned round);

    unsigned runs_ = 0, readers_ = 64, carriers_ = 0, preemptors_ = 32;
    double burst_ms_ = 1, preempted_pct_ = 60;
    std::string program_;
    Plan plan_;
};

void Blocked::declare(Options &options)
{
    options.count("--runs", runs_, "runs of each variant; 100 by default, 5 with --quick", 1, 10'000);
    options.count("--readers", readers_, "reader fibers", 1, 100'000);
    options.count("--carriers", carriers_, "threads that run the fibers; one per CPU by default", 1, 16);
    options.count("--preemptors", preemptors_, "SCHED_FIFO threads that preempt the carriers", 1, 1'000);
    options.number("--burst-ms", burst_ms_, "mean time that a preemptor keeps a CPU", 0.05, 50);
    options.number("--preempted", preempted_pct_, "percentage of each CPU that the preemptors take together", 1, 85);
    options.text("--out", out, "directory for blocked.html");
}

void Blocked::prepare()
{
    need_realtime("without real-time threads no thread would preempt the readers");
    need_two_cpus("on one CPU no thread would wait for a lock whose holder is preempted");
    program_ = find_child_program();
    if (program_.empty())
        throw Refusal("rtrcu-blocked-child was found neither beside this program nor in the installation: build it "
                      "(make build), or install the program again (make install)");
    RunRequest request = usual_request();
    request.cpus = machine.cpus_allowed;
    request.readers = readers_;
    request.carriers =
        carriers_ != 0 ? carriers_ : static_cast<unsigned>(std::min<std::size_t>(request.cpus.size(), 16));
    request.preemptors = preemptors_;
    request.burst_ns = static_cast<int64_t>(burst_ms_ * 1e6);
    request.preempted_share = preempted_pct_ / 100;
    request.seed = common.seed;
    const unsigned usual = common.quick ? quick_runs : full_runs;
    plan_ = make_plan(runs_ != 0 ? runs_ : usual, common.seconds, request);
}

void Blocked::print_plan() const
{
    const RunRequest &request = plan_.request;
    fmt::print("Should readers that park inside a section be on the node's list or on their thread's own list?\n\n");
    fmt::print("  {} reader fibers on {} carrier threads; an iteration: lock, park, unlock\n", request.readers,
               request.carriers);
    fmt::print("  {} SCHED_FIFO threads preempt the carriers, {:.2f} ms at a time on average, for about {:.0f} % of "
               "each CPU\n",
               request.preemptors, burst_ms_, preempted_pct_);
    fmt::print(
        "  lists: node-spin (\"Baseline\" of the RFC \"per-CPU blocked reader lists\" of 2026), percpu-spin (its "
        "\"Optimized\"), node and percpu (the same lists under priority-inheriting locks); none: the same fibers "
        "without sections, the ceiling\n");
    fmt::print(
        "  {} runs of each variant, which alternate, and half as many of the ceiling; {:.2f} s per run, {:.0f} s in "
        "all; then a check of the tasks for which a grace period waits, and crowds of parked tasks; seed {}\n\n",
        plan_.runs, seconds_a_run(request), seconds_a_run(request) * total_runs(plan_), request.seed);
}

void Blocked::run(Cell &cell, unsigned round)
{
    RunRequest request = plan_.request;
    request.lists = cell.lists;
    request.seed = common.seed * 1'000 + round;
    RunResult result;
    if (ask(program_, request, result, cell.error))
        cell.runs.push_back(std::move(result));
}

bool Blocked::measure()
{
    std::vector<Turn> runs, others;
    for (Cell &cell : plan_.cells)
        runs.push_back({name_of(cell.lists), seconds_a_run(plan_.request), &cell.error,
                        [this, &cell](unsigned round) { run(cell, round); }, every(cell.lists)});
    for (OrderCell &cell : plan_.orders)
        others.push_back({"order, " + name_of(cell.request.lists), 0.2, &cell.error,
                          [this, &cell](unsigned) { (void)ask(program_, cell.request, cell.result, cell.error); }});
    for (CrowdCell &cell : plan_.crowds)
        others.push_back({fmt::format("{} parked tasks", cell.request.tasks), 0.2, &cell.error,
                          [this, &cell](unsigned) { (void)ask(program_, cell.request, cell.result, cell.error); }});
    Rounds rounds{"measuring", plan_.runs, common.seed}, once{"the parts", 1, common.seed};
    return play(rounds, runs) && play(once, others);
}

void Blocked::print_results()
{
    fmt::print("Iterations under preemption, and the duration of grace periods (floor: how late a sleeping thread "
               "woke)\n\n{}\n",
               lists_table(plan_, iterations));
    fmt::print("The node's lock under preemption: acquisitions by readers (without and with grace periods), readers' "
               "time with the lock or waiting for it, and hold times\n\n{}\n",
               lists_table(plan_, leaf_lock));
    const std::vector<ListsRow> rows = lists_rows(plan_);
    const ListsRow *spin = find_row(rows, Lists::node_spin);
    for (Lists lists : {Lists::percpu_spin, Lists::percpu})
        if (const ListsRow *row = find_row(rows, lists); row != nullptr && spin != nullptr)
            if (const std::string why = why_mean_hold_rises(*spin, *row); !why.empty())
                fmt::print("{}\n\n", why);
    std::vector<Strip> strips;
    for (const Cell &cell : plan_.cells)
        if (cell.lists != Lists::none)
            strips.push_back({name_of(cell.lists), gp_latencies(cell)});
    fmt::print("{}\n", density_chart("How long grace periods took, under preemption", strips, 60));
    fmt::print("Tasks for which a grace period waits: parked before and after its begin, ended in random order\n\n"
               "{}\n",
               table_text(0, order_rows(plan_)));
    fmt::print("Crowds of parked tasks (begin: until the grace period waits for all; end: from the last unlock)\n\n"
               "{}\n",
               table_text(0, crowd_rows(plan_)));
}

std::vector<std::string> Blocked::left_out() const
{
    std::vector<std::string> texts;
    const auto say = [&texts](const std::string &what, const std::string &error) {
        if (!error.empty())
            texts.push_back(fmt::format("{} left out: {}", what, error));
    };
    for (const Cell &cell : plan_.cells)
        say(fmt::format("{} after {} runs", name_of(cell.lists), cell.runs.size()), cell.error);
    for (const OrderCell &cell : plan_.orders)
        say("order, " + name_of(cell.request.lists), cell.error);
    for (const CrowdCell &cell : plan_.crowds)
        say(fmt::format("{} parked tasks, {}", cell.request.tasks, name_of(cell.request.lists)), cell.error);
    return texts;
}

void Blocked::fill(Document &document)
{
    const RunRequest &request = plan_.request;
    document.argument("runs", plan_.runs);
    document.argument("readers", request.readers);
    document.argument("carriers", request.carriers);
    document.argument("preemptors", request.preemptors);
    document.argument("burst_ms", burst_ms_);
    document.argument("preempted_pct", preempted_pct_);
    document.argument("gp_pause_ms", request.gp_pause_ns / 1'000'000);
    document.argument("throughput_ms", request.throughput_ns / 1'000'000);
    document.argument("metered_ms", request.metered_ns / 1'000'000);
    document.argument("without_gp_ms", request.without_gp_ns / 1'000'000);
    document.argument("undisturbed_ms", request.undisturbed_ns / 1'000'000);
    document.rows(lists_rows(plan_));
    document.rows(order_rows(plan_));
    document.rows(crowd_rows(plan_));
    for (const Cell &cell : plan_.cells)
        document.curve(make_curve(cell));
}

} // namespace blocked

Registration add_blocked(CLI::App &application)
{
    return add_experiment<blocked::Blocked>(
        application, "blocked", "compare two lists of readers parked inside sections: one per node, or one per thread");
}

} // namespace lab
