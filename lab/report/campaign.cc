// SPDX-License-Identifier: MIT OR Apache-2.0
// Adds torture runs up, and formats their table.
#include "report/campaign.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "inspect/printable.h"
#include "report/table.h"

namespace lab
{
namespace
{

// An error in a document: thrown as text, and caught by campaign_add().
struct Mistake {
    std::string text;
};

// Returns the value of a key if it has the expected type; otherwise throws a Mistake that names the key.
template <class Fits> const Json &field(const Json &object, const char *key, Fits fits, const char *allowed)
{
    const auto found = object.find(key);
    if (found == object.end() || !fits(*found))
        throw Mistake{fmt::format("{} must be {}", key, allowed)};
    return *found;
}

std::string text(const Json &object, const char *key)
{
    return field(
               object, key, [](const Json &value) { return value.is_string(); }, "a string")
        .get<std::string>();
}

bool is_count(const Json &value)
{
    return value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
}

uint64_t count(const Json &row, const char *key)
{
    return field(row, key, is_count, "a whole number").get<uint64_t>();
}

double seconds(const Json &row)
{
    auto fits = [](const Json &value) { return value.is_number() && value.get<double>() >= 0; };
    return field(row, "seconds", fits, "a number that is not negative").get<double>();
}

// A flag that is missing is false.
bool flag(const Json &row, const char *key)
{
    auto fits = [](const Json &value) { return value.is_boolean(); };
    return row.contains(key) && field(row, key, fits, "true or false").get<bool>();
}

std::size_t oldest_age(const Json &row)
{
    auto fits = [](const Json &value) { return value.is_array() && std::all_of(value.begin(), value.end(), is_count); };
    const Json &pipe = field(row, "pipe", fits, "a list of whole numbers");
    std::size_t oldest = 0;
    for (std::size_t age = 0; age < pipe.size(); age++)
        if (pipe[age].get<uint64_t>() != 0)
            oldest = age;
    return oldest;
}

void add_row(Campaign &campaign, const std::string &file_name, const Json &row)
{
    CampaignScenario &sum = campaign[text(row, "scenario")];
    sum.runs++;
    sum.skipped += flag(row, "skipped") ? 1 : 0;
    sum.seconds += seconds(row);
    sum.reads += count(row, "reads");
    sum.grace_periods += count(row, "grace_periods");
    sum.errors += count(row, "errors");
    sum.near_misses += count(row, "near_misses");
    sum.oldest_age = std::max(sum.oldest_age, oldest_age(row));
    sum.is_control |= flag(row, "must_fail");
    if (text(row, "result") != "SUCCESS")
        sum.failed_at.push_back(fmt::format("seed {} ({})", count(row, "seed"), file_name));
}

std::string result_of(const CampaignScenario &sum)
{
    if (!sum.failed_at.empty())
        return fmt::format("FAILURE: {} of {} runs", sum.failed_at.size(), sum.runs);
    if (sum.skipped == sum.runs)
        return "SKIPPED";
    return sum.is_control ? "SUCCESS (failed, as it must)" : "SUCCESS";
}

} // namespace

bool campaign_add(Campaign &campaign, const std::string &file_name, const Json &document, std::string &error)
{
    try {
        const std::string experiment = text(document, "experiment");
        if (experiment != "torture") {
            error = fmt::format("{} holds results of \"{}\"; allowed: torture", file_name, experiment);
            return false;
        }
        Campaign sum = campaign;
        auto is_list = [](const Json &value) { return value.is_array(); };
        for (const Json &row : field(document, "rows", is_list, "a list"))
            add_row(sum, file_name, row);
        campaign = std::move(sum);
        return true;
    } catch (const Mistake &mistake) {
        error = fmt::format("{} was not written by `rtrcu torture --json`: {}", file_name, mistake.text);
        return false;
    }
}

bool campaign_failed(const Campaign &campaign)
{
    return std::any_of(campaign.begin(), campaign.end(), [](const auto &one) { return !one.second.failed_at.empty(); });
}

std::string campaign_text(const Campaign &campaign)
{
    Table table;
    std::string failures;
    table.column("scenario", Table::Align::left);
    for (const char *title : {"runs", "s", "reads", "grace periods", "errors", "worst pipe", "near misses"})
        table.column(title);
    table.column("result", Table::Align::left);
    for (const auto &[name, sum] : campaign) {
        auto text = [](uint64_t value) { return whole(static_cast<double>(value)); };
        table.row({name, text(sum.runs), fmt::format("{:.1f}", sum.seconds), text(sum.reads), text(sum.grace_periods),
                   text(sum.errors), text(sum.oldest_age), text(sum.near_misses), result_of(sum)});
        for (const std::string &where : sum.failed_at)
            failures += fmt::format("failed: {}, {}\n", inspect::printable(name), inspect::printable(where));
    }
    return table.text() + failures;
}

} // namespace lab
