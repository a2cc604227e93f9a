// SPDX-License-Identifier: MIT OR Apache-2.0
// The verdicts of an experiment, computed from its figures.
#pragma once

#include <string>
#include <vector>

namespace lab
{

enum class Outcome {
    held,
    failed,         // one of the project's own bars is missed: the command exits with 1
    not_reproduced, // this machine does not show a document's finding: reported, but not a failure
    not_judged,     // too few samples, or a run too short to judge times
};

struct Verdict {
    Outcome outcome;
    std::string claim;
    std::string figures;
};

using Verdicts = std::vector<Verdict>;

// `otherwise`: the outcome if `holds` is false.
inline Outcome judged(bool judge_it, bool holds, Outcome otherwise = Outcome::failed)
{
    if (!judge_it)
        return Outcome::not_judged;
    return holds ? Outcome::held : otherwise;
}

inline bool any_failed(const std::vector<Verdict> &verdicts)
{
    for (const Verdict &verdict : verdicts)
        if (verdict.outcome == Outcome::failed)
            return true;
    return false;
}

std::string verdict_text(const std::vector<Verdict> &verdicts);
// Returns all verdicts below a heading, which contains a note if times were not judged.
std::string judgement_text(const std::vector<Verdict> &verdicts, bool times_judged);
const char *outcome_name(Outcome outcome);

} // namespace lab
