// SPDX-License-Identifier: MIT OR Apache-2.0
// Prepares a round, watches it, and counts its costs.
#include "overhead/round.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <unordered_map>

#include "machine/child.h"
#include "overhead/forwarder.h"
#include "overhead/sync.h"

namespace lab::overhead
{
namespace
{

constexpr int64_t backlog_interval_ns = 2'000'000;
constexpr int64_t longest_wait_ns = 2'000'000'000;

// The counters at one moment.
struct Snapshot {
    int64_t wall_ns, process_cpu_ns, forwarder_cpu_ns = 0;
    uint64_t packets = 0, hits = 0, misses = 0, expired = 0, layer_invoked = 0, switches = 0;
    struct rtrcu_stats library {
    };
};

struct Round {
    const EngineRow &engine;
    const RoundOptions &options;
    Profile &profile;
    Traffic traffic;
    std::vector<Forwarder> forwarders;
    RoundResult &result;
};

uint64_t switches_of(int whose)
{
    rusage usage{};
    getrusage(whose, &usage);
    return static_cast<uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
}

Snapshot take_snapshot(Round &round)
{
    Snapshot now;
    now.library.size = sizeof(now.library);
    if (round.engine.guard == Guard::rcu)
        (void)rtrcu_stats(&now.library);
    if (round.engine.layer_invoked != nullptr)
        now.layer_invoked = round.engine.layer_invoked();
    for (Forwarder &forwarder : round.forwarders) {
        clockid_t clock;
        if (pthread_getcpuclockid(forwarder.thread.native_handle(), &clock) == 0)
            now.forwarder_cpu_ns += clock_ns(clock);
        now.packets += forwarder.packets.load(std::memory_order_relaxed);
        now.hits += forwarder.hits.load(std::memory_order_relaxed);
        now.misses += forwarder.misses.load(std::memory_order_relaxed);
        now.expired += forwarder.expired.load(std::memory_order_relaxed);
    }
    // All threads except this thread, which only takes snapshots.
    now.switches = switches_of(RUSAGE_SELF) - switches_of(RUSAGE_THREAD);
    now.process_cpu_ns = process_cpu_ns() - thread_cpu_ns();
    now.wall_ns = now_ns();
    return now;
}

uint64_t backlog_of(const EngineRow &engine)
{
    if (engine.guard != Guard::rcu)
        return 0;
    struct rtrcu_stats stats {
    };
    stats.size = sizeof(stats);
    (void)rtrcu_stats(&stats);
    return stats.callbacks_backlog + (engine.layer_backlog != nullptr ? engine.layer_backlog() : 0);
}

uint64_t invoked_of(const EngineRow &engine, const Snapshot &now)
{
    // For a historical layer the library counts only the layer's carriers, so the layer's own count is used.
    return engine.layer_invoked != nullptr ? now.layer_invoked : now.library.callbacks_invoked;
}

// Returns true while the round continues.  A round in which entries were retired but no callback has run yet is
// extended by up to longest_wait_ns.
bool goes_on(Round &round, const Snapshot &begin)
{
    const int64_t past_ns = now_ns() - begin.wall_ns;
    if (past_ns < round.options.measure_ns)
        return true;
    if (round.engine.guard != Guard::rcu || past_ns > round.options.measure_ns + longest_wait_ns)
        return false;
    const Snapshot now = take_snapshot(round);
    return now.expired != begin.expired && invoked_of(round.engine, now) == invoked_of(round.engine, begin);
}

void watch(Round &round)
{
    pause_ns(round.options.warm_up_ns);
    round.profile.begin();
    const Snapshot begin = take_snapshot(round);
    while (goes_on(round, begin)) {
        pause_ns(backlog_interval_ns);
        round.profile.collect();
        round.result.backlog_max = std::max(round.result.backlog_max, backlog_of(round.engine));
    }
    const Snapshot end = take_snapshot(round);
    round.profile.end();
    RoundResult &result = round.result;
    result.wall_ns = end.wall_ns - begin.wall_ns;
    result.process_cpu_ns = end.process_cpu_ns - begin.process_cpu_ns;
    result.forwarder_cpu_ns = end.forwarder_cpu_ns - begin.forwarder_cpu_ns;
    result.packets = end.packets - begin.packets;
    result.hits = end.hits - begin.hits;
    result.misses = end.misses - begin.misses;
    result.expired = end.expired - begin.expired;
    result.callbacks = invoked_of(round.engine, end) - invoked_of(round.engine, begin);
    result.switches = end.switches - begin.switches;
    result.grace_periods = end.library.gp_completed - begin.library.gp_completed;
    result.over_qmax = end.library.over_qmax - begin.library.over_qmax;
}

void keep_waits(Round &round)
{
    RoundResult &result = round.result;
    for (const Forwarder &forwarder : round.forwarders)
        for (std::size_t i = 1; i < forwarder.waited_ns.size() && result.wait_count < waits_max; i++)
            result.waited_ns[result.wait_count++] = forwarder.waited_ns[i]; // the first wait began before the round
}

// Copies the samples by function to the result.  If not all functions fit, those with the most samples are kept.
void keep_functions(const std::map<std::pair<std::string, Work>, uint64_t> &ticks, RoundResult &result)
{
    std::vector<std::pair<uint64_t, std::pair<std::string, Work>>> order;
    for (const auto &[function, count] : ticks)
        order.emplace_back(count, function);
    std::sort(order.begin(), order.end(), std::greater<>());
    for (const auto &[count, function] : order) {
        if (result.function_count == functions_max)
            break;
        FunctionTicks &entry = result.functions[result.function_count++];
        std::snprintf(entry.name, sizeof(entry.name), "%s", function.first.c_str());
        entry.work = function.second;
        entry.ticks = count;
    }
}

// Stores the profile's samples by function.  Samples in the library's threads all count as RCU work.
void keep_profile(Round &round)
{
    RoundResult &result = round.result;
    const Symbols symbols;
    const auto own = static_cast<uint32_t>(gettid());
    std::unordered_map<uint64_t, Function> known;
    std::map<std::pair<std::string, Work>, uint64_t> ticks;
    for (const Sample &sample : round.profile.samples()) {
        if (sample.thread_id == own)
            continue;
        auto found = known.find(sample.address);
        if (found == known.end())
            found = known.emplace(sample.address, symbols.find(sample.address)).first;
        const bool forwards = std::any_of(round.forwarders.begin(), round.forwarders.end(),
                                          [&](const Forwarder &f) { return f.thread_id.load() == sample.thread_id; });
        ticks[{found->second.name, forwards ? found->second.work : Work::rcu}]++;
        result.samples++;
    }
    keep_functions(ticks, result);
    result.samples_lost = round.profile.lost();
    result.sample_period_ns = round.profile.period_ns();
    result.named = symbols.named();
    std::snprintf(result.profile_source, sizeof(result.profile_source), "%s", round.profile.source());
    result.sampled_all_threads = std::strcmp(round.profile.source(), "perf") == 0;
}

template <class Sync>
void run_traffic(Round &round, const RouteParameters &route, const PrefixTable &prefixes, Sync &sync)
{
    // The cache and the Sync are not freed: callbacks may still be pending, and the process exits after the round.
    auto *cache = new RouteCache<Sync>(prefixes, route.buckets, route.gc_threshold, sync);
    const std::size_t threads = round.forwarders.size();
    const std::vector<int> cpus = cpus_for(round.engine, round.options);
    const std::size_t destinations = route.destinations / threads;
    const std::size_t draws = std::min(destinations, route.gc_threshold) * draws_a_destination;
    for (std::size_t i = 0; i < threads; i++) {
        Forwarder &forwarder = round.forwarders[i];
        forwarder.waited_ns.reserve(waits_max);
        const int cpu = cpus[i % cpus.size()];
        PacketSource packets(prefixes, destinations, round.options.seed * 1000 + i);
        forwarder.thread = std::thread([&round, &forwarder, cache, draws, cpu, packets] {
            forwarder_body(*cache, packets, draws, cpu, round.engine, round.profile, round.traffic, forwarder);
        });
    }
    for (unsigned done = 0; done < threads; done = round.traffic.prefilled.load())
        round.traffic.prefilled.wait(done);
    round.traffic.phase = Phase::forward;
    round.traffic.phase.notify_all();
    watch(round);
    round.traffic.phase = Phase::stop;
    for (Forwarder &forwarder : round.forwarders)
        forwarder.thread.join();
}

void configure_library(const EngineRow &engine, const RoundOptions &options)
{
    PeerSettings settings = engine.settings;
    if (engine.keeps_cpu_free)
        settings.emplace_back("cpus", std::to_string(options.cpus.back()));
    settings.insert(settings.end(), options.settings.begin(), options.settings.end());
    std::string error;
    if (!rtrcu_peer.start(settings, error))
        throw std::runtime_error(error);
    // Create the driver's thread now: it inherits the CPUs of this thread, which may run on any CPU.
    (void)rcu_register_thread();
    rcu_unregister_thread();
}

} // namespace

const std::vector<Environment> &environment_table()
{
    static const std::vector<Environment> table = {
        {"rare", {65536, 65536 + 65536 / 64, 65536}, "the cache holds nearly every destination"},
        {"frequent", {4096, 4096, 65536}, "the cache holds 4,096 of 65,536 destinations"},
    };
    return table;
}

std::vector<int> cpus_for(const EngineRow &engine, const RoundOptions &options)
{
    std::vector<int> cpus = options.cpus;
    if (engine.keeps_cpu_free && cpus.size() > 1)
        cpus.pop_back();
    return cpus;
}

unsigned threads_for(const EngineRow &engine, const RoundOptions &options)
{
    if (!engine.keeps_cpu_free)
        return options.threads;
    return std::min(options.threads, static_cast<unsigned>(cpus_for(engine, options).size()));
}

void run_round(const EngineRow &engine, const RouteParameters &route, const PrefixTable &prefixes,
               const RoundOptions &options, RoundResult &result)
{
    // Keep freed memory in the process, so that brk() and madvise() are not measured.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
    (void)cycles_per_ns();
    // Open the profile before any thread is created, so that later threads inherit it.
    const std::unique_ptr<Profile> profile = open_profile(options.cpus, options.sample_period_ns, options.allow_perf);
    result.threads = threads_for(engine, options);
    auto *round = new Round{engine, options, *profile, {}, std::vector<Forwarder>(result.threads), result};
    switch (engine.guard) {
    case Guard::counted_chains:
        run_traffic(*round, route, prefixes, *new CountedChainSync(route.buckets));
        break;
    case Guard::one_lock:
        run_traffic(*round, route, prefixes, *new OneLockSync(route.buckets));
        break;
    case Guard::chain_locks:
        run_traffic(*round, route, prefixes, *new ChainLockSync(route.buckets));
        break;
    case Guard::rcu:
        configure_library(engine, options);
        run_traffic(*round, route, prefixes, *new RcuSync(route.buckets, engine.retire_entry));
        break;
    }
    keep_waits(*round);
    keep_profile(*round);
}

bool run_round_in_child(const EngineRow &engine, const RouteParameters &route, const PrefixTable &prefixes,
                        const RoundOptions &options, RoundResult &result, std::string &error)
{
    int64_t allowed_ns = 4 * (options.warm_up_ns + options.measure_ns) + 20'000'000'000;
    if (options.end_ns != 0)
        allowed_ns = std::min(allowed_ns, options.end_ns - now_ns());
    return run_in_child([&] { run_round(engine, route, prefixes, options, result); }, allowed_ns, error);
}

} // namespace lab::overhead
