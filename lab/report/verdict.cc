// SPDX-License-Identifier: MIT OR Apache-2.0
// Prints the verdicts of an experiment: each claim, the measured figures, and whether the claim holds.
#include "report/verdict.h"

#include <fmt/format.h>

namespace lab
{

const char *outcome_name(Outcome outcome)
{
    switch (outcome) {
    case Outcome::held:
        return "held";
    case Outcome::failed:
        return "FAILED";
    case Outcome::not_reproduced:
        return "not reproduced";
    case Outcome::not_judged:
        return "not judged";
    }
    return "?";
}

std::string verdict_text(const std::vector<Verdict> &verdicts)
{
    std::string text;
    for (const Verdict &verdict : verdicts)
        text +=
            fmt::format("  {:<14}  {}\n{:18}{}\n", outcome_name(verdict.outcome), verdict.claim, "", verdict.figures);
    return text;
}

std::string judgement_text(const std::vector<Verdict> &verdicts, bool times_judged)
{
    return fmt::format("Verdicts{}:\n{}", times_judged ? "" : " (counts only: times are judged in a full run)",
                       verdict_text(verdicts));
}

} // namespace lab
