// SPDX-License-Identifier: MIT OR Apache-2.0
// A table of text cells with aligned columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lab
{

// Returns the width that was set, or else the width of the terminal of standard output, error or input, so that a table
// in a pager fits; 0: no terminal, no limit.
std::size_t table_width();
void choose_table_width(std::size_t width);

class Table
{
  public:
    enum class Align { left, right };
    void column(std::string title, Align align = Align::right);
    void row(std::vector<std::string> cells);
    void rule(); // a line between groups of rows
    // Adds a line if the group differs from that of the previous row.
    void group(const std::string &name);
    // Returns the table, at most `room` columns wide if the words of each column permit; 0: no limit.
    std::string text(std::size_t room = table_width()) const;

  private:
    std::vector<std::size_t> widths(std::size_t room) const;
    std::string part(const std::vector<std::size_t> &shown, const std::vector<std::size_t> &widths) const;

    struct Column {
        std::string title;
        Align align;
    };
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_; // an empty row is a rule
    std::string group_;
};

// Returns the columns that a terminal needs for UTF-8 text without combining or wide characters.
std::size_t display_width(const std::string &text);

// Returns a number with three significant digits below 1,000, and with thousands separators above: "0.42", "17.3",
// "711", "30,000".  "-" for an unknown number.
std::string number(std::optional<double> value);
// Returns a count with thousands separators.
std::string whole(std::optional<double> value);

} // namespace lab
