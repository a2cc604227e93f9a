// SPDX-License-Identifier: MIT OR Apache-2.0
// The figures that `rtrcu top` shows of a domain, computed from two views of it, and their format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspect/processes.h"

namespace lab::top
{

// A domain of a process as read at one time, and its previous state if it was read before.
struct View {
    int pid = 0;
    std::string process, object, library;
    bool is_private = false;
    inspect::Domain now;
    std::optional<inspect::Domain> before;
    std::string problem; // the reason why the process, or a copy of the library in it, has no domain to show

    double seconds() const; // the time between the two views; 0: there is only one view
    // Returns the events per second of a counter that was `then` at the first view and is `later` at the second.
    std::optional<double> rate(uint64_t then, uint64_t later) const;
    std::optional<double> gp_per_s(inspect::Kind kind) const, callbacks_per_s() const;
    // Returns a quantile of the durations of grace periods that ended between the two views; of all grace periods if
    // none ended between them, or if there is only one view.
    double gp_quantile_ns(inspect::Kind kind, double quantile) const;
    // Returns the age of the grace period under way; 0: there is none.
    int64_t gp_age_ns(inspect::Kind kind) const;
    // Returns how often a limit was reached: a callback queued above qmax, or a batch that ended early.
    uint64_t limits() const;
};

std::vector<View> views(const std::vector<inspect::Process> &now, const std::vector<View> &before);

// Returns a duration as text, such as "850 ns", "12 µs" or "1.30 s"; "-" for 0.
std::string duration(double ns);
// Returns the beginning of the text, at most `width` columns wide.
std::string cut(std::string text, std::size_t width);
std::string rate_text(const std::optional<double> &rate);
std::string count_text(uint64_t count); // "-" for 0

// A column of the list: title, sort order, maximum width.
struct ListColumn {
    const char *heading;
    const char *meaning;
    std::size_t width;
    bool is_left;
    std::string (*text)(const View &view);
    double (*value)(const View &view);
};
const std::vector<ListColumn> &list_columns();
// Returns the indices of the leading columns of the list that fit into `width` together.
std::vector<std::size_t> columns_that_fit(std::size_t width);
std::string list_heading(const std::vector<std::size_t> &columns);
std::string list_line(const std::vector<std::size_t> &columns, const View &view);
void sort_views(std::vector<View> &views, std::size_t column, bool reverse);

// Returns the details of a domain as lines, each at most `width` columns wide.
std::vector<std::string> depth_lines(const View &view, std::size_t width);

} // namespace lab::top
