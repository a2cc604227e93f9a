// SPDX-License-Identifier: MIT OR Apache-2.0
// The strategy `pct`: priorities with a few change points.
#include <algorithm>
#include <array>
#include <random>

#include "machine/clock.h"
#include "strategy/strategies.h"

namespace explore
{

namespace
{

// Actors with a priority: threads, their buffers, their signals and timeouts, the scenario's events, and outcomes.
constexpr int kActors = 6 * sim::kMaxThreads;

int actor_of(const sim::Action &action)
{
    int kind = static_cast<int>(action.kind);
    bool numbered = action.kind == sim::ActionKind::kEvent || action.kind == sim::ActionKind::kOutcome;
    int number = numbered ? action.index : action.thread;
    return kind * sim::kMaxThreads + number % sim::kMaxThreads;
}

class Pct : public sim::Strategy
{
  public:
    Pct(uint64_t seed, int depth) : seed_(seed), depth_(depth)
    {
    }

    void begin() override
    {
        engine_.seed(seed_ + schedule_++);
        for (int i = 0; i < kActors; i++)
            priority_[i] = depth_ + i;
        std::shuffle(priority_.begin(), priority_.end(), engine_);
        changes_.clear();
        for (int i = 1; i < depth_; i++)
            changes_.push_back(engine_() % (longest_ + 1));
        step_ = 0;
        lowest_ = depth_;
    }

    int choose(const sim::Decision &decision) override
    {
        size_t best = highest(decision);
        if (std::find(changes_.begin(), changes_.end(), step_++) != changes_.end()) {
            priority_[actor_of(decision.actions[best])] = --lowest_;
            best = highest(decision);
        }
        return static_cast<int>(best);
    }

    // A thread that only waits gets the lowest priority; otherwise the schedule would never end.
    void yielded(int thread) override
    {
        priority_[thread] = --lowest_;
    }

    bool end(uint64_t) override
    {
        longest_ = std::max(longest_, step_);
        return true;
    }

  private:
    size_t highest(const sim::Decision &decision) const
    {
        size_t best = 0;
        for (size_t i = 1; i < decision.actions.size(); i++) {
            if (priority_[actor_of(decision.actions[i])] > priority_[actor_of(decision.actions[best])])
                best = i;
        }
        return best;
    }

    uint64_t seed_, schedule_ = 0, step_ = 0, longest_ = 50;
    int depth_, lowest_ = 0;
    std::mt19937_64 engine_;
    std::array<int, kActors> priority_{};
    std::vector<uint64_t> changes_;
};

} // namespace

std::unique_ptr<sim::Strategy> make_pct(uint64_t seed, int depth)
{
    return std::make_unique<Pct>(seed, depth);
}

} // namespace explore
