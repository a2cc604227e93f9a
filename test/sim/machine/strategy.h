// SPDX-License-Identifier: MIT OR Apache-2.0
// The interface of scheduling strategies: the choices they are offered, and their decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sim
{

enum class ActionKind : uint8_t {
    kRun,     // this thread makes its next access
    kDrain,   // store number `index` of this thread's buffer reaches memory
    kSignal,  // this thread's pending signal handler begins
    kEvent,   // event number `index` of the scenario happens
    kTimeout, // this thread's timed wait ends although other threads could continue
    kOutcome, // this thread's request to the machine has outcome number `index`
};

struct Action {
    ActionKind kind;
    uint8_t thread;
    uint8_t index;
};

struct Decision {
    std::span<const Action> actions; // at least two; the running thread's own is first, if it can continue
    bool current_runs;
    uint64_t state; // hash of the whole state, if the strategy requests it
};

class Strategy
{
  public:
    virtual ~Strategy() = default;
    virtual bool wants_state() const
    {
        return false;
    }
    // A schedule begins.
    virtual void begin()
    {
    }
    // Returns the action to take; -1: stop exploring this schedule.
    virtual int choose(const Decision &decision) = 0;
    // The running thread reports that it only waits for others.
    virtual void yielded(int thread)
    {
        (void)thread;
    }
    // The schedule is over.  Returns false if nothing is left to explore.
    virtual bool end(uint64_t steps)
    {
        (void)steps;
        return true;
    }
};

} // namespace sim
