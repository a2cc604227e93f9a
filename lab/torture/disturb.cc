// SPDX-License-Identifier: MIT OR Apache-2.0
// Disturbers: actors that send signals, change CPUs, make all actors pause, reconfigure, and stay in sections so long
// that a stall must be reported.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "machine/realtime.h"
#include "measure/clock.h"
#include "torture/actors.h"

namespace lab::torture
{
namespace
{

constexpr int64_t ns_per_ms = 1'000'000;

// Sleeps for `ms`, in short steps, so that the sleep ends soon after the scenario.  Returns false if the scenario ends.
bool sleep_ms(Actor &actor, int64_t ms)
{
    const int64_t end = now_ns() + ms * ns_per_ms;
    While resting(actor, Doing::resting);
    while (now_ns() < end && !actor.context.stopping.load(std::memory_order_relaxed)) {
        actor.record.beats.fetch_add(1, std::memory_order_relaxed);
        pause_ns(std::min<int64_t>(end - now_ns(), 20 * ns_per_ms));
    }
    return !actor.context.stopping.load(std::memory_order_relaxed);
}

void send_signals(Actor &actor, const Cast &cast)
{
    while (actor.keep_going()) {
        const auto &target = actor.random.pick(cast.actors());
        const int32_t thread_id = target->record.thread_id.load();
        if (target->takes_signals.load() && thread_id != 0)
            syscall(SYS_tgkill, getpid(), thread_id, disturbing_signal); // fails if the thread has exited
        actor.rest(2 * actor.context.scenario.signals_us);
    }
}

// Again and again, moves every actor to a random set of the process's original CPUs.
void shuffle(Actor &actor, const Cast &cast)
{
    const std::vector<int> cpus = cpus_allowed();
    while (sleep_ms(actor, actor.random.between(1, 2 * actor.context.scenario.shuffle_ms)) && actor.keep_going()) {
        for (const auto &target : cast.actors()) {
            std::vector<int> some = {actor.random.pick(cpus)};
            for (int cpu : cpus)
                if (actor.random.one_in(2))
                    some.push_back(cpu);
            const int32_t thread_id = target->record.thread_id.load();
            if (thread_id != 0)
                pin_to_cpus(some, thread_id);
        }
    }
}

void stutter(Actor &actor)
{
    Context &context = actor.context;
    const int64_t ms = context.scenario.stutter_ms;
    while (sleep_ms(actor, actor.random.between(1, 2 * ms))) {
        context.stuttering.store(1);
        sleep_ms(actor, actor.random.between(1, ms));
        context.stutters.fetch_add(1);
        context.stuttering.store(0);
        context.stuttering.notify_all();
    }
}

bool full_fences()
{
    struct rtrcu_stats stats {
    };
    stats.size = sizeof(stats);
    rtrcu_stats(&stats);
    return stats.full_fences != 0;
}

void check_fences(Actor &actor, const rtrcu_config &config)
{
    const bool off = config.membarrier == RTRCU_MEMBARRIER_OFF;
    if (off && !full_fences())
        actor.context.findings.report(Check::configure, "membarrier is off, but readers do not use full fences");
}

void reconfigure(Actor &actor)
{
    Context &context = actor.context;
    rtrcu_config first{};
    rtrcu_config_get(&first);
    while (sleep_ms(actor, actor.random.between(1, 2 * context.scenario.reconfigure_ms)) && actor.keep_going()) {
        rtrcu_config config = first;
        for (const auto &[name, value] : actor.random.pick(context.scenario.reconfigure))
            rtrcu_config_set(&config, name.c_str(), value.c_str());
        While configuring(actor, Doing::configuring);
        if (rtrcu_configure(&config) != 0)
            context.findings.report(Check::configure, "refused: {}", rtrcu_config_error());
        else
            check_fences(actor, config);
        context.shared.reconfigurations.fetch_add(1);
    }
}

// The thread that stalls, and the number of stall reports that name it.  Other reports may be about rcu_barrier().
std::atomic<unsigned int> stalling{0};
std::atomic<uint64_t> named{0};

void note_whom_it_names(const char *line)
{
    unsigned int thread = 0;
    if (std::sscanf(line, "rtrcu:   thread %u \"", &thread) == 1 && thread == stalling.load())
        named.fetch_add(1);
    std::fputs(line, stderr);
}

// Stays in a section for several times the stall timeout, while other threads wait for grace periods.
void stall(Actor &actor)
{
    Context &context = actor.context;
    rtrcu_config config{};
    rtrcu_config_get(&config);
    stalling.store(static_cast<unsigned int>(gettid()));
    rtrcu_set_stall_handler(note_whom_it_names);
    while (sleep_ms(actor, context.scenario.stall_ms / 2) && actor.keep_going()) {
        const uint64_t before = named.load();
        rcu_read_lock();
        (void)context.flavour.start_poll();
        const bool whole = sleep_ms(actor, context.scenario.stall_ms);
        rcu_read_unlock();
        const uint64_t reported = named.load() - before;
        context.shared.stalls_reported.fetch_add(reported);
        if (whole && reported == 0)
            context.findings.report(Check::stall,
                                    "no stall report names a section of {} ms; a report is due after {} ms",
                                    context.scenario.stall_ms, config.stall_timeout_ms);
    }
}

} // namespace

void add_disturbers(Cast &cast, const Scenario &scenario)
{
    if (scenario.signals_us > 0)
        cast.add("signals", 0, [&cast](Actor &actor) { send_signals(actor, cast); });
    if (scenario.shuffle_ms > 0)
        cast.add("shuffle", 0, [&cast](Actor &actor) { shuffle(actor, cast); });
    if (scenario.stutter_ms > 0)
        cast.add("stutter", 0, stutter);
    if (scenario.reconfigure_ms > 0)
        cast.add("reconfigure", 0, reconfigure);
    if (scenario.stall_ms > 0)
        cast.add("stall", 0, stall);
}

} // namespace lab::torture
