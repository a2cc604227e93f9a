// SPDX-License-Identifier: MIT OR Apache-2.0
// Callbacks that check themselves: each runs once for each time it was queued, and not before its grace period.
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

// What a callback leaves behind: its head, for others to take, or nothing (freed, or queued again).
enum class After { idle, gone };

// A head with what its checks need.  Begins with the head, so that the one is found from the other.
struct TracedHead {
    rcu_head head;
    std::atomic<CallbackState> state;
    unsigned long cookie; // of a grace period that began before the call; it has ended when the callback runs
    Context *context;
    After (*run)(TracedHead *traced);
};

// Queue it: `way` is call, call_hurry or call_try.  False if call_try refused; it is idle then.
bool queue_traced(Context &context, TracedHead &traced, Way way, After (*run)(TracedHead *traced));

// A stock of callbacks without a purpose but to be counted; async-signal-safe.
class CallbackPool
{
  public:
    explicit CallbackPool(Context &context);
    // Queue one of them, if one is idle.  `hint`: where to look first.
    void queue_one(uint64_t hint, Way way);

  private:
    static constexpr std::size_t size = 4096;
    Context &context_;
    std::vector<TracedHead> callbacks_;
};

} // namespace lab::torture
