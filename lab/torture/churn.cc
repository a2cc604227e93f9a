// SPDX-License-Identifier: MIT OR Apache-2.0
// Churn: threads that start, read, queue callbacks, and exit before these callbacks run. Some unregister before they
// exit, and destructors of their thread-specific data read and queue once more.
#include <pthread.h>

#include <thread>

#include "measure/clock.h"
#include "torture/actors.h"
#include "torture/section.h"

namespace lab::torture
{
namespace
{

constexpr int destructor_rounds = 3;

// Thread-specific data whose destructor runs when a short-lived thread exits.  `rounds`: how often the destructor is
// still to run.
struct Farewell {
    Context *context;
    ActorRecord *record;
    uint64_t seed;
    int rounds;
};

pthread_key_t farewell_key;

void say_farewell(void *memory)
{
    auto *farewell = static_cast<Farewell *>(memory);
    Random random(farewell->seed, "farewell", static_cast<uint64_t>(farewell->rounds));
    Reader reader{*farewell->context, *farewell->record, random, seats_max, false, false};
    SectionRun(reader).run();
    if (random.one_in(2))
        farewell->context->pool.queue_one(random.below(4096), Way::call);
    if (--farewell->rounds > 0)
        pthread_setspecific(farewell_key, farewell);
    else
        delete farewell;
}

// Registers the thread in a random way, or not at all.
unsigned int register_somehow(Random &random)
{
    const unsigned int flags = random.one_in(4) ? static_cast<unsigned int>(random.below(4)) : 0;
    if (flags != 0 || random.one_in(2))
        rtrcu_register_thread(flags);
    return flags;
}

void live_shortly(Context &context, ActorRecord &record, uint64_t seed)
{
    Random random(seed, "short-lived", 0);
    if (random.one_in(2))
        pthread_setspecific(farewell_key, new Farewell{&context, &record, seed,
                                                       1 + static_cast<int>(random.below(4)) % destructor_rounds});
    const unsigned int flags = register_somehow(random);
    const bool qsbr = (flags & RTRCU_QSBR) != 0;
    Reader reader{context, record, random, seats_max, qsbr, false};
    SectionRun section(reader);
    for (int64_t i = random.between(0, 6); i > 0; i--) {
        section.run();
        rcu_quiescent_state();
    }
    for (int64_t i = random.between(0, 4); i > 0; i--)
        context.pool.queue_one(random.below(4096), random.one_in(8) ? Way::call_hurry : Way::call);
    if (random.one_in(3))
        context.flavour.free_memory(context.heap.replace(random.below(4096)));
    HeapNode *old = random.one_in(4) ? context.heap.replace(random.below(4096)) : nullptr;
    if (old && !context.heap.retire(old))
        context.flavour.free_memory(old);
    if (random.one_in(8) && !(flags & RTRCU_DEADLINE))
        context.flavour.synchronize();
    record.beats.fetch_add(1, std::memory_order_relaxed);
    if (random.one_in(2))
        rcu_unregister_thread();
}

void churn(Actor &actor)
{
    Context &context = actor.context;
    while (actor.keep_going()) {
        std::vector<std::thread> threads;
        const int64_t most = context.scenario.churn_threads;
        for (int64_t i = actor.random.one_in(4) ? most : actor.random.between(1, most); i > 0; i--) {
            const uint64_t seed = actor.random.below(~UINT64_C(0));
            threads.emplace_back([&context, &actor, seed] { live_shortly(context, actor.record, seed); });
        }
        While joining(actor, Doing::joining);
        for (std::thread &thread : threads)
            thread.join();
        actor.rest(actor.random.one_in(16) ? 20'000 : 1000);
    }
}

} // namespace

void add_churn(Cast &cast, const Scenario &scenario)
{
    if (scenario.churn > 0)
        pthread_key_create(&farewell_key, say_farewell);
    for (int64_t i = 0; i < scenario.churn; i++)
        cast.add("churn", static_cast<uint64_t>(i), churn);
}

} // namespace lab::torture
