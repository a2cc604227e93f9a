// SPDX-License-Identifier: MIT OR Apache-2.0
// A table of text cells with aligned columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lab
{

class Table
{
  public:
    enum class Align { left, right };
    void column(std::string title, Align align = Align::right);
    void row(std::vector<std::string> cells);
    void rule(); // a line between groups of rows
    // A rule, where the group is another than that of the row before.
    void group(const std::string &name);
    std::string text() const;

  private:
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
