// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the summary of several torture runs.
#include "report/campaign.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace
{

lab::Json row(uint64_t seed, const char *result, const std::vector<uint64_t> &pipe)
{
    return {{"scenario", "TREE01"}, {"seconds", 2.0},   {"reads", 100},     {"grace_periods", 10},
            {"errors", 0},          {"pipe", pipe},     {"near_misses", 1}, {"must_fail", false},
            {"skipped", false},     {"result", result}, {"seed", seed}};
}

lab::Json document(const lab::Json &rows)
{
    return {{"experiment", "torture"}, {"rows", rows}};
}

TEST(Campaign, AddsRowsAndNamesFailedChecks)
{
    lab::Campaign campaign;
    std::string error;
    ASSERT_TRUE(lab::campaign_add(
        campaign, "a", document(lab::Json::array({row(1, "SUCCESS", {9, 1, 0}), row(2, "SUCCESS", {9})})), error));
    EXPECT_FALSE(lab::campaign_failed(campaign));
    ASSERT_TRUE(lab::campaign_add(campaign, "b", document(lab::Json::array({row(7, "FAILURE", {9, 0, 1})})), error));
    EXPECT_TRUE(lab::campaign_failed(campaign));
    const lab::CampaignScenario &sum = campaign["TREE01"];
    EXPECT_EQ(sum.runs, 3u);
    EXPECT_EQ(sum.reads, 300u);
    EXPECT_EQ(sum.near_misses, 3u);
    EXPECT_EQ(sum.oldest_age, 2u);
    EXPECT_NE(lab::campaign_text(campaign).find("failed: TREE01, seed 7 (b)"), std::string::npos);
}

TEST(Campaign, RefusedFileAddsNoRows)
{
    lab::Campaign campaign;
    std::string error;
    lab::Json broken = document(lab::Json::array({row(1, "SUCCESS", {1}), {{"scenario", "TREE02"}}}));
    EXPECT_FALSE(lab::campaign_add(campaign, "file", broken, error));
    EXPECT_NE(error.find("file"), std::string::npos);
    EXPECT_FALSE(lab::campaign_add(campaign, "file", {{"experiment", "latency"}}, error));
    EXPECT_FALSE(lab::campaign_add(campaign, "file", lab::Json::parse("{", nullptr, false), error));
    EXPECT_TRUE(campaign.empty());
}

} // namespace
