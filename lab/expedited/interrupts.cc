// SPDX-License-Identifier: MIT OR Apache-2.0
// A reader alone on its CPU, a caller on another CPU, and the kernel's count of function-call interrupts.
#include "expedited/interrupts.h"

#include <rtrcu/rcu.h>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "machine/child.h"
#include "machine/realtime.h"
#include "measure/clock.h"

namespace lab::expedited
{
namespace
{

uint64_t read_count(int cpu)
{
    std::stringstream text;
    text << std::ifstream("/proc/interrupts").rdbuf();
    const std::optional<uint64_t> count = function_calls_at(text.str(), cpu);
    if (!count)
        throw std::runtime_error("/proc/interrupts has no count of function-call interrupts");
    return *count;
}

// Returns the library's settings; its threads run on the CPUs in `others`, not on the reader's CPU.
PeerSettings settings_of(Isolation isolation, const std::vector<int> &others)
{
    PeerSettings settings = {{"cpus", fmt::format("{}", fmt::join(others, ","))}};
    if (isolation == Isolation::normal)
        settings.push_back({"normal", "1"});
    if (isolation == Isolation::no_membarrier)
        settings.push_back({"membarrier", "off"});
    return settings;
}

struct Reader {
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> sections{0};

    // Runs the reader's sections on `cpu`, at the lowest real-time priority, so that no ordinary thread shares the CPU.
    void read(Isolation isolation, int cpu)
    {
        const bool qsbr = isolation == Isolation::quiescent_state;
        pin_to_cpus({cpu});
        (void)enter_fifo(1);
        rtrcu_register_thread(qsbr ? RTRCU_QSBR : 0);
        while (!stop.load(std::memory_order_relaxed)) {
            if (qsbr) {
                rcu_read_lock_qs();
                rcu_read_unlock_qs();
                rcu_quiescent_state();
            } else {
                rcu_read_lock();
                rcu_read_unlock();
            }
            sections.store(sections.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }
        rcu_unregister_thread();
    }
};

uint64_t grace_periods_so_far()
{
    struct rtrcu_stats stats {
    };
    stats.size = sizeof(stats);
    (void)rtrcu_stats(&stats);
    return stats.gp_completed + stats.exp_completed;
}

void count_in_this_process(Isolation isolation, const ExperimentOptions &options, InterruptTotals &totals)
{
    std::vector<int> others = options.cpus;
    const int cpu = others.back();
    others.pop_back();
    std::string error;
    pin_to_cpus(others);
    PeerSettings settings = settings_of(isolation, others);
    settings.insert(settings.end(), options.settings.begin(), options.settings.end());
    if (!rtrcu_peer.start(settings, error))
        throw std::runtime_error(error);
    synchronize_rcu_expedited(); // the first use of the library, which creates its threads
    Reader reader;
    std::thread thread([&] { reader.read(isolation, cpu); });
    while (reader.sections.load() < 1000)
        pause_ns(pause_between_ns);
    (void)enter_fifo(caller_priority);
    const uint64_t before = read_count(cpu), grace_periods = grace_periods_so_far(), sections = reader.sections.load();
    const int64_t begin = now_ns(), end = begin + options.duration_ns;
    while (now_ns() < end) {
        pause_ns(pause_between_ns);
        if (isolation != Isolation::control)
            synchronize_rcu_expedited();
    }
    totals = {now_ns() - begin, read_count(cpu) - before, grace_periods_so_far() - grace_periods,
              reader.sections.load() - sections};
    reader.stop = true;
    enter_other();
    thread.join();
}

} // namespace

const char *name_of(Isolation isolation)
{
    switch (isolation) {
    case Isolation::control:
        return "control";
    case Isolation::expedited:
        return "expedited";
    case Isolation::normal:
        return "normal=1";
    case Isolation::no_membarrier:
        return "membarrier=off";
    case Isolation::quiescent_state:
        return "qsbr reader";
    }
    return "?";
}

std::vector<double> InterruptCell::interrupts_per_s() const
{
    std::vector<double> rates;
    for (const InterruptTotals &totals : experiments)
        if (totals.wall_ns > 0)
            rates.push_back(static_cast<double>(totals.interrupts) * 1e9 / static_cast<double>(totals.wall_ns));
    return rates;
}

bool count_interrupts(Isolation isolation, const ExperimentOptions &options, InterruptTotals &totals,
                      std::string &error)
{
    constexpr int64_t to_start_and_end_ns = 20'000'000'000;
    SharedValue<InterruptTotals> shared;
    const bool ok = run_in_child([&] { count_in_this_process(isolation, options, *shared); },
                                 options.duration_ns + to_start_and_end_ns, error);
    totals = *shared;
    return ok;
}

// The first line names the online CPUs; a column's position may differ from its CPU's number.
std::optional<uint64_t> function_calls_at(const std::string &text, int cpu)
{
    std::istringstream lines(text);
    std::string line, word;
    std::getline(lines, line);
    std::istringstream heads(line);
    std::size_t columns = 0, column = 0;
    for (; heads >> word; columns++)
        if (word == fmt::format("CPU{}", cpu))
            column = columns + 1;
    while (column != 0 && std::getline(lines, line)) {
        if (line.find("Function call interrupts") == std::string::npos)
            continue;
        std::istringstream words(line);
        words >> word; // the name of the line
        uint64_t count = 0;
        for (std::size_t i = 0; i < column; i++)
            if (!(words >> count))
                return std::nullopt;
        return count;
    }
    return std::nullopt;
}

std::vector<double> interrupts_per_grace_period(const InterruptCell &cell, const InterruptCell &control)
{
    std::vector<double> each;
    for (std::size_t i = 0; i < std::min(cell.experiments.size(), control.experiments.size()); i++) {
        const InterruptTotals &totals = cell.experiments[i], &anyway = control.experiments[i];
        if (anyway.wall_ns == 0 || totals.grace_periods == 0)
            continue;
        const double expected = static_cast<double>(anyway.interrupts) * static_cast<double>(totals.wall_ns) /
                                static_cast<double>(anyway.wall_ns);
        each.push_back((static_cast<double>(totals.interrupts) - expected) / static_cast<double>(totals.grace_periods));
    }
    return each;
}

} // namespace lab::expedited
