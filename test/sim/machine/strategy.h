// SPDX-License-Identifier: MIT OR Apache-2.0
// What a scheduling strategy is asked, and what it answers.
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
    kTimeout, // this thread's timed wait ends although others could go on
    kOutcome, // what this thread has asked of the machine turns out in way number `index`
};

struct Action {
    ActionKind kind;
    uint8_t thread;
    uint8_t index;
};

struct Decision {
    std::span<const Action> actions; // at least two; the running thread's own comes first, if it can go on
    bool current_runs;
    uint64_t state; // hash of the whole state, if the strategy wants it
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
    // The action to take; -1: this schedule is of no more interest.
    virtual int choose(const Decision &decision) = 0;
    // The running thread says that it only waits for others.
    virtual void yielded(int thread)
    {
        (void)thread;
    }
    // The schedule is over.  False: nothing is left to explore.
    virtual bool end(uint64_t steps)
    {
        (void)steps;
        return true;
    }
};

} // namespace sim
