// SPDX-License-Identifier: MIT OR Apache-2.0
// Lays out tables and numbers.
#include "report/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "inspect/printable.h"

namespace lab
{

std::size_t display_width(const std::string &text)
{
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

static std::string pad(const std::string &text, std::size_t width, Table::Align align)
{
    std::string blank(width - std::min(width, display_width(text)), ' ');
    return align == Table::Align::left ? text + blank : blank + text;
}

void Table::column(std::string title, Align align)
{
    columns_.push_back({std::move(title), align});
}

void Table::row(std::vector<std::string> cells)
{
    cells.resize(columns_.size());
    for (std::string &cell : cells)
        cell = inspect::printable(cell);
    rows_.push_back(std::move(cells));
}

void Table::rule()
{
    if (!rows_.empty() && !rows_.back().empty())
        rows_.emplace_back();
}

void Table::group(const std::string &name)
{
    if (name != group_)
        rule();
    group_ = name;
}

std::vector<std::size_t> Table::widths() const
{
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); i++) {
        std::size_t width = display_width(columns_[i].title);
        for (const auto &row : rows_)
            width = std::max(width, row.empty() ? 0 : display_width(row[i]));
        widths.push_back(width);
    }
    return widths;
}

std::string Table::part(const std::vector<std::size_t> &shown, const std::vector<std::size_t> &widths) const
{
    std::string header, line;
    for (std::size_t i : shown) {
        const std::size_t gap = i == shown.front() ? 0 : 2;
        header += std::string(gap, ' ') + pad(columns_[i].title, widths[i], columns_[i].align);
        for (std::size_t j = 0; j < widths[i] + gap; j++)
            line += "─";
    }
    std::string result = header.substr(0, header.find_last_not_of(' ') + 1) + "\n" + line + "\n";
    for (const auto &row : rows_) {
        if (row.empty()) {
            result += line + "\n";
            continue;
        }
        std::string out;
        for (std::size_t i : shown)
            out += (i == shown.front() ? "" : "  ") + pad(row[i], widths[i], columns_[i].align);
        result += out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
    }
    return result;
}

// Where a table is wider than there is room, its columns go on below, each time beside the first one.
std::string Table::text(std::size_t room) const
{
    const std::vector<std::size_t> all = widths();
    std::string result;
    std::vector<std::size_t> shown;
    std::size_t used = 0;
    for (std::size_t i = 0; i < columns_.size(); i++) {
        if (room != 0 && shown.size() > 1 && used + 2 + all[i] > room) {
            result += part(shown, all) + "\n";
            shown = {0};
            used = all[0];
        }
        used += all[i] + (shown.empty() ? 0 : 2);
        shown.push_back(i);
    }
    return result + part(shown, all);
}

// What was chosen, if anything was.
static std::optional<std::size_t> &chosen_width()
{
    static std::optional<std::size_t> width;
    return width;
}

void choose_table_width(std::size_t width)
{
    chosen_width() = width;
}

std::size_t table_width()
{
    struct winsize size {
    };
    if (chosen_width())
        return *chosen_width();
    return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static std::string with_separators(double value)
{
    std::string digits = fmt::format("{:.0f}", std::abs(value));
    for (std::size_t at = digits.size(); at > 3; at -= 3)
        digits.insert(at - 3, ",");
    return (value < 0 ? "-" : "") + digits;
}

std::string whole(std::optional<double> value)
{
    return value ? with_separators(*value) : "-";
}

std::string number(std::optional<double> value)
{
    if (!value)
        return "-";
    double size = std::abs(*value);
    if (size == 0)
        return "0";
    if (size < 1)
        return fmt::format("{:.2f}", *value);
    if (size < 99.95)
        return fmt::format("{:.1f}", *value);
    return with_separators(*value);
}

} // namespace lab
