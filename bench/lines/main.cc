// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu-lines: counts the cache lines that move between CPUs for a grace period, a section and a callback, for 1 to
// 4,096 CPUs, in a model (machine/world.h) that runs the library's own source.  No time is measured, and every run
// gives the same result.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "machine/world.h"
#include "subject.h"

namespace lines
{
namespace
{

constexpr int leaf_threads = 32; // threads of a leaf of the library's tree
constexpr int most_readers = 16;
constexpr int warm_rounds = 24, rounds = 24; // more scans than a thread needs to become idle

// The leaves in which the readers have their records.
enum class Placement { spread, one_leaf, all };

struct Row {
    const char *subject, *figure, *placement;
    int cpus, readers;
    double transfers, lines, fences; // a grace period, section or callback
    sim::Contended contended;        // transfers a round
};

// Each run has its own process, so that it begins with a fresh domain.
class Run
{
  public:
    Run(const Subject &subject, int cpus, Placement placement) : subject_(subject), world_(slots(cpus) + 1)
    {
        sim::set_world(&world_);
        place(cpus, placement);
    }
    Row grace_period(const char *figure, bool inside);
    Row section();
    Row callbacks(const char *figure, int queueing, int each);

  private:
    // Returns the number of threads that take slots: enough for the chosen placement. Threads that are not readers
    // leave again.
    static int slots(int cpus)
    {
        return std::max(cpus, most_readers * leaf_threads);
    }
    int updater() const
    {
        return world_cpus_ - 1;
    }
    void place(int cpus, Placement placement);
    void as(const std::vector<int> &cpus, void (*body)())
    {
        for (int cpu : cpus)
            world_.as_cpu(cpu, body);
    }
    template <class Round> Row measure(const char *figure, double per, const Round &round);

