// SPDX-License-Identifier: MIT OR Apache-2.0
// The findings of the checks: counted in shared memory, and the first few of each kind printed at once.
//
// Async-signal-safe and lock-free, because handlers and forked children report too.
#pragma once

#include <fmt/core.h>
#include <string>

#include "torture/shared.h"

namespace lab::torture
{

class Findings
{
  public:
    Findings(SharedResult &shared, std::string scenario, uint64_t seed)
        : shared_(shared), scenario_(std::move(scenario)), seed_(seed)
    {
    }

    template <class... Arguments>
    void report(Check check, fmt::format_string<const Arguments &...> format, const Arguments &...arguments)
    {
        if (count(check))
            tell(check, format, fmt::make_format_args(arguments...));
    }

    bool any() const
    {
        return shared_.first_error_ns.load(std::memory_order_relaxed) != 0;
    }

    // Prints a line on standard error with one write.
    static void say(std::string_view line);

  private:
    bool count(Check check); // counts a finding; returns true if it must be printed, since few were printed before
    void tell(Check check, fmt::string_view format, fmt::format_args arguments) const;

    SharedResult &shared_;
    std::string scenario_;
    uint64_t seed_;
};

} // namespace lab::torture
