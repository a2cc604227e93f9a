// SPDX-License-Identifier: MIT OR Apache-2.0
// The rounds of a side, in its own process or in this one.
#include "harness/side.h"

#include <exception>
#include <fmt/format.h>
#include <stdexcept>

namespace bench
{

constexpr int64_t round_limit_ns = 120'000'000'000; // far above the longest round, which takes seconds

std::string side_name(const Figure &figure, std::size_t side)
{
    return fmt::format("{}/{}", figure.name, side);
}

static std::unique_ptr<Work> make_work(const Figure &figure, const Side &side, const Parameters &parameters)
{
    std::string error;
    if (!side.peer->configure(side.settings, error))
        throw std::runtime_error(error);
    Parameters own = parameters;
    own.threads = figure.threads;
    return side.peer->work[static_cast<int>(figure.kind)](own);
}

SideProcess::SideProcess(const Figure &figure, std::size_t side, const Parameters &parameters)
    : figure_(figure), side_(figure.sides[side]), parameters_(parameters)
{
}

Measured SideProcess::work_round()
{
    if (work_ == nullptr)
        work_ = make_work(figure_, side_, parameters_);
    return work_->round();
}

std::optional<Measured> SideProcess::round()
{
    const std::optional<Measured> measured = process_.ask('g', round_limit_ns);
    if (figure_.fresh)
        process_.end();
    return measured;
}

int run_here(const std::string &name, const Parameters &parameters, unsigned rounds)
{
    for (const Figure &figure : all_figures())
        for (std::size_t side = 0; side < figure.sides.size(); side++) {
            if (name != side_name(figure, side) && (side != 0 || name != figure.name))
                continue;
            const std::unique_ptr<Work> work = make_work(figure, figure.sides[side], parameters);
            for (unsigned i = 0; i < rounds; i++)
                fmt::print("{:.4f} {}\n", work->round().value, figure.unit);
            return 0;
        }
    throw std::runtime_error(fmt::format("no side is called \"{}\"; --list prints the sides", name));
}

} // namespace bench
