// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the experiment in which an updater interrupts readers: one run of it, and its verdicts.
#include <gtest/gtest.h>

#include "latency/interrupting.h"
#include "verdicts.h"

using namespace lab;
using namespace lab::latency;

namespace
{

const char *guarded = "a route during the walk over it in rcu_read_lock_bh() queues it by call_rcu_rt_handler()";
const char *unguarded = "if neither rcu_read_lock_bh()";
const char *between = "between two walks";

InterruptingRow row_of(const char *reader, const char *updater, double at_once, double under_reader)
{
    InterruptingRow row;
    row.reader = reader;
    row.updater = updater;
    row.walks = row.deleted = 1'000;
    row.at_once = at_once;
    row.refused = 1'000 - at_once;
    row.under_reader = under_reader;
    row.left = 0;
    return row;
}

Outcome outcome_for(const InterruptingRow &row, const char *claim)
{
    return outcome_of(judge_interrupting({row}), claim);
}

} // namespace

TEST(Interrupting, CallbacksWaitForAGuardedWalkAndRunDirectlyBetweenWalks)
{
    std::string error;
    const PrefixTable prefixes(generate_prefixes(5'000, 1));
    const std::vector<InterruptingRow> rows = run_interrupting(prefixes, error);
    EXPECT_EQ(error, "");
    const Verdicts verdicts = judge_interrupting(rows);
    EXPECT_EQ(verdicts.size(), 6u);
    for (const Verdict &verdict : verdicts)
        EXPECT_EQ(verdict.outcome, Outcome::held) << verdict.claim << ": " << verdict.figures;
}

TEST(Interrupting, RouteReclaimedDuringAGuardedWalkFails)
{
    const char *reader = "rcu_read_lock_bh()", *updater = "call_rcu_rt_handler()";
    EXPECT_EQ(outcome_for(row_of(reader, updater, 0, 0), guarded), Outcome::held);
    EXPECT_EQ(outcome_for(row_of(reader, updater, 1, 1), guarded), Outcome::failed);
    InterruptingRow lost = row_of(reader, updater, 0, 0);
    lost.left = 1;
    EXPECT_EQ(outcome_for(lost, guarded), Outcome::failed) << "one callback never ran";
}

TEST(Interrupting, EachGuardHasItsOwnVerdict)
{
    const std::pair<const char *, const char *> guards[] = {{"rcu_read_lock_bh()", "call_rcu_rt()"},
                                                            {"a quiescent-state section", "call_rcu_rt_handler()"},
                                                            {"rcu_read_lock()", "call_rcu_rt_handler()"}};
    for (const auto &[reader, updater] : guards) {
        const std::string claim = std::string("the walk over it in ") + reader + " queues it by " + updater;
        EXPECT_EQ(outcome_for(row_of(reader, updater, 0, 0), claim.c_str()), Outcome::held);
        EXPECT_EQ(outcome_for(row_of(reader, updater, 1, 1), claim.c_str()), Outcome::failed);
    }
}

TEST(Interrupting, UnguardedWalkWhoseRouteSurvivesIsNotReproduced)
{
    const char *reader = "a quiescent-state section", *updater = "call_rcu_rt()";
    EXPECT_EQ(outcome_for(row_of(reader, updater, 1'000, 1'000), unguarded), Outcome::held);
    EXPECT_EQ(outcome_for(row_of(reader, updater, 0, 0), unguarded), Outcome::not_reproduced);
}

TEST(Interrupting, RefusedDirectCallBetweenTwoWalksFails)
{
    const char *reader = "none: between two walks", *updater = "call_rcu_rt_handler()";
    EXPECT_EQ(outcome_for(row_of(reader, updater, 1'000, 0), between), Outcome::held);
    EXPECT_EQ(outcome_for(row_of(reader, updater, 999, 0), between), Outcome::failed);
}
