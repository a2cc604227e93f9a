// SPDX-License-Identifier: MIT OR Apache-2.0
// Pages with plots: the data as JSON, and a script of this folder that makes a page of it.
#pragma once

#include <string>

#include "report/document.h"

namespace lab
{

// Writes DIRECTORY/STEM.json and has STEM_html.py make DIRECTORY/STEM.html of it.  Returns a sentence for the user:
// what was written, or why not and what to do.  The page is a convenience: its failure fails nothing.
std::string write_plot_page(const std::string &stem, const std::string &directory, const Json &data);

} // namespace lab
