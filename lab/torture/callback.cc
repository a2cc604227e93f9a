// SPDX-License-Identifier: MIT OR Apache-2.0
// Queueing and checking callbacks.
#include "torture/callback.h"

#include "torture/context.h"

namespace lab::torture
{
namespace
{

// The callback function of every traced head.
void on_callback(rcu_head *head)
{
    auto *traced = reinterpret_cast<TracedHead *>(head);
    Context &context = *traced->context;
    CallbackState before = traced->state.exchange(CallbackState::running);
    if (before != CallbackState::queued)
        context.findings.report(Check::twice, "a callback ran in state {}, not in the state of a queued callback",
                                static_cast<uint32_t>(before));
    if (!context.flavour.poll(traced->cookie))
        context.findings.report(Check::early, "a callback ran before its cookie {} was complete; a new cookie is {}",
                                traced->cookie, context.flavour.get_state());
    context.callbacks_invoked.fetch_add(1, std::memory_order_relaxed);
    if (traced->run(traced) == After::idle)
        traced->state.store(CallbackState::idle, std::memory_order_release);
}

} // namespace

bool queue_traced(Context &context, TracedHead &traced, Way way, After (*run)(TracedHead *traced))
{
    const Flavour &flavour = context.flavour;
    traced.context = &context;
    traced.run = run;
    traced.cookie = flavour.get_state();
    traced.state.store(CallbackState::queued);
    context.callbacks_queued.fetch_add(1, std::memory_order_relaxed);
    if (way == Way::call_hurry) {
        flavour.call_hurry(&traced.head, on_callback);
    } else if (way != Way::call_try) {
        flavour.call(&traced.head, on_callback);
    } else if (flavour.call_try(&traced.head, on_callback) != 0) {
        context.callbacks_queued.fetch_sub(1, std::memory_order_relaxed);
        traced.state.store(CallbackState::idle);
        return false;
    }
    return true;
}

CallbackPool::CallbackPool(Context &context) : context_(context), callbacks_(size)
{
}

void CallbackPool::queue_one(uint64_t hint, Way way)
{
    constexpr std::size_t tries = 32;
    for (std::size_t i = 0; i < tries; i++) {
        TracedHead &traced = callbacks_[(hint + i) % size];
        CallbackState idle = CallbackState::idle;
        if (traced.state.compare_exchange_strong(idle, CallbackState::taken)) {
            queue_traced(context_, traced, way, [](TracedHead *) { return After::idle; });
            return;
        }
    }
}

} // namespace lab::torture
