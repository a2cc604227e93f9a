// SPDX-License-Identifier: MIT OR Apache-2.0
// The parser of the geoip file, and the longest-prefix lookup.
#include "workload/prefixes.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <sstream>

namespace lab
{

static uint64_t prefix_size(const Prefix &prefix)
{
    return uint64_t{1} << (32 - prefix.length);
}

static bool holds(const Prefix &prefix, uint32_t address)
{
    return address - prefix.address < prefix_size(prefix) && address >= prefix.address;
}

PrefixTable::PrefixTable(std::vector<Prefix> prefixes) : prefixes_(std::move(prefixes))
{
    std::sort(prefixes_.begin(), prefixes_.end(), [](const Prefix &a, const Prefix &b) {
        return a.address != b.address ? a.address < b.address : a.length < b.length;
    });
    // Finds the enclosing prefix of each prefix in one pass, with a stack of the prefixes around the current one.
    enclosing_.assign(prefixes_.size(), -1);
    std::vector<int32_t> around;
    for (std::size_t i = 0; i < prefixes_.size(); i++) {
        while (!around.empty() && !holds(prefixes_[static_cast<std::size_t>(around.back())], prefixes_[i].address))
            around.pop_back();
        enclosing_[i] = around.empty() ? -1 : around.back();
        around.push_back(static_cast<int32_t>(i));
    }
}

const Prefix *PrefixTable::find(uint32_t address) const
{
    auto after = std::upper_bound(prefixes_.begin(), prefixes_.end(), address,
                                  [](uint32_t value, const Prefix &prefix) { return value < prefix.address; });
    auto index = static_cast<int32_t>(after - prefixes_.begin()) - 1;
    for (; index >= 0; index = enclosing_[static_cast<std::size_t>(index)])
        if (holds(prefixes_[static_cast<std::size_t>(index)], address))
            return &prefixes_[static_cast<std::size_t>(index)];
    return nullptr;
}

void append_range(uint32_t first, uint32_t last, uint16_t next_hop, std::vector<Prefix> &prefixes)
{
    uint64_t at = first;
    const uint64_t end = uint64_t{last} + 1;
    // Each prefix is as large as the alignment of its address and the rest of the range allow: at most 62
    // iterations.
    while (at < end) {
        unsigned bits = at == 0 ? 32 : static_cast<unsigned>(std::countr_zero(at));
        while ((uint64_t{1} << bits) > end - at)
            bits--;
        prefixes.push_back({static_cast<uint32_t>(at), static_cast<uint8_t>(32 - bits), next_hop});
        at += uint64_t{1} << bits;
    }
}

static bool parse_range(std::string_view line, std::vector<Prefix> &prefixes)
{
    uint32_t first = 0, last = 0;
    const char *end = line.data() + line.size();
    auto [comma, first_error] = std::from_chars(line.data(), end, first);
    if (first_error != std::errc{} || comma == end || *comma != ',')
        return false;
    auto [second, last_error] = std::from_chars(comma + 1, end, last);
    if (last_error != std::errc{} || end - second != 3 || *second != ',' || last < first)
        return false;
    const auto high = static_cast<uint8_t>(second[1]), low = static_cast<uint8_t>(second[2]);
    append_range(first, last, static_cast<uint16_t>(high << 8 | low), prefixes);
    return true;
}

bool parse_geoip(std::string_view text, std::vector<Prefix> &prefixes, std::string &error)
{
    std::vector<Prefix> whole;
    for (std::size_t number = 1; !text.empty(); number++) {
        std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.front() == '#')
            continue;
        if (!parse_range(line, whole)) {
            error = fmt::format("line {}: '{}' is not \"first,last,CC\" with first <= last", number, line);
            return false;
        }
    }
    if (whole.empty()) {
        error = "the file has no range";
        return false;
    }
    prefixes = std::move(whole);
    return true;
}

bool read_geoip(const std::string &file_name, std::vector<Prefix> &prefixes, std::string &error)
{
    std::ifstream file(file_name, std::ios::binary);
    if (!file) {
        error =
            fmt::format("{}: cannot be read; install the tor-geoipdb package or name a file with --geoip", file_name);
        return false;
    }
    std::stringstream text;
    text << file.rdbuf();
    if (!parse_geoip(text.str(), prefixes, error)) {
        error = fmt::format("{}: {}", file_name, error);
        return false;
    }
    return true;
}

std::vector<Prefix> generate_prefixes(std::size_t count, uint64_t seed)
{
    std::vector<Prefix> prefixes;
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < count; i++) {
        // Lengths from /12 to /24, most of them long, as in a routing table.
        auto length = static_cast<uint8_t>(24 - std::countr_zero(random() | 1u << 12));
        auto address = static_cast<uint32_t>(random()) & ~uint32_t{0} << (32 - length);
        prefixes.push_back({address, length, static_cast<uint16_t>(random())});
    }
    return prefixes;
}

} // namespace lab
