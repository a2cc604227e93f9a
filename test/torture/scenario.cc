// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of scenario files: accepted values, and errors that name the key, the value and the allowed range.
#include <gtest/gtest.h>

#include "torture/scenario.h"

namespace
{

using lab::torture::parse_scenario;
using lab::torture::Scenario;
using lab::torture::Way;

std::string error_of(const std::string &text)
{
    Scenario scenario;
    std::string error;
    EXPECT_FALSE(parse_scenario("X", text, scenario, error)) << text;
    return error;
}

void expect_error(const std::string &text, std::initializer_list<const char *> parts)
{
    const std::string error = error_of(text);
    for (const char *part : parts)
        EXPECT_NE(error.find(part), std::string::npos) << error << "\nlacks " << part;
}

TEST(Scenario, FileSetsTheGivenKeys)
{
    Scenario scenario;
    std::string error;
    const char *text = R"({"what": "a test", "readers": 3, "ways": ["sync", "free_head"], "sections": "short",
                           "config": {"tick_us": 500, "policy": "inline"}, "cpus": "one", "expect": "failure"})";
    ASSERT_TRUE(parse_scenario("X", text, scenario, error)) << error;
    EXPECT_EQ(scenario.name, "X");
    EXPECT_EQ(scenario.readers, 3);
    EXPECT_EQ(scenario.ways, (std::vector<Way>{Way::sync, Way::free_head}));
    EXPECT_EQ(scenario.sections, lab::torture::Sections::brief);
    EXPECT_EQ(scenario.config.at("tick_us"), "500");
    EXPECT_EQ(scenario.config.at("policy"), "inline");
    EXPECT_TRUE(scenario.one_cpu);
    EXPECT_TRUE(scenario.must_fail);
    EXPECT_FALSE(scenario.busted);
}

TEST(Scenario, AllWaysToWaitAreUsedByDefault)
{
    Scenario scenario;
    std::string error;
    ASSERT_TRUE(parse_scenario("X", R"({"what": "a test"})", scenario, error)) << error;
    EXPECT_EQ(scenario.ways.size(), static_cast<std::size_t>(Way::count));
}

TEST(Scenario, ErrorMessagesNameTheMistake)
{
    expect_error("[]", {"scenario X", "not a JSON object"});
    expect_error("{", {"scenario X", "not JSON"});
    expect_error(R"({"readers": 1})", {"what", "missing"});
    expect_error(R"({"what": "t", "raeders": 1})", {"raeders", "allowed", "readers, readers_qsbr"});
    expect_error(R"({"what": "t", "readers": -1})", {"readers", "-1", "0 to 64"});
    expect_error(R"({"what": "t", "readers": 65})", {"readers", "65", "0 to 64"});
    expect_error(R"({"what": "t", "readers": "many"})", {"readers", "many", "whole number"});
    expect_error(R"({"what": "t", "sections": "tall"})", {"sections", "tall", "short, mixed, long"});
    expect_error(R"({"what": "t", "ways": ["wait"]})", {"ways", "wait", "sync, expedited"});
    expect_error(R"({"what": "t", "ways": []})", {"ways", "a list of"});
    expect_error(R"({"what": "t", "config": 7})", {"config", "7", "object"});
    expect_error(R"({"what": "t", "config": {"tick": 1}})", {"config", "tick"});
    expect_error(R"({"what": "t", "config": {"policy": "lazy"}})", {"config", "policy", "lazy", "daemon"});
    expect_error(R"({"what": "t", "reconfigure": {}})", {"reconfigure", "list"});
}

TEST(Scenario, DependentKeysAreChecked)
{
    expect_error(R"({"what": "t", "floods": 1})", {"flood_callbacks"});
    expect_error(R"({"what": "t", "churn": 1})", {"churn_threads"});
    expect_error(R"({"what": "t", "tasks": 1})", {"carriers"});
    expect_error(R"({"what": "t", "table_writers": 1})", {"table_entries"});
    expect_error(R"({"what": "t", "flavour": "srcu", "table_entries": 9, "table_writers": 1})",
                 {"srcu", "table_entries"});
    expect_error(R"({"what": "t", "reconfigure_ms": 1})", {"reconfigure"});
    expect_error(R"({"what": "t", "writers": 1, "writers_rt": 2})", {"writers_rt"});
    expect_error(R"({"what": "t", "flavour": "busted", "barriers": 1})", {"busted", "barriers"});
}

TEST(Scenario, EveryBuiltInScenarioIsValid)
{
    const auto &all = lab::torture::embedded_scenarios();
    EXPECT_GE(all.size(), 20u);
    for (const auto &embedded : all) {
        Scenario scenario;
        std::string error;
        EXPECT_TRUE(parse_scenario(embedded.name, embedded.text, scenario, error)) << error;
    }
}

} // namespace
