// SPDX-License-Identifier: MIT OR Apache-2.0
// What `rtrcu top` shows of a domain: figures of two looks at it, and how they are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspect/processes.h"

namespace lab::top
{

// A domain of a process, with the look before, where there was one.
struct View {
    int pid = 0;
    std::string process, object, library;
    bool is_private = false;
    inspect::Domain now;
    std::optional<inspect::Domain> before;
    std::string problem; // instead of a domain

    double seconds() const; // between the two; 0: there is one
    // Events a second of a counter that has risen from `then` to `later`.
    std::optional<double> rate(uint64_t then, uint64_t later) const;
    std::optional<double> gp_per_s(inspect::Kind kind) const, callbacks_per_s() const;
    // Of those that ended between the looks, or of all.
    double gp_quantile_ns(inspect::Kind kind, double quantile) const;
    // Of the one under way, 0: there is none.
    int64_t gp_age_ns(inspect::Kind kind) const;
    // Times that a limit was hit: an enqueue above qmax, a batch cut short.
    uint64_t limits() const;
};

std::vector<View> views(const std::vector<inspect::Process> &now, const std::vector<View> &before);

// "850 ns", "12 µs", "1.30 s"; "-" for 0.
std::string duration(double ns);
// At most so many columns of the terminal.
std::string cut(std::string text, std::size_t width);
std::string rate_text(const std::optional<double> &rate);
std::string count_text(uint64_t count); // "-" for 0

// A column of the list: what it is called, how it is sorted, how wide it may become.
struct ListColumn {
    const char *heading;
    const char *meaning;
    std::size_t width;
    bool is_left;
    std::string (*text)(const View &view);
    double (*value)(const View &view);
};
const std::vector<ListColumn> &list_columns();
// As many of them as fit, the first ones first.
std::vector<std::size_t> columns_that_fit(std::size_t width);
std::string list_heading(const std::vector<std::size_t> &columns);
std::string list_line(const std::vector<std::size_t> &columns, const View &view);
void sort_views(std::vector<View> &views, std::size_t column, bool reverse);

// One domain in depth, in lines of at most `width`.
std::vector<std::string> depth_lines(const View &view, std::size_t width);

} // namespace lab::top
