// SPDX-License-Identifier: MIT OR Apache-2.0
// The order of rounds: every figure once a round, its sides in an order that the seed decides anew each time.
#include "harness/runner.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <random>

#include "harness/server.h"
#include "report/document.h"

namespace bench
{

static std::vector<std::string> child_arguments(const Parameters &parameters)
{
    std::vector<std::string> words = {"--seed", std::to_string(parameters.seed)};
    if (parameters.quick)
        words.emplace_back("--quick");
    return words;
}

class FigureRun
{
  public:
    FigureRun(const Figure &figure, const Parameters &parameters)
    {
        result_.figure = &figure;
        result_.sides.resize(figure.sides.size());
        for (std::size_t side = 0; side < figure.sides.size(); side++)
            servers_.push_back(std::make_unique<Server>(SideName{&figure, side}, child_arguments(parameters)));
    }
    void round(std::mt19937_64 &random)
    {
        if (!result_.error.empty())
            return;
        std::vector<std::size_t> order(servers_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), random);
        std::vector<Measured> measured(servers_.size());
        for (std::size_t side : order) {
            std::optional<Measured> one = servers_[side]->round();
            if (!one) {
                result_.error = fmt::format("{}: {}", result_.figure->sides[side].peer->name, servers_[side]->error());
                return;
            }
            measured[side] = *one;
        }
        for (std::size_t side = 0; side < measured.size(); side++)
            result_.sides[side].push_back(measured[side]);
    }
    Result take()
    {
        return std::move(result_);
    }

  private:
    Result result_;
    std::vector<std::unique_ptr<Server>> servers_;
};

std::vector<Result> run(const Plan &plan)
{
    std::mt19937_64 random(plan.parameters.seed);
    std::vector<FigureRun> runs;
    for (const Figure *figure : plan.figures)
        runs.emplace_back(*figure, plan.parameters);
    lab::Progress progress("rtrcu-bench", plan.rounds * static_cast<double>(runs.size()));
    double done = 0;
    for (unsigned round = 0; round < plan.rounds; round++) {
        for (std::size_t i = 0; i < runs.size(); i++) {
            progress.at(done, fmt::format("round {} of {}: {}", round + 1, plan.rounds, plan.figures[i]->name));
            runs[i].round(random);
            done += 1;
        }
    }
    std::vector<Result> results;
    for (FigureRun &one : runs)
        results.push_back(one.take());
    return results;
}

} // namespace bench
