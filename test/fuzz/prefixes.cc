// SPDX-License-Identifier: MIT OR Apache-2.0
// Fuzzing of the reader of address ranges: its prefixes cover each range exactly, and the table finds the longest.
#include "workload/prefixes.h"

#include <algorithm>
#include <array>

#include "check.h"

namespace
{

using lab::Prefix;

struct Range {
    uint64_t first, last;
    uint16_t next_hop;
};

bool same(const std::vector<Prefix> &a, const std::vector<Prefix> &b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Prefix &x, const Prefix &y) {
        return x.address == y.address && x.length == y.length && x.next_hop == y.next_hop;
    });
}

uint64_t size_of(const Prefix &prefix)
{
    return uint64_t{1} << (32 - prefix.length);
}

bool holds(const Prefix &prefix, uint32_t address)
{
    return address >= prefix.address && address < prefix.address + size_of(prefix);
}

// Reads a line of the form digits, comma, digits, comma, two characters, without the parser under test.
bool read_range(const std::string &line, Range &range)
{
    constexpr const char *digits = "0123456789";
    std::array<uint64_t *, 2> numbers = {&range.first, &range.last};
    std::size_t at = 0;
    for (uint64_t *number : numbers) {
        const std::size_t end = line.find_first_not_of(digits, at);
        if (end == at || end == std::string::npos || line[end] != ',')
            return false;
        *number = 0;
        for (; at < end; at++)
            *number = std::min<uint64_t>(*number * 10 + static_cast<uint64_t>(line[at] - '0'), UINT32_MAX + 1ull);
        at++;
    }
    if (line.size() - at != 2 || range.first > range.last || range.last > UINT32_MAX)
        return false;
    const auto high = static_cast<uint8_t>(line[at]), low = static_cast<uint8_t>(line[at + 1]);
    range.next_hop = static_cast<uint16_t>(high << 8 | low);
    return true;
}

// Reads the ranges of the text.  Returns the number of the first line that is not a range, or 0.
std::size_t read_ranges(const std::string &text, std::vector<Range> &ranges)
{
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        Range range{};
        number++;
        if (!line.empty() && line[0] != '#') {
            if (!read_range(line, range))
                return number;
            ranges.push_back(range);
        }
        begin = end + 1;
    }
    return 0;
}

void check_covered(const std::vector<Range> &ranges, const std::vector<Prefix> &prefixes)
{
    std::size_t at = 0;
    for (const Range &range : ranges) {
        uint64_t next = range.first;
        for (; next <= range.last; at++) {
            check(at < prefixes.size() && prefixes[at].length <= 32, "a range has its prefixes");
            check(prefixes[at].address == next && next % size_of(prefixes[at]) == 0, "prefixes are aligned and adjoin");
            check(prefixes[at].next_hop == range.next_hop, "a prefix leads where its range does");
            next += size_of(prefixes[at]);
        }
        check(next == range.last + 1, "prefixes end where their range does");
    }
    check(at == prefixes.size(), "no prefix is without a range");
}

void check_found(const lab::PrefixTable &table, uint32_t address)
{
    int longest = -1;
    for (const Prefix &prefix : table.prefixes())
        if (holds(prefix, address))
            longest = std::max<int>(longest, prefix.length);
    const Prefix *found = table.find(address);
    check((found ? found->length : -1) == longest, "the longest prefix is found");
    check(!found || holds(*found, address), "what is found holds the address");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const std::string text(reinterpret_cast<const char *>(data), size);
    const std::vector<Prefix> before = {{1, 32, 1}};
    std::vector<Prefix> prefixes = before;
    std::vector<Range> ranges;
    std::string error;
    const std::size_t wrong = read_ranges(text, ranges);
    if (!lab::parse_geoip(text, prefixes, error)) {
        check(same(prefixes, before), "a refused file changes nothing");
        const std::string expected = wrong != 0 ? "line " + std::to_string(wrong) + ": " : "the file has no range";
        check(error.starts_with(expected), "what is refused names the line, or says that there is none");
        check(wrong != 0 || ranges.empty(), "a correct text is accepted");
        return 0;
    }
    check(wrong == 0 && !ranges.empty(), "a wrong text is refused");
    check_covered(ranges, prefixes);
    const lab::PrefixTable table(prefixes);
    for (std::size_t i = 0; i < std::min<std::size_t>(ranges.size(), 16); i++)
        for (uint64_t address : {ranges[i].first - 1, ranges[i].first, ranges[i].last, ranges[i].last + 1})
            check_found(table, static_cast<uint32_t>(address));
    return 0;
}
