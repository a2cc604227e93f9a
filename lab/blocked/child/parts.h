// SPDX-License-Identifier: MIT OR Apache-2.0
// The three things that the child program does, one a process.
#pragma once

#include "blocked/exchange.h"

namespace lab::blocked
{

RunResult run(const RunRequest &request);
OrderResult check_order(const OrderRequest &request);
CrowdResult measure_crowd(const CrowdRequest &request);

} // namespace lab::blocked
