// SPDX-License-Identifier: MIT OR Apache-2.0
// Litmus pairs: one reader and one updater that run as close together as possible, to find faults that last for
// nanoseconds only.
//
// The reader writes to cache lines that the updater owns, and then enters its section. Its stores wait for the lines in
// the processor's store buffer, and the store of "inside" waits for them, while the loads of the section are
// executed
// early.  If either side lacks its fence, the updater sees no reader inside, and frees an object that the reader
// uses.
#include "machine/realtime.h"
#include "measure/clock.h"
#include "torture/actors.h"
#include "torture/section.h"

namespace lab::torture
{
namespace
{

constexpr std::size_t lines = 48;
constexpr std::size_t ring = 64;

struct alignas(64) Line {
    std::atomic<uint64_t> word;
};

struct alignas(64) Node {
    std::atomic<uint32_t> dead; // 1: a grace period has ended since the node was replaced
};

struct Pair {
    alignas(64) Node *current = nullptr;
    std::array<Line, lines> dirty{};
    std::array<Node, ring> nodes{};
    std::atomic<uint32_t> readers_gone{0};
};

// Binds the thread to a CPU; the two threads of a pair get different CPUs if there are two.
void settle(uint64_t which)
{
    const std::vector<int> cpus = cpus_allowed();
    pin_to_cpus({cpus[which % cpus.size()]});
}

inline void make_dirty(Pair &pair, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        pair.dirty[i].word.store(i, std::memory_order_relaxed);
}

inline void enter(bool by_going_online)
{
    if (by_going_online)
        rcu_thread_online();
    else
        rcu_read_lock();
}

inline void leave(bool by_going_online)
{
    if (by_going_online)
        rcu_thread_offline();
    else
        rcu_read_unlock();
}

// The reader of a pair: enters a section directly after writes to shared lines, so that the section's store is delayed,
// and checks that the node is not retired before the section ends.
void read_litmus(Actor &actor, Pair &pair, bool online)
{
    settle(2 * actor.index);
    rtrcu_register_thread(online ? RTRCU_QSBR : 0);
    if (online)
        rcu_thread_offline();
    actor.set(Doing::reading);
    while (actor.keep_going()) {
        for (int i = 0; i < 256; i++) {
            const uint64_t count = actor.random.below(lines);
            const uint64_t looks = actor.random.between(1, 40);
            make_dirty(pair, count);
            enter(online);
            const Node *node = rcu_dereference(pair.current);
            uint32_t dead = 0;
            for (uint64_t look = 0; look < looks && !dead; look++) {
                rtrcu_cpu_relax();
                dead = node->dead.load(std::memory_order_relaxed);
            }
            leave(online);
            if (dead)
                actor.context.findings.report(Check::litmus, "{}: {} dirty lines before the section, {} looks at most",
                                              actor.record.name.data(), count, looks);
        }
        actor.record.reads.fetch_add(256, std::memory_order_relaxed);
    }
    rcu_unregister_thread();
    pair.readers_gone.store(1);
}

void update_litmus(Actor &actor, Pair &pair)
{
    settle(2 * actor.index + 1);
    uint64_t at = 0;
    actor.set(Doing::synchronize);
    while (actor.keep_going() || !pair.readers_gone.load()) {
        make_dirty(pair, lines);
        Node &fresh = pair.nodes[++at % ring];
        fresh.dead.store(0, std::memory_order_relaxed);
        Node *old = rcu_xchg_pointer(&pair.current, &fresh);
        actor.context.flavour.synchronize();
        old->dead.store(1, std::memory_order_relaxed);
        actor.count_update();
        for (uint64_t i = actor.random.below(200); i > 0; i--)
            rtrcu_cpu_relax();
    }
}

} // namespace

void add_litmus(Cast &cast, const Scenario &scenario)
{
    for (int64_t i = 0; i < scenario.litmus; i++) {
        auto pair = std::make_shared<Pair>();
        pair->current = &pair->nodes[0];
        cast.keep(pair);
        const bool online = i < scenario.litmus_online;
        cast.add("litmus-read", static_cast<uint64_t>(i),
                 [pair, online](Actor &actor) { read_litmus(actor, *pair, online); });
        cast.add("litmus-write", static_cast<uint64_t>(i), [pair](Actor &actor) { update_litmus(actor, *pair); });
    }
}

} // namespace lab::torture
