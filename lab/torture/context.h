// SPDX-License-Identifier: MIT OR Apache-2.0
// Data that all actors of a scenario share, and the actor itself.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "torture/callback.h"
#include "torture/findings.h"
#include "torture/flavour.h"
#include "torture/heap.h"
#include "torture/pipeline.h"
#include "torture/random.h"
#include "torture/scenario.h"
#include "torture/table.h"

namespace lab::torture
{

struct Context {
    Context(const Scenario &scenario, uint64_t seed, SharedResult &shared, int64_t patience_ns);

    const Scenario &scenario;
    const uint64_t seed;
    SharedResult &shared;
    const int64_t patience_ns; // a wait that takes longer is an error
    const Flavour &flavour;
    const bool kinds_are_mixed; // settings may replace normal waits by expedited waits, or expedited by normal waits
    Findings findings;
    Pipeline pipeline;
    Heap heap;
    CallbackPool pool;
    Table table;
    std::atomic<bool> stopping{false};
    std::atomic<uint32_t> stuttering{0}; // 1: all actors must pause now
    std::atomic<uint32_t> stutters{0};   // the number of times that all actors have paused
    std::atomic<uint32_t> gaps{0};       // the number of times that the whole process was found stopped
    std::atomic<uint32_t> late_waits{0}; // grace periods that ended too late
    bool forked = false;                 // true in a forked child, in which the parent's readers do not exist
    // These counts are in private memory, so that a forked child counts its own callbacks.
    std::atomic<uint64_t> callbacks_queued{0};
    std::atomic<uint64_t> callbacks_invoked{0};
};

// One thread of the scenario.  Its record is in shared memory; the rest is private.
class Actor
{
  public:
    Actor(Context &context, const std::string &name, uint64_t index);

    // Reports progress, and pauses while all actors must pause.  Returns false once the scenario ends.
    bool keep_going();
    bool should_pause() const
    {
        return context.stuttering.load(std::memory_order_relaxed) != 0;
    }
    void rest(int64_t at_most_us); // sleeps for a random time, at most `at_most_us`
    void set(Doing doing)
    {
        record.doing.store(static_cast<uint32_t>(doing), std::memory_order_relaxed);
    }
    void count_update()
    {
        record.updates.fetch_add(1, std::memory_order_relaxed);
    }

    Context &context;
    const uint64_t index;
    Random random;
    ActorRecord &record;
    std::atomic<bool> takes_signals{false};
};

// Sets the present action of an actor while this object exists; its end restores the former action.
class While
{
  public:
    While(Actor &actor, Doing doing) : actor_(actor), before_(static_cast<Doing>(actor.record.doing.load()))
    {
        actor.set(doing);
    }
    ~While()
    {
        actor_.set(before_);
    }
    While(const While &) = delete;
    While &operator=(const While &) = delete;

  private:
    Actor &actor_;
    Doing before_;
};

using Body = std::function<void(Actor &)>;

// The actors of a scenario.  All Actor objects are created before the first thread starts.
class Cast
{
  public:
    explicit Cast(Context &context) : context_(context)
    {
    }
    ~Cast();
    void add(const std::string &name, uint64_t index, Body body);
    void keep(std::shared_ptr<void> thing) // keeps the object until the actors have ended
    {
        kept_.push_back(std::move(thing));
    }
    void start();
    void join();
    std::size_t size() const
    {
        return actors_.size();
    }
    // Returns all actors, for the disturbers that move them to other CPUs or send them signals.
    const std::vector<std::unique_ptr<Actor>> &actors() const
    {
        return actors_;
    }

  private:
    Context &context_;
    std::vector<std::unique_ptr<Actor>> actors_;
    std::vector<Body> bodies_;
    std::vector<std::shared_ptr<void>> kept_;
    std::vector<std::thread> threads_;
};

// Polls a condition until it holds, or `context.patience_ns` has passed.  Returns true if the condition held.
bool wait_until(Actor &actor, const std::function<bool()> &holds);

} // namespace lab::torture
