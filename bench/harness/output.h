// SPDX-License-Identifier: MIT OR Apache-2.0
// The table for the terminal, and the rows of the JSON document.
#pragma once

#include "harness/judge.h"
#include "report/document.h"

namespace bench
{

std::string table_text(const std::vector<Judged> &figures);
lab::Json rows_json(const std::vector<Judged> &figures);
// Machine, seed and versions, a line each.
std::string conditions_text(const lab::Machine &machine, const Plan &plan);

} // namespace bench
