// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu env`: the machine, its permissions, the noise of its timers, and where the experiments' inputs are.
#include <rtrcu/rcu.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "command/command.h"
#include "machine/machine.h"
#include "machine/realtime.h"
#include "measure/quantile.h"
#include "report/document.h"
#include "report/table.h"
#include "workload/inputs.h"

namespace lab
{
namespace
{

struct Fact : Fields {
    Text name{*this, "name", {0, "what"}}, value{*this, "value", {0, "value"}}, note{*this, "note", {0, "note"}};
    Fact() = default;
    Fact(const std::string &fact_name, const std::string &fact_value, const std::string &fact_note)
    {
        name = fact_name;
        value = fact_value;
        note = fact_note;
    }
};

std::string yes(bool value)
{
    return value ? "yes" : "no";
}

void machine_facts(const Machine &machine, std::vector<Fact> &facts)
{
    facts.push_back({"cpu", machine.cpu_model, machine.architecture});
    facts.push_back({"cpus_allowed", fmt::format("{}", fmt::join(machine.cpus_allowed, " ")),
                     machine.cpus_allowed.size() < 2 ? "some experiments need two CPUs" : ""});
    facts.push_back({"memory_mb", fmt::format("{}", machine.memory_mb), ""});
    facts.push_back({"kernel", machine.kernel, ""});
    facts.push_back({"preempt_rt", yes(machine.preempt_rt),
                     machine.preempt_rt ? "the kernel runs its expedited grace periods as normal grace periods" : ""});
    facts.push_back({"virtual_machine", machine.hypervisor,
                     machine.hypervisor == "yes" ? "the host may delay or interrupt measurements" : ""});
    facts.push_back({"membarrier", yes(machine.membarrier_expedited),
                     machine.membarrier_expedited ? "private expedited" : "readers will use full fences"});
    facts.push_back({"rseq", yes(machine.rseq), ""});
    facts.push_back({"realtime", yes(machine.realtime_permitted),
                     machine.realtime_permitted ? "throttled at " + machine.realtime_limits : realtime_refusal()});
    facts.push_back(
        {"clock_source", machine.clock_source, fmt::format("resolution {} ns", machine.clock_resolution_ns)});
    facts.push_back({"clock_read_ns", fmt::format("{}", machine.clock_read_ns), ""});
    facts.push_back({"thread_cpu_read_ns", fmt::format("{}", machine.thread_cpu_read_ns), ""});
}

void floor_facts(const Machine &machine, double seconds, std::vector<Fact> &facts)
{
    for (bool fifo : {true, false}) {
        if (fifo && !machine.realtime_permitted)
            continue;
        Samples late(timer_floor(machine.cpus_allowed.back(), seconds, 100'000, fifo ? loop_priority : 0));
        auto us = [&](double quantile) {
            auto value = late.quantile(quantile);
            return number(value ? std::optional<double>(static_cast<double>(*value) / 1000) : std::nullopt);
        };
        facts.push_back({fifo ? "timer_floor_us_fifo" : "timer_floor_us_other",
                         fmt::format("p50 {}  p99 {}  p99.9 {}  max {}", us(0.5), us(0.99), us(0.999),
                                     number(static_cast<double>(late.max().value_or(0)) / 1000)),
                         fmt::format("{} sleeps to absolute times", late.count())});
    }
}

void interrupt_facts(const Machine &machine, std::vector<Fact> &facts)
{
    Samples cost(interrupt_cost(machine.cpus_allowed.back(), 0.1, machine.realtime_permitted ? loop_priority : 0));
    auto us = [&](double quantile) {
        return number(static_cast<double>(cost.quantile_of_few(quantile).value_or(0)) / 1000);
    };
    facts.push_back({"timer_interrupt_us", fmt::format("p50 {}  p95 {}  max {}", us(0.5), us(0.95), us(1)),
                     "CPU time that a timer interrupt takes from the running thread"});
}

void library_facts(std::vector<Fact> &facts)
{
    facts.push_back({"library", rtrcu_version(), ""});
    struct rtrcu_stats stats {
    };
    stats.size = sizeof(stats);
    rcu_read_lock();
    rcu_read_unlock();
    if (rtrcu_stats(&stats) == 0)
        facts.push_back({"readers", stats.full_fences != 0 ? "full fences" : "no fences", ""});
    rtrcu_config config{};
    rtrcu_config_get(&config);
    static constexpr const char *policies[] = {"daemon", "inline", "krcud", "throttle", "unbounded"};
    static constexpr const char *drivers[] = {"kthread", "ltimer", "sched", "poll"};
    facts.push_back({"policy", policies[config.policy], ""});
    facts.push_back({"driver", drivers[config.driver], ""});
    facts.push_back({"limits",
                     fmt::format("blimit {}  qhimark {}  qlowmark {}  qmax {}", config.blimit, config.qhimark,
                                 config.qlowmark, config.qmax),
                     ""});
    facts.push_back({"times",
                     fmt::format("budget {} µs  tick {} µs  spin {} µs  boost after {} µs", config.budget_ns / 1000,
                                 config.tick_us, config.spin_us, config.boost_delay_us),
                     ""});
}

void input_facts(const CommonOptions &options, std::vector<Fact> &facts)
{
    InputOptions wanted;
    wanted.seed = options.seed;
    wanted.max_tree_ns = 100'000'000;
    Inputs inputs;
    std::vector<std::string> notes;
    std::string error;
    if (!load_inputs(wanted, inputs, notes, error))
        notes.push_back(error);
    for (const std::string &note : notes) {
        std::size_t colon = std::min(note.find(": "), note.size());
        facts.push_back({"input", note.substr(0, colon), note.substr(std::min(colon + 2, note.size()))});
    }
}

int run(const CommonOptions &options)
{
    const double seconds = options.seconds > 0 ? options.seconds : 0.1;
    need_writable(options.json);
    if (options.seconds > 0)
        fmt::print("Examining this machine; measuring its timer floor takes {:.1f} s.\n\n", seconds * 2);
    fflush(stdout);
    std::vector<Fact> facts;
    Machine machine = read_machine();
    machine_facts(machine, facts);
    floor_facts(machine, seconds, facts);
    interrupt_facts(machine, facts);
    input_facts(options, facts);
    library_facts(facts);

    Document document("env", machine);
    add_arguments(options, document);
    document.rows(facts);
    fmt::print("{}", table_text(0, facts));
    return finish(options, document, exit_ok);
}

} // namespace

Registration add_env(CLI::App &application)
{
    auto options = std::make_shared<CommonOptions>();
    CLI::App *command =
        add_command(application, "env", "show the machine, its permissions, and where the inputs are", *options);
    return {command, [options] { return run(*options); }};
}

} // namespace lab
