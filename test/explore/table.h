// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of scenarios.
#pragma once

#include <vector>

#include "scenario.h"

namespace explore
{

const std::vector<const sim::Scenario *> &all_scenarios();

} // namespace explore
