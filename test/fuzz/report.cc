// SPDX-License-Identifier: MIT OR Apache-2.0
// Fuzzing of the reader of results: additions equal the rows, and a refused row adds nothing.
#include "report/campaign.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "check.h"

namespace
{

using lab::Campaign;
using lab::CampaignScenario;
using lab::Json;

Json shown(const Campaign &campaign)
{
    Json document = Json::object();
    for (const auto &[name, sum] : campaign)
        document[name] = {{"runs", sum.runs},
                          {"skipped", sum.skipped},
                          {"seconds", sum.seconds},
                          {"reads", sum.reads},
                          {"grace_periods", sum.grace_periods},
                          {"errors", sum.errors},
                          {"near_misses", sum.near_misses},
                          {"oldest_age", sum.oldest_age},
                          {"is_control", sum.is_control},
                          {"failed_at", sum.failed_at}};
    return document;
}

void check_row(const Json &row)
{
    for (const char *key : {"reads", "grace_periods", "errors", "near_misses"})
        check(row.at(key).is_number_integer() && row.at(key) >= 0,
              "counts are whole numbers"); // not is_number_unsigned(): -0 is a whole number too
    check(row.at("seconds").is_number() && row.at("seconds").get<double>() >= 0, "a run's time is not negative");
    const Json &pipe = row.at("pipe");
    check(pipe.is_array() &&
              std::all_of(pipe.begin(), pipe.end(), [](const Json &n) { return n.is_number_unsigned(); }),
          "the ages are a list of whole numbers");
}

// The sum of a scenario's rows, added up key by key.
uint64_t sum_of(const Json &rows, const std::string &scenario, const char *key)
{
    uint64_t sum = 0;
    for (const Json &row : rows)
        if (row.at("scenario") == scenario)
            sum += row.at(key).get<uint64_t>();
    return sum;
}

void check_scenario(const Json &rows, const std::string &name, const CampaignScenario &sum)
{
    auto count = [&](auto holds) {
        return static_cast<uint64_t>(std::count_if(
            rows.begin(), rows.end(), [&](const Json &row) { return row.at("scenario") == name && holds(row); }));
    };
    check(sum.runs == count([](const Json &) { return true; }), "each row is a run");
    check(sum.skipped == count([](const Json &row) { return row.value("skipped", false); }),
          "skipped runs are counted");
    check(sum.failed_at.size() == count([](const Json &row) { return row.at("result") != "SUCCESS"; }),
          "each run that failed is named");
    check(sum.is_control == (count([](const Json &row) { return row.value("must_fail", false); }) != 0),
          "controls are known");
    check(sum.reads == sum_of(rows, name, "reads") && sum.grace_periods == sum_of(rows, name, "grace_periods") &&
              sum.errors == sum_of(rows, name, "errors") && sum.near_misses == sum_of(rows, name, "near_misses"),
          "counts are added up");
    const bool is_so_old = count([&](const Json &row) {
        const Json &pipe = row.at("pipe");
        return pipe.size() > sum.oldest_age && pipe.at(sum.oldest_age) != 0;
    });
    const bool is_older = count([&](const Json &row) {
        const Json &pipe = row.at("pipe");
        for (std::size_t age = sum.oldest_age + 1; age < pipe.size(); age++)
            if (pipe.at(age) != 0)
                return true;
        return false;
    });
    check((is_so_old || sum.oldest_age == 0) && !is_older, "the oldest age is the highest one that was seen");
}

void check_refused(const std::string &error)
{
    static constexpr const char *keys[] = {"experiment", "rows",          "scenario", "skipped",     "seconds",
                                           "reads",      "grace_periods", "errors",   "near_misses", "pipe",
                                           "must_fail",  "result",        "seed"};
    check(error.starts_with("FILE "), "what is refused names the file");
    check(error.starts_with("FILE holds results of ") ||
              std::any_of(std::begin(keys), std::end(keys),
                          [&](const char *key) {
                              return error.find(std::string(": ") + key + " must be ") != std::string::npos;
                          }),
          "what is refused names the key");
}

void check_added(const Json &document, const Campaign &campaign)
{
    check(document.at("experiment") == "torture" && document.at("rows").is_array(),
          "only results of torture are added");
    const Json &rows = document.at("rows");
    std::for_each(rows.begin(), rows.end(), check_row);
    const std::string text = campaign_text(campaign);
    std::size_t runs = 0, failed = 0;
    for (const auto &[name, sum] : campaign) {
        check_scenario(rows, name, sum);
        check(text.find(name) != std::string::npos, "the table has a row for each scenario");
        runs += sum.runs;
        failed += sum.failed_at.size();
    }
    check(runs == rows.size(), "every row is added to a scenario");
    check(campaign_failed(campaign) == (failed != 0), "a run that failed makes the campaign fail");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const std::string text(reinterpret_cast<const char *>(data), size);
    const Json document = Json::parse(text, nullptr, false);
    Campaign campaign;
    std::string error;
    if (campaign_add(campaign, "FILE", document, error)) {
        check_added(document, campaign);
        const Json once = shown(campaign);
        check(campaign_add(campaign, "FILE", document, error) && campaign.size() == once.size(),
              "an added report can be added again");
        for (const auto &[name, sum] : campaign)
            check(sum.runs == 2 * once.at(name).at("runs").get<uint64_t>(), "added again, it counts again");
        return 0;
    }
    check(campaign.empty(), "what is refused adds nothing to nothing");
    check_refused(error);
    campaign["before"].runs = 1;
    const Json before = shown(campaign);
    check(!campaign_add(campaign, "FILE", document, error) && shown(campaign) == before,
          "what is refused adds nothing");
    return 0;
}
