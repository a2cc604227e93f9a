// SPDX-License-Identifier: MIT OR Apache-2.0
// Adding up torture runs, and their table.
#include "report/campaign.h"

#include <algorithm>
#include <fmt/format.h>

#include "report/table.h"

namespace lab
{
namespace
{

std::size_t oldest_age(const Json &pipe)
{
    std::size_t oldest = 0;
    for (std::size_t age = 0; age < pipe.size(); age++)
        if (pipe[age].get<uint64_t>() != 0)
            oldest = age;
    return oldest;
}

void add_row(Campaign &campaign, const std::string &file_name, const Json &row)
{
    CampaignScenario &sum = campaign[row.at("scenario").get<std::string>()];
    sum.runs++;
    sum.skipped += row.value("skipped", false) ? 1 : 0;
    sum.seconds += row.at("seconds").get<double>();
    sum.reads += row.at("reads").get<uint64_t>();
    sum.grace_periods += row.at("grace_periods").get<uint64_t>();
    sum.errors += row.at("errors").get<uint64_t>();
    sum.near_misses += row.at("near_misses").get<uint64_t>();
    sum.oldest_age = std::max(sum.oldest_age, oldest_age(row.at("pipe")));
    sum.is_control |= row.value("must_fail", false);
    if (row.at("result").get<std::string>() != "SUCCESS")
        sum.failed_at.push_back(fmt::format("seed {} ({})", row.at("seed").get<uint64_t>(), file_name));
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
        if (document.at("experiment").get<std::string>() != "torture") {
            error = fmt::format("{} holds results of \"{}\"; allowed: torture", file_name,
                                document.at("experiment").get<std::string>());
            return false;
        }
        Campaign sum = campaign;
        for (const Json &row : document.at("rows"))
            add_row(sum, file_name, row);
        campaign = std::move(sum);
        return true;
    } catch (const Json::exception &wrong) {
        error = fmt::format("{} is no result of `rtrcu torture --json`: {}", file_name, wrong.what());
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
        auto text = [](uint64_t value) { return number(static_cast<double>(value)); };
        table.row({name, text(sum.runs), fmt::format("{:.1f}", sum.seconds), text(sum.reads), text(sum.grace_periods),
                   text(sum.errors), text(sum.oldest_age), text(sum.near_misses), result_of(sum)});
        for (const std::string &where : sum.failed_at)
            failures += fmt::format("failed: {}, {}\n", name, where);
    }
    return table.text() + failures;
}

} // namespace lab
