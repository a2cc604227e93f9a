// SPDX-License-Identifier: MIT OR Apache-2.0
// Each side of a figure has a process: it configures the library, and runs a round on request.
#pragma once

#include <optional>
#include <string>

#include "harness/figure.h"
#include "machine/child.h"

namespace bench
{

// Returns the name of a side: the figure's name and the side's index, such as "pair/0".
std::string side_name(const Figure &figure, std::size_t side);

class SideProcess
{
  public:
    SideProcess(const Figure &figure, std::size_t side, const Parameters &parameters);

    // Run one round.  Returns no value, and error() has the reason, if the process failed, hung or died.
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
    std::unique_ptr<Work> work_; // exists only in the child process
};

// Run rounds in this process, for profilers, and print each value on a line.  Returns an exit code.
int run_here(const std::string &name, const Parameters &parameters, unsigned rounds);

// The results of a figure's rounds, a row for each side.
struct Result {
    const Figure *figure = nullptr;
    std::vector<std::vector<Measured>> sides; // [side][round]
    std::string error;                        // the reason why rounds are missing
};

} // namespace bench
