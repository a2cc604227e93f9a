// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu-bench: this library and its peers, in one interleaved run.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <random>

#include "command/experiment.h"
#include "harness/output.h"

namespace bench
{
namespace
{

class Bench : public lab::Experiment
{
  public:
    Bench()
    {
        out.clear(); // there is no HTML page
    }
    void declare(lab::Options &options) override;
    void prepare() override;
    void print_plan() const override
    {
        fmt::print("{} figures, {} rounds, each side of a figure in a process of its own\n", runs_.size(),
                   rounds_.planned);
    }
    bool measure() override;
    bool measured() const override
    {
        return std::any_of(runs_.begin(), runs_.end(), [](const Run &run) { return !run.result.sides[0].empty(); });
    }
    std::vector<std::string> left_out() const override;
    void print_results() override
    {
        fmt::print("{}\n{}", table_text(judged()), conditions_text(machine, common.seed, rounds_.planned));
    }
    lab::Verdicts judge(bool times) override;
    void fill(lab::Document &document) override;
    // If --list or --here is given, performs this request instead of a run, and returns the exit code.
    std::optional<int> other_use();

  private:
    struct Run {
        Result result;
        std::vector<std::unique_ptr<SideProcess>> sides;
    };
    Parameters parameters() const;
    void select();
    void round(Run &run);
    std::vector<Judged> judged() const;

    bool counts_ = false, list_ = false;
    std::vector<std::string> only_;
    std::string here_;
    lab::Rounds rounds_{"rtrcu-bench", 0};
    std::vector<Run> runs_;
    std::mt19937_64 random_;
};

void Bench::declare(lab::Options &options)
{
    options.flag("--quick", common.quick, "three short rounds, about a minute: times are shown and not judged");
    options.flag("--counts", counts_, "measure only figures that are counts, not times");
    options.flag("--list", list_, "list the figures and their sides");
    options.list("--only", only_, "measure only these figures; --list prints all names");
    options.count("--rounds", rounds_.planned, "number of rounds (default 15, with --quick 3)", 1, 1000);
    options.seed("--seed", common.seed, "seed for the keys of lookups and the order of sides");
    options.text("--json", common.json, "write the results to this file");
    options.text("--here", here_, "for profilers: run one side of a figure in this process, such as pair/0");
}

std::optional<int> Bench::other_use()
{
    if (list_)
        for (const Figure &figure : all_figures()) {
            fmt::print("{:<17} {}\n", figure.name, figure.what);
            for (std::size_t side = 0; side < figure.sides.size(); side++)
                fmt::print("  {:<17} {}\n", side_name(figure, side), figure.sides[side].peer->what);
        }
    if (!list_ && here_.empty())
        return std::nullopt;
    return list_ ? 0 : run_here(here_, parameters(), rounds_.planned != 0 ? rounds_.planned : 5);
}

Parameters Bench::parameters() const
{
    const std::vector<int> cpus = lab::cpus_allowed();
    return {common.quick, common.seed, cpus.front(), cpus.back(), 0};
}

void Bench::prepare()
{
    need_two_cpus("one CPU is for the measured thread and one for its reader");
    if (rounds_.planned == 0)
        rounds_.planned = common.quick ? 3 : 15;
    rounds_.seed = common.seed;
    random_.seed(common.seed);
    select();
}

void Bench::select()
{
    const auto named = [&](const Figure &figure) {
        return std::find(only_.begin(), only_.end(), figure.name) != only_.end();
    };
    for (const std::string &name : only_)
        if (std::none_of(all_figures().begin(), all_figures().end(),
                         [&](const Figure &figure) { return name == figure.name; }))
            throw lab::Refusal(fmt::format("no figure is called \"{}\"; --list prints the figures", name));
    for (const Figure &figure : all_figures()) {
        if ((!only_.empty() && !named(figure)) || (counts_ && !figure.counts))
            continue;
        Run &run = runs_.emplace_back();
        run.result.figure = &figure;
        run.result.sides.resize(figure.sides.size());
        for (std::size_t side = 0; side < figure.sides.size(); side++)
            run.sides.push_back(std::make_unique<SideProcess>(figure, side, parameters()));
    }
    if (runs_.empty())
        throw lab::Refusal("--counts: none of the figures that --only names is a count; name others");
}

// Returns the sides in an order that the seed determines, different in each round.
void Bench::round(Run &run)
{
    std::vector<std::size_t> order(run.sides.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<Measured> measured(run.sides.size());
    for (std::size_t side : order) {
        const std::optional<Measured> one = run.sides[side]->round();
        if (!one) {
            run.result.error =
                fmt::format("{}: {}", run.result.figure->sides[side].peer->name, run.sides[side]->error());
            return;
        }
        measured[side] = *one;
    }
    for (std::size_t side = 0; side < measured.size(); side++)
        run.result.sides[side].push_back(measured[side]);
}

bool Bench::measure()
{
    std::vector<lab::Turn> turns;
    for (Run &run : runs_)
        turns.push_back({run.result.figure->name, 1, &run.result.error, [this, &run](unsigned) { round(run); },
                         run.result.figure->every});
    return play(rounds_, turns);
}

std::vector<Judged> Bench::judged() const
{
    std::vector<Judged> all;
    for (const Run &run : runs_)
        all.push_back(bench::judge(run.result, common.quick));
    return all;
}

std::vector<std::string> Bench::left_out() const
{
    std::vector<std::string> texts;
    for (const Run &run : runs_)
        if (!run.result.error.empty())
            texts.push_back(fmt::format("{} left out: {}", run.result.figure->name, run.result.error));
    return texts;
}

// Returns the lines of the table that make the run fail.
lab::Verdicts Bench::judge(bool)
{
    lab::Verdicts verdicts;
    for (const Judged &one : judged())
        if (one.verdict == Verdict::missed)
            verdicts.push_back({lab::Outcome::failed, one.result->figure->name, one.result->figure->what});
    return verdicts;
}

void Bench::fill(lab::Document &document)
{
    std::map<std::string, std::string> environment, versions;
    for (char **entry = environ; *entry != nullptr; entry++) {
        const std::string text = *entry;
        if (text.rfind("RTRCU_", 0) == 0)
            environment[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
    for (const Peer *peer : all_peers())
        if (peer != &none_peer)
            versions[peer->name] = peer->version();
    document.argument("rounds", rounds_.planned);
    document.argument("environment", environment);
    document.argument("versions", versions);
    add_rows(judged(), document);
}

int main_of(int argc, char **argv)
{
    Bench bench;
    CLI::App app("Benchmarks of rtrcu beside its peers.\n"
                 "Exit codes: 0 no bar was missed, 1 a bar was missed or a side failed, 2 wrong usage.",
                 "rtrcu-bench");
    lab::Options options(app);
    bench.declare(options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? lab::exit_ok : lab::exit_usage;
    }
    try {
        const std::optional<int> other = bench.other_use();
        return other ? *other : run_experiment(bench, "bench");
    } catch (const std::exception &error) {
        return lab::complain(lab::exit_usage, error.what());
    }
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    return bench::main_of(argc, argv);
}
