// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of scenarios.
#include "table.h"

namespace scenarios
{

extern const sim::Scenario kPublish;

} // namespace scenarios

namespace explore
{

const std::vector<const sim::Scenario *> &all_scenarios()
{
    static const std::vector<const sim::Scenario *> table = {
        &scenarios::kPublish,
    };
    return table;
}

} // namespace explore
