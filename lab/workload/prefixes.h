// SPDX-License-Identifier: MIT OR Apache-2.0
// IPv4 prefixes, and the static table that finds the route after a cache miss.
//
// The input is tor's geoip file: lines "first,last,CC" with the addresses as decimal numbers and disjoint ranges.  A
// range
// is split into the prefixes that cover it exactly, so the table resembles a routing table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lab
{

struct Prefix {
    uint32_t address;
    uint8_t length;
    uint16_t next_hop; // the two letters of the country code
};

class PrefixTable
{
  public:
    // Prefixes may nest, and may be in any order.
    explicit PrefixTable(std::vector<Prefix> prefixes = {});

    // Returns the longest prefix that contains the address, or nullptr.
    const Prefix *find(uint32_t address) const;
    const std::vector<Prefix> &prefixes() const
    {
        return prefixes_;
    }

  private:
    std::vector<Prefix> prefixes_;   // sorted by address, then by length
    std::vector<int32_t> enclosing_; // for each prefix, the index of the longest other prefix that contains it, or -1
};

// Splits first..last (inclusive) into prefixes, and appends them to `prefixes`.
void append_range(uint32_t first, uint32_t last, uint16_t next_hop, std::vector<Prefix> &prefixes);

// Parse the text of a geoip file; read_geoip() first reads the file.  Each line must be a range, a comment or empty;
// otherwise the functions return false, `error` names the line, and `prefixes` is unchanged.
bool parse_geoip(std::string_view text, std::vector<Prefix> &prefixes, std::string &error);
bool read_geoip(const std::string &file_name, std::vector<Prefix> &prefixes, std::string &error);

// Generates prefixes, for machines without the file.
std::vector<Prefix> generate_prefixes(std::size_t count, uint64_t seed);

} // namespace lab
