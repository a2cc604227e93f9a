// SPDX-License-Identifier: MIT OR Apache-2.0
// The strategy `few`: a few switches at random steps.  Between them a thread runs on, and buffered stores drain slowly
// or quickly, as drawn for each buffer.
// Some faults need two threads stopped at one step each, with long runs between.  With random switches at every step
// they are out of reach.  Here the chance is one in the square of the schedule's length.
#include <algorithm>
#include <array>
#include <random>

#include "machine/clock.h"
#include "strategy/strategies.h"

namespace explore
{

namespace
{

class Few : public sim::Strategy
{
  public:
    explicit Few(uint64_t seed) : seed_(seed)
    {
    }

    void begin() override
    {
        static constexpr double leaves[] = {0, 0.01, 0.1, 1};
        engine_.seed(seed_ + schedule_++);
        switches_.clear();
        for (uint64_t i = 0, count = 1 + engine_() % 4; i < count; i++)
            switches_.push_back(engine_() % longest_);
        for (double &chance : drains_)
            chance = leaves[engine_() % 4];
        step_ = 0;
        yields_ = false;
    }

    int choose(const sim::Decision &decision) override
    {
        bool now = std::find(switches_.begin(), switches_.end(), step_++) != switches_.end();
        if (decision.actions[0].kind == sim::ActionKind::kOutcome)
            return static_cast<int>(engine_() % decision.actions.size());
        if (int drain = any_drain(decision); drain >= 0)
            return drain;
        bool goes_on = decision.current_runs && !now && !yields_;
        yields_ = false;
        return goes_on ? 0 : anybody(decision);
    }

    void yielded(int) override
    {
        yields_ = true;
    }

    bool end(uint64_t) override
    {
        longest_ = std::max(longest_, step_ + 1);
        return true;
    }

  private:
    bool chance(double of)
    {
        return std::uniform_real_distribution<double>(0, 1)(engine_) < of;
    }

    int any_drain(const sim::Decision &decision)
    {
        for (size_t i = 0; i < decision.actions.size(); i++) {
            const sim::Action &action = decision.actions[i];
            if (action.kind == sim::ActionKind::kDrain && chance(drains_[action.thread]))
                return static_cast<int>(i);
        }
        return -1;
    }

    // Choose an action of a thread other than the running one.  A store drains only if no other action is possible.
    int anybody(const sim::Decision &decision)
    {
        others_.clear();
        for (size_t i = decision.current_runs ? 1 : 0; i < decision.actions.size(); i++) {
            if (decision.actions[i].kind != sim::ActionKind::kDrain)
                others_.push_back(static_cast<int>(i));
        }
        if (others_.empty())
            return decision.current_runs ? 0 : static_cast<int>(engine_() % decision.actions.size());
        return others_[engine_() % others_.size()];
    }

    uint64_t seed_, schedule_ = 0, step_ = 0, longest_ = 50;
    std::mt19937_64 engine_;
    std::array<double, sim::kMaxThreads> drains_{};
    std::vector<uint64_t> switches_;
    std::vector<int> others_;
    bool yields_ = false;
};

} // namespace

std::unique_ptr<sim::Strategy> make_few(uint64_t seed)
{
    return std::make_unique<Few>(seed);
}

} // namespace explore
