// SPDX-License-Identifier: MIT OR Apache-2.0
// The results of many torture runs, from several machines, added up by scenario.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/row.h"

namespace lab
{

struct CampaignScenario {
    uint64_t runs = 0, skipped = 0, reads = 0, grace_periods = 0, errors = 0, near_misses = 0;
    double seconds = 0;
    std::size_t oldest_age = 0;         // the highest age in which a reader found an object; 2 and more are errors
    bool is_control = false;            // the scenario must fail, so its errors are expected
    std::vector<std::string> failed_at; // "seed 7 (file)"
};

using Campaign = std::map<std::string, CampaignScenario>;

// Adds one document of `rtrcu torture --json`.  If the text is not such a document, returns false with a description of
// the error, and adds nothing.
bool campaign_add(Campaign &campaign, const std::string &file_name, const Json &document, std::string &error);

bool campaign_failed(const Campaign &campaign);

// Returns the table, followed by a line for each run that failed.
std::string campaign_text(const Campaign &campaign);

} // namespace lab
