// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of Table 1 of the paper of 2004: rows from rounds, and verdicts.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "latency/table1.h"
#include "verdicts.h"

using namespace lab;
using namespace lab::latency;

namespace
{

Table1Row row_of(const char *policy, const std::vector<double> &late_us, const std::vector<double> &share_us)
{
    Table1Row row;
    row.workload = "dcache";
    row.policy = policy;
    row.each_late_us = late_us;
    row.each_share_us = share_us;
    return row;
}

const std::vector<double> some_share = {4, 5, 4, 5, 4, 5};

// Rows in which `unbounded` is as late as in the paper, and the remedies differ by less than their spread.
std::vector<Table1Row> paper()
{
    return {row_of("unbounded", {700, 711, 730, 690, 705, 720}, {410, 400, 420, 415, 405, 409}),
            row_of("krcud", {413, 240, 236, 420, 230, 404}, some_share),
            row_of("direct", {400, 245, 231, 413, 228, 411}, some_share),
            row_of("throttle-16", {398, 250, 240, 417, 225, 409}, some_share)};
}

const char *stock_later = "the lateness of stock";
const char *share_larger = "the callbacks' share of stock";
const char *alike = "not statistically significant";
const char *goal = "the goal of 250";

} // namespace

TEST(Table1, PublishedFindingsHoldForPublishedRows)
{
    const Verdicts verdicts = judge_table1(paper(), true);
    EXPECT_EQ(outcome_of(verdicts, stock_later), Outcome::held);
    EXPECT_EQ(outcome_of(verdicts, share_larger), Outcome::held);
    EXPECT_EQ(outcome_of(verdicts, alike), Outcome::held);
}

TEST(Table1, UnboundedWithinTheSpreadOfARemedyIsNotReproduced)
{
    std::vector<Table1Row> rows = paper();
    rows[0].each_late_us = {390, 260, 230, 425, 229, 410};
    EXPECT_EQ(outcome_of(judge_table1(rows, true), stock_later), Outcome::not_reproduced);
    rows[0].each_share_us = some_share;
    EXPECT_EQ(outcome_of(judge_table1(rows, true), share_larger), Outcome::not_reproduced);
}

TEST(Table1, RemedyThatDiffersInEveryRoundIsSignificant)
{
    std::vector<Table1Row> rows = paper();
    for (double &late : rows[2].each_late_us)
        late -= 100;
    EXPECT_EQ(outcome_of(judge_table1(rows, true), alike), Outcome::not_reproduced);
}

TEST(Table1, PublishedRemarkOnDirectInvocationIsShown)
{
    EXPECT_NE(figures_of(judge_table1(paper(), true), alike).find("2004: direct somewhat better"), std::string::npos);
}

TEST(Table1, GoalIsNotJudgedIfTheSpreadCoversIt)
{
    std::vector<Table1Row> rows = paper();
    EXPECT_EQ(outcome_of(judge_table1(rows, true), goal), Outcome::not_judged);
    for (Table1Row &row : rows)
        row.each_late_us = {100, 120, 110, 130, 125, 115};
    EXPECT_EQ(outcome_of(judge_table1(rows, true), goal), Outcome::held);
    rows[3].each_late_us = {430, 440, 439, 450, 435, 445};
    EXPECT_EQ(outcome_of(judge_table1(rows, true), goal), Outcome::not_reproduced);
}

TEST(Table1, FewRoundsAndQuickRunsAreNotJudged)
{
    std::vector<Table1Row> rows = paper();
    for (const Verdict &verdict : judge_table1(rows, false))
        EXPECT_EQ(verdict.outcome, Outcome::not_judged) << verdict.claim;
    for (Table1Row &row : rows)
        row.each_late_us.resize(4);
    for (const Verdict &verdict : judge_table1(rows, true))
        if (verdict.claim.find("share") == std::string::npos) {
            EXPECT_EQ(verdict.outcome, Outcome::not_judged) << verdict.claim;
            EXPECT_EQ(verdict.figures, "4 rounds of the 5 that a spread needs");
        }
}

TEST(Table1, RowHasTheLargestLatenessOfEachRound)
{
    VariantRecord record(100, 100);
    for (uint32_t late_us : {10, 700, 20, 30, 650, 1})
        record.loop.push({late_us * 1000, 0, 0, 0, late_us * 500});
    record.rounds.push({0, 0, 0, 0, 0, 3, 0, 0});
    record.rounds.push({0, 0, 0, 0, 0, 6, 0, 0});
    const Variant variant{"dcache", find_policy("unbounded"), 0, true, 1, Part::table1};
    const Table1Row row = make_table1_row(variant, record);
    EXPECT_EQ(row.each_late_us, (std::vector<double>{700, 650}));
    EXPECT_EQ(row.each_share_us, (std::vector<double>{350, 325}));
    EXPECT_EQ(row.document_us, 711);
    EXPECT_EQ(row.late_us_max, 700);
    EXPECT_TRUE(to_json(row)["late_us"].is_null()) << "two rounds have no interval";
}
