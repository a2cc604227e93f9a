// SPDX-License-Identifier: MIT OR Apache-2.0
// Callbacks that check themselves: each runs once for each call that queued it, and not before its grace period has
// ended.
#pragma once

#include <rtrcu/rcu.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "torture/scenario.h"

namespace lab::torture
{

struct Context;

enum class CallbackState : uint32_t { idle, taken, queued, running };

// The state of a head after its callback.  idle: the head may be used again; gone: it was freed or queued again, and
// must not be accessed.
enum class After { idle, gone };

// An rcu_head with the data for its checks.  The rcu_head is the first member, so a callback finds the TracedHead.
struct TracedHead {
    rcu_head head;
    std::atomic<CallbackState> state;
    unsigned long cookie; // a cookie taken when the head was queued; it must be complete when the callback runs
    Context *context;
    After (*run)(TracedHead *traced);
};

// Queues the head; `way` is call, call_hurry or call_try.  Returns false if call_try was refused; then the head is
// idle.
bool queue_traced(Context &context, TracedHead &traced, Way way, After (*run)(TracedHead *traced));

// A pool of callbacks that only count their calls.  Signal handlers may use the pool.
class CallbackPool
{
  public:
    explicit CallbackPool(Context &context);
    // Queues an idle callback of the pool, if any is idle.  `hint`: the index at which the search begins.
    void queue_one(uint64_t hint, Way way);

  private:
    static constexpr std::size_t size = 4096;
    Context &context_;
    std::vector<TracedHead> callbacks_;
};

} // namespace lab::torture
