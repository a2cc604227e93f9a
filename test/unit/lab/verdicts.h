// SPDX-License-Identifier: MIT OR Apache-2.0
// Search for one verdict by a part of its claim.
#pragma once

#include <gtest/gtest.h>

#include "report/verdict.h"

namespace lab
{

inline Outcome outcome_of(const std::vector<Verdict> &verdicts, const std::string &part)
{
    for (const Verdict &verdict : verdicts)
        if (verdict.claim.find(part) != std::string::npos)
            return verdict.outcome;
    ADD_FAILURE() << "no verdict about " << part;
    return Outcome::not_judged;
}

inline std::string figures_of(const std::vector<Verdict> &verdicts, const std::string &part)
{
    for (const Verdict &verdict : verdicts)
        if (verdict.claim.find(part) != std::string::npos)
            return verdict.figures;
    ADD_FAILURE() << "no verdict about " << part;
    return "";
}

} // namespace lab
