// SPDX-License-Identifier: MIT OR Apache-2.0
// The three jobs of the child program; one process does one of them.
#pragma once

#include "blocked/exchange.h"

namespace lab::blocked
{

RunResult run(const RunRequest &request);
OrderResult check_order(const OrderRequest &request);
CrowdResult measure_crowd(const CrowdRequest &request);

} // namespace lab::blocked
