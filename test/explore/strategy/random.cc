// SPDX-License-Identifier: MIT OR Apache-2.0
// The strategy `random`: random schedules, each with weights of its own.
#include <array>
#include <random>

#include "machine/clock.h"
#include "strategy/strategies.h"

namespace explore
{

namespace
{

class Random : public sim::Strategy
{
  public:
    explicit Random(uint64_t seed) : seed_(seed)
    {
    }

    void begin() override
    {
        engine_.seed(seed_ + schedule_++);
        static constexpr double of_thread[] = {1, 4, 16}, of_buffer[] = {0.02, 0.3, 4}, of_current[] = {1, 4, 20};
        current_ = of_current[engine_() % 3];
        other_ = engine_() % 2 ? 0.1 : 1.0;
        for (int t = 0; t < sim::kMaxThreads; t++) {
            thread_[t] = of_thread[engine_() % 3];
            buffer_[t] = of_buffer[engine_() % 3];
        }
    }

    int choose(const sim::Decision &decision) override
    {
        double sum = 0;
        weights_.clear();
        for (size_t i = 0; i < decision.actions.size(); i++) {
            weights_.push_back(weight(decision.actions[i]) * (i == 0 && decision.current_runs ? current_ : 1.0));
            sum += weights_.back();
        }
        double at = std::uniform_real_distribution<double>(0, sum)(engine_);
        for (size_t i = 0; i + 1 < weights_.size(); i++) {
            if ((at -= weights_[i]) < 0)
                return static_cast<int>(i);
        }
        return static_cast<int>(weights_.size()) - 1;
    }

  private:
    double weight(const sim::Action &action) const
    {
        switch (action.kind) {
        case sim::ActionKind::kRun:
            return thread_[action.thread];
        case sim::ActionKind::kDrain:
            return buffer_[action.thread];
        case sim::ActionKind::kSignal:
        case sim::ActionKind::kEvent:
        case sim::ActionKind::kTimeout:
            return other_;
        case sim::ActionKind::kOutcome:
            return 1;
        }
        return 1;
    }

    uint64_t seed_, schedule_ = 0;
    std::mt19937_64 engine_;
    std::array<double, sim::kMaxThreads> thread_{}, buffer_{};
    double current_ = 1, other_ = 1;
    std::vector<double> weights_;
};

} // namespace

std::unique_ptr<sim::Strategy> make_random(uint64_t seed)
{
    return std::make_unique<Random>(seed);
}

} // namespace explore
