// SPDX-License-Identifier: MIT OR Apache-2.0
// The page with plots: gathers curves and hands them to the plotting script.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "latency/child.h"
#include "latency/rows.h"
#include "report/verdict.h"

namespace lab
{

struct PageInput {
    const std::vector<Row> &rows;
    const std::vector<std::unique_ptr<VariantProcess>> &processes;
    const std::vector<Verdict> &verdicts;
    const Json &document;
    const std::string &directory;
};

// Writes latency.json and latency.html into the directory.  Returns a sentence for the user: what was written, or why
// not and what to do.  The page is a convenience: its failure fails nothing.
std::string write_page(const PageInput &input);

} // namespace lab
