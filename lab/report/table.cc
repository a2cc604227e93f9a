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

// Returns lines of at most `width` columns, broken at spaces; a longer word has a line of its own.
static std::vector<std::string> wrapped(const std::string &text, std::size_t width)
{
    std::vector<std::string> lines;
    std::string rest = text;
    while (display_width(rest) > width) {
        std::size_t at = std::string::npos;
        for (std::size_t space = rest.find(' ', 1); space != std::string::npos; space = rest.find(' ', space + 1)) {
            if (at == std::string::npos || display_width(rest.substr(0, space)) <= width)
                at = space;
        }
        if (at == std::string::npos)
            break;
        lines.push_back(rest.substr(0, at));
        rest.erase(0, rest.find_first_not_of(' ', at));
    }
    lines.push_back(rest);
    return lines;
}

// Returns the columns' widths.  A column that does not fit beside the first column gets the width that remains there.
std::vector<std::size_t> Table::widths(std::size_t room) const
{
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); i++) {
        std::size_t width = display_width(columns_[i].title);
        for (const auto &row : rows_)
            width = std::max(width, row.empty() ? 0 : display_width(row[i]));
        const std::size_t beside = widths.empty() ? room : room - std::min(room, widths.front() + 2);
        widths.push_back(room == 0 || beside == 0 ? width : std::min(width, beside));
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
        std::vector<std::vector<std::string>> cells;
        std::size_t lines = 0;
        for (std::size_t i : shown) {
            cells.push_back(wrapped(row[i], widths[i]));
            lines = std::max(lines, cells.back().size());
        }
        for (std::size_t at = 0; at < lines; at++) {
            std::string out;
            for (std::size_t i = 0; i < shown.size(); i++)
                out += (i == 0 ? "" : "  ") +
                       pad(at < cells[i].size() ? cells[i][at] : "", widths[shown[i]], columns_[shown[i]].align);
            result += out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
        }
    }
    return result;
}

// A table wider than `room` is divided into parts below each other, each of which repeats the first column.
std::string Table::text(std::size_t room) const
{
    const std::vector<std::size_t> all = widths(room);
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

// Returns the width that was set, if any.
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
    for (int file : {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO}) {
        if (isatty(file) != 0 && ioctl(file, TIOCGWINSZ, &size) == 0)
            return size.ws_col;
    }
    return 0;
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