    const Subject &subject_;
    sim::World world_;
    int world_cpus_ = 0;
    std::vector<int> all_, readers_;
    uint64_t by_readers_ = 0; // transfers of the readers' work
};

// Makes threads readers at the places that @placement requires, and lets all other threads beyond @cpus leave again.
// The record of CPU number c is in leaf (c + 1) / 32, since the first slot of the first leaf belongs to no CPU.
void Run::place(int cpus, Placement placement)
{
    const int total = slots(cpus), leaves = (total + leaf_threads) / leaf_threads;
    world_cpus_ = total + 1;
    world_.as_cpu(updater(), subject_.begin);
    for (int cpu = 0; cpu < total; cpu++)
        world_.as_cpu(cpu, subject_.enter);
    const int readers = placement == Placement::all ? cpus : std::min(cpus, most_readers);
    std::vector<char> stays(static_cast<size_t>(total), 0);
    for (int i = 0; i < readers; i++) {
        const int leaf = i * std::max(1, (leaves - 1) / readers);
        const int cpu = placement == Placement::spread ? leaf * leaf_threads + (leaf == 0 ? 1 : 0) : i;
        readers_.push_back(cpu);
        stays[static_cast<size_t>(cpu)] = 1;
    }
    int left = cpus - readers;
    for (int cpu = 0; cpu < total; cpu++) {
        if (!stays[static_cast<size_t>(cpu)] && left-- <= 0)
            world_.as_cpu(cpu, subject_.leave);
        else
            all_.push_back(cpu);
    }
}

template <class Round> Row Run::measure(const char *figure, double per, const Round &round)
{
    for (int i = 0; i < warm_rounds; i++)
        round();
    by_readers_ = 0;
    world_.start_counting();
    for (int i = 0; i < rounds; i++)
        round();
    const sim::Tally tally = world_.stop_counting();
    const double of = per * rounds;
    Row row{};
    row.subject = subject_.name;
    row.figure = figure;
    row.cpus = static_cast<int>(all_.size());
    row.readers = static_cast<int>(readers_.size());
    row.transfers = static_cast<double>(tally.transfers) / of;
    row.lines = static_cast<double>(tally.lines) / per;
    row.fences = static_cast<double>(tally.fences) / of;
    row.contended = world_.most_contended();
    return row;
}

// Measures a grace period.  With @inside, readers are inside at the scan, and leave while the grace period waits;
// otherwise they have ended a section before the grace period.
Row Run::grace_period(const char *figure, bool inside)
{
    return measure(figure, 1, [&] {
        as(readers_, subject_.lock);
        if (!inside)
            as(readers_, subject_.unlock);
        bool left = !inside;
        world_.meanwhile([&] {
            if (!left)
                as(readers_, subject_.unlock);
            left = true;
        });
        world_.as_cpu(updater(), subject_.synchronize);
    });
}

// Sixteen sections of each reader between two grace periods: the transfers of the sections alone.
Row Run::section()
{
    constexpr int sections = 16;
    const double per = sections * static_cast<double>(readers_.size());
    Row row = measure("section", per, [&] {
        const uint64_t before = world_.transfers();
        for (int i = 0; i < sections; i++) {
            as(readers_, subject_.lock);
            as(readers_, subject_.unlock);
        }
        by_readers_ += world_.transfers() - before;
        world_.as_cpu(updater(), subject_.synchronize);
    });
    row.transfers = static_cast<double>(by_readers_) / (per * rounds);
    return row;
}

// Measures callbacks.  In a round, each of the first @queueing CPUs queues @each callbacks.  Then the driver's CPU does
// a pass, and the CPUs that queued callbacks run them.
Row Run::callbacks(const char *figure, int queueing, int each)
{
    const std::vector<int> producers(all_.begin(), all_.begin() + queueing);
    const size_t count = static_cast<size_t>(queueing) * static_cast<size_t>(each);
    auto *memory = static_cast<unsigned char *>(world_.allocate_pages(count * 64));
    return measure(figure, static_cast<double>(count), [&] {
        unsigned char *at = memory;
        for (int cpu : producers)
            world_.as_cpu(cpu, [&] {
                for (int i = 0; i < each; i++, at += 64)
                    subject_.queue(at);
            });
        world_.as_cpu(updater(), subject_.serve);
        as(producers, subject_.run);
    });
}

// Runs in a process of its own, which returns the row through a pipe.
template <class Body> Row apart(const Body &body)
{
    int ends[2];
    if (pipe(ends) != 0)
        throw std::runtime_error("pipe() has failed");
    const pid_t child = fork();
    if (child == 0) {
        const Row row = body();
        _exit(write(ends[1], &row, sizeof(row)) == sizeof(row) ? 0 : 1);
    }
    close(ends[1]);
    Row row;
    int status = 0;
    const bool whole = read(ends[0], &row, sizeof(row)) == sizeof(row);
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 || !whole)
        throw std::runtime_error("a run has failed");
    return row;
}

const char *name_of(Placement placement)
{
    return placement == Placement::spread ? "spread" : placement == Placement::one_leaf ? "one leaf" : "all";
}

std::vector<Row> count_all(bool quick)
{
    std::vector<Row> rows;
    const std::vector<int> sizes = quick ? std::vector<int>{16, 256} : std::vector<int>{1, 4, 16, 64, 256, 1024, 4096};
    const auto add = [&](const Subject &subject, int cpus, Placement placement, auto count) {
        Row row = apart([&] {
            Run run(subject, cpus, placement);
            return count(run);
        });
        row.placement = name_of(placement);
        rows.push_back(row);
    };
    for (const Subject *subject : {&rtrcu_subject, &flat_subject})
        for (int cpus : sizes) {
            for (Placement placement : {Placement::spread, Placement::one_leaf, Placement::all}) {
                add(*subject, cpus, placement, [](Run &run) { return run.grace_period("gp inside", true); });
                add(*subject, cpus, placement, [](Run &run) { return run.grace_period("gp outside", false); });
                add(*subject, cpus, placement, [](Run &run) { return run.section(); });
            }
            add(*subject, cpus, Placement::spread, [&](Run &run) { return run.callbacks("callback each", cpus, 4); });
            add(*subject, cpus, Placement::spread, [](Run &run) { return run.callbacks("callback one", 1, 4096); });
        }
    return rows;
}

void print(const std::vector<Row> &rows)
{
    fmt::print("{:<6} {:<14} {:<9} {:>5} {:>7} {:>10} {:>8} {:>6}  {}\n", "", "figure", "placed", "CPUs", "readers",
               "transfers", "lines", "fences", "most contended line: transfers, CPUs, access");
    for (const Row &row : rows)
        fmt::print("{:<6} {:<14} {:<9} {:>5} {:>7} {:>10.2f} {:>8.1f} {:>6.2f}  {:.2f}, {}, {} in {}\n", row.subject,
                   row.figure, row.placement, row.cpus, row.readers, row.transfers, row.lines, row.fences,
                   static_cast<double>(row.contended.transfers) / rounds, row.contended.cpus, row.contended.access,
                   row.contended.where);
}

nlohmann::json document(const std::vector<Row> &rows)
{
    nlohmann::json list = nlohmann::json::array();
    for (const Row &row : rows)
        list.push_back({{"table", "lines"},
                        {"subject", row.subject},
                        {"figure", row.figure},
                        {"placement", row.placement},
                        {"cpus", row.cpus},
                        {"readers", row.readers},
                        {"transfers", row.transfers},
                        {"lines", row.lines},
                        {"fences", row.fences},
                        {"contended_transfers", static_cast<double>(row.contended.transfers) / rounds},
                        {"contended_cpus", row.contended.cpus},
                        {"contended_access", row.contended.access},
                        {"contended_function", row.contended.where}});
    return {{"experiment", "lines"}, {"rows", list}};
}

// Checks that a grace period among 4,096 CPUs takes at most twice the transfers of a grace period among 16 CPUs, with
// sixteen readers in the same placement. Returns the number of figures for which the check fails.
int judge(const std::vector<Row> &rows)
{
    int missed = 0;
    for (const Row &small : rows)
        for (const Row &large : rows) {
            const bool same = large.subject == small.subject && strcmp(large.figure, small.figure) == 0 &&
                              large.placement == small.placement && large.readers == small.readers;
            if (!same || small.cpus != most_readers || large.cpus != 4096 || large.figure[0] != 'g' ||
                small.subject != rtrcu_subject.name)
                continue;
            const double ratio = large.transfers / small.transfers;
            fmt::print("{} {}: 4,096 CPUs against 16: {:.2f} times the transfers, at most 2: {}\n", large.figure,
                       large.placement, ratio, ratio <= 2 ? "held" : "FAILED");
            missed += ratio > 2;
        }
    return missed;
}

int main_of(int argc, char **argv)
{
    bool quick = false;
    std::string json;
    CLI::App app("Counts the cache lines that move between CPUs, in a model that runs the library's own source.",
                 "rtrcu-lines");
    app.add_flag("--quick", quick, "measure only 16 and 256 CPUs, without a verdict");
    app.add_option("--json", json, "write the rows to this file");
    CLI11_PARSE(app, argc, argv);
    const std::vector<Row> rows = count_all(quick);
    print(rows);
    if (!json.empty())
        std::ofstream(json) << document(rows).dump(1) << "\n";
    return judge(rows) == 0 ? 0 : 1;
}

} // namespace
} // namespace lines

int main(int argc, char **argv)
{
    try {
        return lines::main_of(argc, argv);
    } catch (const std::exception &error) {
        fmt::print(stderr, "rtrcu-lines: {}\n", error.what());
        return 1;
    }
}
