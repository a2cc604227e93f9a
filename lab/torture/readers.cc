// SPDX-License-Identifier: MIT OR Apache-2.0
// Readers: preemptible threads in three states of registration, quiescent-state threads, deadline threads; and the
// signal
// handlers that run on all of them.
#include <csignal>

#include "measure/clock.h"
#include "torture/actors.h"
#include "torture/section.h"

namespace lab::torture
{
namespace
{

// The data that the signal handler needs about the thread on which it runs.
struct HandlerSide {
    Actor *actor;
    Random random;
    uint32_t seat;
    bool may_call;
};
thread_local HandlerSide *handler_side = nullptr;

void on_signal(int)
{
    const int saved = errno;
    if (HandlerSide *side = handler_side) {
        Context &context = side->actor->context;
        Reader reader{context, side->actor->record, side->random, side->seat, false, true};
        SectionRun(reader).run();
        if (side->may_call && side->random.one_in(4))
            context.pool.queue_one(side->random.below(4096), side->random.one_in(8) ? Way::call_try : Way::call);
    }
    errno = saved;
}

enum class Registration { explicitly, at_first_use, now_and_then };

void process_now_and_then(Actor &actor)
{
    if (!actor.random.one_in(64))
        return;
    While processing(actor, Doing::processing);
    rcu_process_callbacks(actor.random.one_in(4) ? -1 : 0);
}

void preemptible(Actor &actor)
{
    const auto registration = static_cast<Registration>(actor.index % 3);
    if (registration == Registration::explicitly)
        rtrcu_register_thread(0);
    ReadsInHandler handler(actor, registration == Registration::explicitly);
    Reader reader{actor.context, actor.record, actor.random, actor.context.heap.take_seat(), false, false};
    SectionRun section(reader);
    actor.set(Doing::reading);
    while (actor.keep_going()) {
        section.run();
        process_now_and_then(actor);
        if (registration == Registration::now_and_then && actor.random.one_in(50))
            rcu_unregister_thread();
        if (actor.random.one_in(100))
            actor.context.pool.queue_one(actor.random.below(4096), Way::call);
        if (actor.random.one_in(200))
            actor.rest(200);
    }
}

// Randomly passes a quiescent state, goes offline for a while, or waits for a grace period, outside any section.
void say_quiescent(Actor &actor)
{
    const uint64_t dice = actor.random.below(200);
    if (dice == 0 || actor.should_pause()) {
        rcu_thread_offline();
        if (dice == 0)
            actor.rest(2000);
        actor.keep_going(); // called offline, since keep_going() may pause
        rcu_thread_online();
    } else if (dice == 1) {
        While waiting(actor, Doing::synchronize);
        actor.context.flavour.synchronize();
    } else if (dice < 6) {
        process_now_and_then(actor);
        rcu_quiescent_state();
    } else {
        rcu_quiescent_state();
    }
}

void quiescent_state(Actor &actor)
{
    rtrcu_register_thread(RTRCU_QSBR);
    actor.set(Doing::reading);
    {
        ReadsInHandler handler(actor, true); // destroyed before the thread is unregistered
        Reader reader{actor.context, actor.record, actor.random, actor.context.heap.take_seat(), true, false};
        SectionRun section(reader);
        while (!actor.context.stopping.load(std::memory_order_relaxed)) {
            actor.record.beats.fetch_add(1, std::memory_order_relaxed);
            for (int64_t i = actor.random.between(1, 5); i > 0; i--)
                section.run();
            say_quiescent(actor);
        }
    }
    rcu_unregister_thread();
}

void deadline(Actor &actor)
{
    const bool qsbr = actor.index % 2 == 0;
    rtrcu_register_thread(RTRCU_DEADLINE | (qsbr ? RTRCU_QSBR : 0));
    ReadsInHandler handler(actor, true);
    Reader reader{actor.context, actor.record, actor.random, actor.context.heap.take_seat(), qsbr, false};
    SectionRun section(reader);
    actor.set(Doing::reading);
    for (;;) {
        rcu_set_deadline(now_ns() + actor.random.between(-100'000, 2'000'000));
        for (int64_t i = actor.random.between(1, 5); i > 0; i--)
            section.run();
        for (int64_t i = actor.random.between(0, 3); i > 0; i--)
            actor.context.pool.queue_one(actor.random.below(4096),
                                         actor.random.one_in(8) ? Way::call_hurry : Way::call);
        rcu_quiescent_state();
        rcu_process_callbacks(0);
        rcu_thread_offline();
        if (actor.random.one_in(4))
            actor.rest(1000);
        const bool more = actor.keep_going();
        rcu_thread_online();
        if (!more)
            break;
    }
}

} // namespace

ReadsInHandler::ReadsInHandler(Actor &actor, bool may_call)
{
    handler_side = new HandlerSide{&actor, Random(actor.context.seed, "handler", actor.index),
                                   actor.context.heap.take_seat(), may_call};
    actor.takes_signals.store(true);
}

ReadsInHandler::~ReadsInHandler()
{
    HandlerSide *side = handler_side;
    handler_side = nullptr;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    delete side;
}

void install_handler()
{
    struct sigaction action {
    };
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(disturbing_signal, &action, nullptr);
}

void add_readers(Cast &cast, const Scenario &scenario)
{
    for (int64_t i = 0; i < scenario.readers; i++)
        cast.add("reader", static_cast<uint64_t>(i), preemptible);
    for (int64_t i = 0; i < scenario.readers_qsbr; i++)
        cast.add("qsbr", static_cast<uint64_t>(i), quiescent_state);
    for (int64_t i = 0; i < scenario.readers_deadline; i++)
        cast.add("deadline", static_cast<uint64_t>(i), deadline);
}

} // namespace lab::torture
