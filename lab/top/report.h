// SPDX-License-Identifier: MIT OR Apache-2.0
// The output of `rtrcu top` for programs, and for a single view: a table, rows of JSON, Prometheus' text format.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "top/view.h"

namespace lab::top
{

std::string once_text(const std::vector<View> &views);
// Returns all counters of a domain, by their names in JSON.
std::vector<std::string> counter_lines(const View &view, std::size_t width);
void fill_document(Document &document, const std::vector<View> &views);
std::string prometheus_text(const std::vector<View> &views);

} // namespace lab::top
