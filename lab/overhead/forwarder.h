// SPDX-License-Identifier: MIT OR Apache-2.0
// A forwarding thread: looks packets up in the route cache in batches, with a quiescent state after each batch.
#pragma once

#include <pthread.h>
#include <rtrcu/rcu.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "machine/realtime.h"
#include "measure/clock.h"
#include "overhead/engine.h"
#include "overhead/profile.h"
#include "overhead/round.h"
#include "workload/packets.h"
#include "workload/route_cache.h"

namespace lab::overhead
{

constexpr unsigned packets_a_batch = 64; // the number that a network driver passes on in one poll
constexpr unsigned draws_a_destination = 8;
// Ages of cache entries are in units of 2^age_shift cycles, a few microseconds, because the small cache replaces its
// entries within milliseconds.
constexpr unsigned age_shift = 14;
constexpr int64_t probe_interval_ns = 4'000'000;

enum class Phase { prefill, forward, stop };

// Data that the threads of a round share.
struct Traffic {
    std::atomic<Phase> phase{Phase::prefill};
    std::atomic<unsigned> prefilled{0};
};

// The results of a forwarding thread.  Only that thread writes them; the main thread reads them and accepts old values.
struct alignas(64) Forwarder {
    std::thread thread;
    std::atomic<uint32_t> thread_id{0};
    std::atomic<uint64_t> packets{0}, hits{0}, misses{0}, expired{0};
    std::vector<uint64_t> waited_ns; // read after the thread has ended
    GpProbe probe{};
    uint64_t probe_waited_ns = 1;
};

// Corresponds to ip_route_output_key in the document's profiles: the lookup, with the locks that it takes.
template <class Sync>
[[gnu::noinline]] int route_packet(RouteCache<Sync> &cache, uint32_t destination, uint32_t now,
                                   RouteStatistics &statistics)
{
    return cache.route(destination, now, statistics);
}

// Keeps one callback queued that measures its own wait: once it has run, its wait is recorded and it is queued again.
inline void keep_probing(Forwarder &forwarder, const EngineRow &engine)
{
    const uint64_t waited = rtrcu_load_acquire(&forwarder.probe_waited_ns);
    if (waited == 0)
        return;
    if (forwarder.waited_ns.size() < forwarder.waited_ns.capacity())
        forwarder.waited_ns.push_back(waited);
    forwarder.probe_waited_ns = 0;
    forwarder.probe.waited_ns = &forwarder.probe_waited_ns;
    forwarder.probe.queued_ns = now_ns();
    engine.retire_probe(&forwarder.probe.head);
}

inline void publish(Forwarder &forwarder, const PacketSource &packets, const RouteStatistics &statistics)
{
    forwarder.packets.store(packets.count(), std::memory_order_relaxed);
    forwarder.hits.store(statistics.hits, std::memory_order_relaxed);
    forwarder.misses.store(statistics.misses, std::memory_order_relaxed);
    forwarder.expired.store(statistics.expired, std::memory_order_relaxed);
}

template <class Sync>
void forward(RouteCache<Sync> &cache, PacketSource &packets, const EngineRow &engine, Traffic &traffic,
             Forwarder &forwarder)
{
    const bool rcu = engine.guard == Guard::rcu;
    const auto probe_cycles = static_cast<uint64_t>(static_cast<double>(probe_interval_ns) * cycles_per_ns());
    uint64_t probe_due = cycles_now();
    RouteStatistics statistics;
    while (traffic.phase.load(std::memory_order_relaxed) != Phase::stop) {
        const uint64_t cycles = cycles_now();
        for (unsigned i = 0; i < packets_a_batch; i++)
            (void)route_packet(cache, packets.next(), static_cast<uint32_t>(cycles >> age_shift), statistics);
        publish(forwarder, packets, statistics);
        if (!rcu)
            continue;
        rcu_quiescent_state();
        if (cycles >= probe_due) {
            probe_due = cycles + probe_cycles;
            keep_probing(forwarder, engine);
        }
    }
}

// Looks up `draws` destinations, which fills the cache before the measurement.
template <class Sync> void prefill(RouteCache<Sync> &cache, PacketSource &packets, std::size_t draws, bool rcu)
{
    RouteStatistics statistics;
    for (std::size_t i = 0; i < draws; i++) {
        (void)route_packet(cache, packets.next(), static_cast<uint32_t>(cycles_now() >> age_shift), statistics);
        for (unsigned skip = 1; skip < PacketSource::packets_a_destination; skip++)
            (void)packets.next();
        if (rcu && i % packets_a_batch == 0)
            rcu_quiescent_state();
    }
}

template <class Sync>
void forwarder_body(RouteCache<Sync> &cache, PacketSource packets, std::size_t draws, int cpu, const EngineRow &engine,
                    Profile &profile, Traffic &traffic, Forwarder &forwarder)
{
    pin_to_cpus({cpu});
    const bool rcu = engine.guard == Guard::rcu;
    if (rcu)
        (void)rcu_register_thread_qsbr();
    forwarder.thread_id = static_cast<uint32_t>(gettid());
    prefill(cache, packets, draws, rcu);
    if (rcu)
        rcu_thread_offline();
    traffic.prefilled.fetch_add(1);
    traffic.prefilled.notify_one();
    traffic.phase.wait(Phase::prefill);
    if (rcu)
        rcu_thread_online();
    profile.thread_begins();
    forward(cache, packets, engine, traffic, forwarder);
    profile.thread_ends();
    if (rcu)
        rcu_unregister_thread();
}

} // namespace lab::overhead
