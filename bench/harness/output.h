// SPDX-License-Identifier: MIT OR Apache-2.0
// The table for the terminal, and the rows of the JSON document.
#pragma once

#include "harness/judge.h"
#include "report/document.h"

namespace bench
{

std::string table_text(const std::vector<Judged> &figures);
void add_rows(const std::vector<Judged> &figures, lab::Document &document);
// Returns three lines: the machine, the versions of the libraries, and the seed with the number of rounds.
std::string conditions_text(const lab::Machine &machine, uint64_t seed, unsigned rounds);

} // namespace bench
