// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu-bench: this library beside its peers, in one interleaved run.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "harness/output.h"
#include "harness/server.h"

namespace bench
{
namespace
{

struct Options {
    bool quick = false, counts = false, list = false;
    std::vector<std::string> only;
    std::string json, here, serve;
    unsigned rounds = 0;
    uint64_t seed = 1;
    int socket = -1;
};

void declare(CLI::App &app, Options &options)
{
    app.add_flag("--quick", options.quick, "few short rounds, within 20 s: times are shown and not judged");
    app.add_flag("--counts", options.counts, "only the figures that are counts, not times");
    app.add_flag("--list", options.list, "list the figures");
    app.add_option("--only", options.only, "only these figures; see --list")->delimiter(',');
    app.add_option("--rounds", options.rounds, "rounds, each of all figures (default 15, quick 3)")
        ->check(CLI::Range(1, 1000));
    app.add_option("--seed", options.seed, "decides keys and the order of sides (default 1)");
    app.add_option("--json", options.json, "write the document there");
    app.add_option("--here", options.here, "for profilers: one side of a figure in this process, such as pair/0");
    app.add_option("--serve", options.serve)->group("");
    app.add_option("--socket", options.socket)->group("");
}

int usage(const std::string &message)
{
    fmt::print(stderr, "rtrcu-bench: {}\n", message);
    return 2;
}

std::optional<Parameters> parameters_of(const Options &options)
{
    std::vector<int> cpus = lab::cpus_allowed();
    if (cpus.size() < 2)
        return std::nullopt;
    return Parameters{options.quick, options.seed, cpus.front(), cpus.back()};
}

void list_figures()
{
    for (const Figure &figure : all_figures()) {
        fmt::print("{:<17} {}\n", figure.name, figure.what);
        for (std::size_t side = 0; side < figure.sides.size(); side++)
            fmt::print("  {:<17} {}\n", SideName{&figure, side}.text(), figure.sides[side].peer->what);
    }
}

bool select(const Options &options, std::vector<const Figure *> &figures, std::string &error)
{
    for (const std::string &name : options.only) {
        auto has_name = [&](const Figure &figure) { return name == figure.name; };
        if (std::none_of(all_figures().begin(), all_figures().end(), has_name)) {
            error = fmt::format("no figure is called \"{}\"; --list names them", name);
            return false;
        }
    }
    for (const Figure &figure : all_figures()) {
        const bool named = std::find(options.only.begin(), options.only.end(), figure.name) != options.only.end();
        if ((options.only.empty() || named) && (figure.counts || !options.counts))
            figures.push_back(&figure);
    }
    if (figures.empty())
        error = "--counts leaves none of the figures that --only names";
    return !figures.empty();
}

lab::Json arguments_json(const Plan &plan)
{
    lab::Json json = {{"seed", plan.parameters.seed}, {"rounds", plan.rounds}, {"quick", plan.parameters.quick}};
    json["environment"] = lab::Json::object();
    for (char **entry = environ; *entry != nullptr; entry++) {
        std::string text = *entry;
        if (text.rfind("RTRCU_", 0) == 0)
            json["environment"][text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
    for (const Peer *peer : all_peers())
        if (peer != &none_peer)
            json["versions"][peer->name] = peer->version();
    return json;
}

int report(const Plan &plan, const std::vector<Judged> &judged, const lab::Machine &machine, const std::string &json)
{
    bool failed = false;
    fmt::print("{}\n{}", table_text(judged), conditions_text(machine, plan));
    for (const Judged &one : judged) {
        failed |= one.verdict == Verdict::missed || !one.result->error.empty();
        if (!one.result->error.empty())
            fmt::print(stderr, "rtrcu-bench: {}: {}\n", one.result->figure->name, one.result->error);
    }
    if (json.empty())
        return failed ? 1 : 0;
    lab::Json document = lab::make_document("bench", machine, arguments_json(plan));
    document["rows"] = rows_json(judged);
    std::string error;
    if (!lab::write_json(json, document, error))
        return usage(error);
    return failed ? 1 : 0;
}

int run_all(const Options &options, const Parameters &parameters)
{
    Plan plan{{}, parameters, options.rounds != 0 ? options.rounds : options.quick ? 3 : 15};
    std::string error;
    if (!select(options, plan.figures, error))
        return usage(error);
    fmt::print("{} figures, {} rounds, each side of a figure in a process of its own\n", plan.figures.size(),
               plan.rounds);
    std::fflush(stdout);
    const lab::Machine machine = lab::read_machine();
    const std::vector<Result> results = run(plan);
    std::vector<Judged> judged;
    for (const Result &result : results)
        judged.push_back(judge(result, parameters.quick));
    return report(plan, judged, machine, options.json);
}

int main_of(int argc, char **argv)
{
    Options options;
    CLI::App app("Benchmarks of rtrcu beside its peers.\n"
                 "Exit codes: 0 no bar was missed, 1 one was or a side failed, 2 wrong usage.",
                 "rtrcu-bench");
    declare(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (options.list) {
        list_figures();
        return 0;
    }
    const std::optional<Parameters> parameters = parameters_of(options);
    if (!parameters)
        return usage("needs two CPUs, one for the thread that is measured and one for its reader; allow it more "
                     "(taskset, the container's CPU set)");
    const std::string &one_side = options.serve.empty() ? options.here : options.serve;
    if (one_side.empty())
        return run_all(options, *parameters);
    const std::optional<SideName> side = parse_side(one_side);
    if (!side)
        return usage(fmt::format("no side is called \"{}\"; --list names them", one_side));
    if (!options.serve.empty())
        return serve(*side, *parameters, options.socket);
    return run_here(*side, *parameters, options.rounds != 0 ? options.rounds : 5);
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    return bench::main_of(argc, argv);
}
