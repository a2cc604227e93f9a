// SPDX-License-Identifier: MIT OR Apache-2.0
// Draws density strips.
#include "report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "measure/histogram.h"
#include "report/table.h"

namespace lab
{

static const char *shade(double share)
{
    static constexpr std::array<const char *, 5> shades = {"·", "░", "▒", "▓", "█"};
    if (share <= 0)
        return " ";
    // The darkest cell has a tenth of the samples or more; each factor of ten less is one step lighter.
    double step = 5 + std::floor(std::log10(share));
    return shades[static_cast<std::size_t>(std::clamp(step, 0.0, 4.0))];
}

static std::string axis_label(double ns)
{
    if (ns >= 1e6)
        return fmt::format("{:g} ms", ns / 1e6);
    return ns >= 1e3 ? fmt::format("{:g} µs", ns / 1e3) : fmt::format("{:g} ns", ns);
}

// Labels the powers of ten below the strips.
static std::string axis(double low, double high, unsigned width, std::size_t indent)
{
    std::string ticks(width, ' '), labels;
    for (double value = low; value <= high * 1.0001; value *= 10) {
        auto at = static_cast<std::size_t>(std::log(value / low) / std::log(high / low) * (width - 1));
        ticks[at] = '|';
        const std::string text = axis_label(value);
        if (at >= display_width(labels))
            labels += std::string(at - display_width(labels), ' ') + text;
    }
    std::string blank(indent, ' ');
    return blank + ticks + "\n" + blank + labels + "\n";
}

std::string density_chart(const std::string &title, const std::vector<Strip> &strips, unsigned width)
{
    uint64_t smallest = UINT64_MAX, largest = 0;
    std::size_t indent = 0;
    for (const Strip &strip : strips) {
        indent = std::max(indent, display_width(strip.label) + 2);
        if (strip.values.empty())
            continue;
        auto [low, high] = std::minmax_element(strip.values.begin(), strip.values.end());
        smallest = std::min(smallest, *low);
        largest = std::max(largest, *high);
    }
    if (largest == 0)
        return {};
    const std::size_t room = table_width();
    if (room != 0)
        width = static_cast<unsigned>(std::clamp<std::size_t>(room - std::min(room, indent + 8), 20, width));
    const double low = std::pow(10, std::floor(std::log10(static_cast<double>(std::max<uint64_t>(smallest, 100)))));
    const double high = std::max(low * 10, std::pow(10, std::ceil(std::log10(static_cast<double>(largest)))));
    std::string result = title + "\n";
    for (const Strip &strip : strips) {
        result += strip.label + std::string(indent - display_width(strip.label), ' ');
        for (double count : log_histogram(strip.values, low, high, width))
            result += shade(count / static_cast<double>(std::max<std::size_t>(strip.values.size(), 1)));
        result += "\n";
    }
    return result + axis(low, high, width, indent);
}

} // namespace lab
