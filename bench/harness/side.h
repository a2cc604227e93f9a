// SPDX-License-Identifier: MIT OR Apache-2.0
// One process a side of a figure: the library is configured afresh in it, and it runs a round when told to.
#pragma once

#include <optional>
#include <string>

#include "harness/figure.h"
#include "machine/child.h"

namespace bench
{

// A side by name: "pair/0".
std::string side_name(const Figure &figure, std::size_t side);

class SideProcess
{
  public:
    SideProcess(const Figure &figure, std::size_t side, const Parameters &parameters);

    // One round; nothing with error() when the process failed, hung or died.
    std::optional<Measured> round();
    const std::string &error() const
    {
        return process_.error();
    }

  private:
    Measured work_round();

    const Figure &figure_;
    const Side &side_;
    const Parameters parameters_;
    lab::Server<char, Measured> process_{[this](char) { return work_round(); }};
    std::unique_ptr<Work> work_; // in the process
};

// In this process, for profilers: rounds one after the other, each value on a line.  Returns an exit code.
int run_here(const std::string &name, const Parameters &parameters, unsigned rounds);

// What the rounds of a figure gave, a row for each side.
struct Result {
    const Figure *figure = nullptr;
    std::vector<std::vector<Measured>> sides; // [side][round]
    std::string error;                        // why it has no rounds, or fewer
};

} // namespace bench
