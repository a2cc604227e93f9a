// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests that docs/configuration.md has every setting with the library's default and range.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <rtrcu/config.h>
#pragma GCC diagnostic pop

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace
{

// The cells of the table rows that begin with a setting in code quotes, by the setting's name.
std::map<std::string, std::vector<std::string>> read_page()
{
    std::string path = RTRCU_TEST_SOURCE_DIR "/docs/configuration.md";
    std::ifstream page(path);
    EXPECT_TRUE(page) << path;
    std::map<std::string, std::vector<std::string>> rows;
    for (std::string line, section; std::getline(page, line);) {
        if (line.rfind("## ", 0) == 0)
            section = line;
        bool settings = section == "## Policies, drivers and modes" || section == "## Limits, times, priorities";
        if (!settings || line.rfind("| `", 0) != 0)
            continue;
        std::vector<std::string> cells;
        std::istringstream stream(line);
        for (std::string cell; std::getline(stream, cell, '|');)
            cells.push_back(cell);
        rows[line.substr(3, line.find('`', 3) - 3)] = cells;
    }
    return rows;
}

void replace_all(std::string &text, const std::string &from, const std::string &to)
{
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from))
        text.replace(at, from.size(), to);
}

// The numbers of a cell: "1,000 to 10⁹, at most" holds 1000 and 1000000000.
std::vector<long long> numbers(std::string cell)
{
    replace_all(cell, "\u2212", "-");
    replace_all(cell, "10\u2079", "1000000000");
    replace_all(cell, "10\u00b9\u00b2", "1000000000000");
    replace_all(cell, "10\u2076", "1000000");
    std::string plain;
    for (size_t i = 0; i < cell.size(); i++) {
        bool thousands = cell[i] == ',' && i + 1 < cell.size() && isdigit(static_cast<unsigned char>(cell[i + 1]));
        bool kept = isdigit(static_cast<unsigned char>(cell[i])) || cell[i] == '-';
        if (!thousands)
            plain += kept ? cell[i] : ' ';
    }
    std::istringstream stream(plain);
    std::vector<long long> found;
    for (long long number; stream >> number;)
        found.push_back(number);
    return found;
}

std::vector<std::string> quoted(const std::string &cell)
{
    std::vector<std::string> words;
    for (size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at + 1)) {
        size_t end = cell.find('`', at + 1);
        words.push_back(cell.substr(at + 1, end - at - 1));
        at = end;
    }
    return words;
}

bool sets(const std::string &name, const std::string &value, struct rtrcu_config *result = nullptr)
{
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    bool accepted = rtrcu_config_set(&config, name.c_str(), value.c_str()) == 0;
    if (result)
        *result = config;
    return accepted;
}

bool same(const struct rtrcu_config &a, const struct rtrcu_config &b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

// The range of a setting, read from the message with which the library refuses a value.
std::vector<long long> range_by_library(const std::string &name)
{
    sets(name, "no such value");
    std::string message = rtrcu_config_error();
    size_t at = message.find("allowed are ");
    EXPECT_NE(at, std::string::npos) << message;
    return numbers(message.substr(at));
}

class ConfigurationPage : public ::testing::Test
{
  protected:
    std::map<std::string, std::vector<std::string>> rows = read_page();
    struct rtrcu_config defaults = {};

    void SetUp() override
    {
        for (char **entry = environ; entry && *entry; entry++)
            if (strncmp(*entry, "RTRCU_", 6) == 0 && strncmp(*entry, "RTRCU_TEST_", 11) != 0)
                GTEST_SKIP() << "the environment overrides defaults: " << *entry;
        rtrcu_config_init(&defaults);
    }
};

TEST_F(ConfigurationPage, HasARowForEveryField)
{
    // 33 fields besides the size: a new field fails here until the page documents it.
    EXPECT_EQ(rows.size(), 33u);
    EXPECT_EQ(sizeof(struct rtrcu_config), 232u);
    for (const auto &[name, cells] : rows)
        EXPECT_FALSE(range_by_library(name).empty() && quoted(cells.at(2)).empty()) << name;
}

TEST_F(ConfigurationPage, NamesTheDefaults)
{
    for (const auto &[name, cells] : rows) {
        std::vector<std::string> words = quoted(cells.at(2));
        std::vector<long long> values = numbers(cells.at(2));
        bool held = false;
        struct rtrcu_config set;
        if (!words.empty())
            held = sets(name, words.front(), &set) && same(set, defaults);
        for (long long value : values) // the page may list the default of debug builds second
            held |= sets(name, std::to_string(value), &set) && same(set, defaults);
        EXPECT_TRUE(held) << name << ": the page says " << cells.at(2);
    }
}

TEST_F(ConfigurationPage, NamesTheRanges)
{
    for (const auto &[name, cells] : rows) {
        std::vector<std::string> words = quoted(cells.at(2));
        if (words.empty() || words == std::vector<std::string>{"auto"}) { // a number, or a word for the default
            EXPECT_EQ(numbers(cells.at(3)), range_by_library(name)) << name;
            continue;
        }
        sets(name, "no such value");
        std::string listed = words.front();
        for (size_t i = 1; i < words.size(); i++)
            listed += ", " + words[i];
        std::string message = rtrcu_config_error();
        EXPECT_EQ(message.substr(message.find("allowed are ") + 12), listed) << name;
    }
}

TEST_F(ConfigurationPage, ListsTheAllowedCombinationsOfDriverAndPolicy)
{
    for (const char *driver : {"kthread", "ltimer", "sched", "poll"}) {
        for (const char *policy : {"daemon", "inline", "krcud", "throttle", "unbounded"}) {
            struct rtrcu_config config;
            rtrcu_config_init(&config);
            rtrcu_config_set(&config, "driver", driver);
            rtrcu_config_set(&config, "policy", policy);
            bool needs_thread = strcmp(policy, "daemon") == 0 || strcmp(policy, "krcud") == 0;
            int expected = strcmp(driver, "sched") == 0 && needs_thread ? -EINVAL : 0;
            EXPECT_EQ(rtrcu_configure(&config), expected) << driver << " and " << policy;
        }
    }
}

} // namespace
