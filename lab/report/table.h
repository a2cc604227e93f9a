// SPDX-License-Identifier: MIT OR Apache-2.0
// A table of text cells with aligned columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lab
{

// Columns of the terminal, or what was chosen; 0: no limit, as for output that goes to a file or a pipe.
std::size_t table_width();
void choose_table_width(std::size_t width);

class Table
{
  public:
    enum class Align { left, right };
    void column(std::string title, Align align = Align::right);
    void row(std::vector<std::string> cells);
    void rule(); // a line between groups of rows
    // A rule, where the group is another than that of the row before.
    void group(const std::string &name);
    // At most `room` columns of the terminal wide; 0: as wide as it is.
    std::string text(std::size_t room = table_width()) const;

  private:
    std::vector<std::size_t> widths() const;
    std::string part(const std::vector<std::size_t> &shown, const std::vector<std::size_t> &widths) const;

    struct Column {
        std::string title;
        Align align;
    };
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_; // an empty row is a rule
    std::string group_;
};

// Columns a terminal shows for UTF-8 text without combining or wide characters.
std::size_t display_width(const std::string &text);

// Three significant digits below 1,000, then thousands separators: "0.42", "17.3", "711", "30,000".  "-" for nothing.
std::string number(std::optional<double> value);
// A count, with separators.
std::string whole(std::optional<double> value);

} // namespace lab
