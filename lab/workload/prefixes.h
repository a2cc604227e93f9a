// SPDX-License-Identifier: MIT OR Apache-2.0
// IPv4 prefixes and the static table in which a route is looked up on a cache miss.
//
// The input is tor's geoip file: lines "first,last,CC" with the addresses as decimal numbers, ranges disjoint.  A range
// is split into the prefixes that cover it exactly, so the table looks like a routing table.
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
    uint16_t next_hop; // the two letters of the country
};

class PrefixTable
{
  public:
    // Prefixes may nest; order does not matter.
    explicit PrefixTable(std::vector<Prefix> prefixes = {});

    // The longest prefix that holds the address, or nullptr.
    const Prefix *find(uint32_t address) const;
    const std::vector<Prefix> &prefixes() const
    {
        return prefixes_;
    }

  private:
    std::vector<Prefix> prefixes_;   // by address, then by length
    std::vector<int32_t> enclosing_; // index of the next shorter prefix around each, or -1
};

// Split first..last (inclusive) into prefixes, appended to `prefixes`.
void append_range(uint32_t first, uint32_t last, uint16_t next_hop, std::vector<Prefix> &prefixes);

// Parse the text of such a file, or read it first.  A line that is neither a range, nor empty, nor a comment makes that
// fail: false, with `error` naming the line, and `prefixes` as they were.
bool parse_geoip(std::string_view text, std::vector<Prefix> &prefixes, std::string &error);
bool read_geoip(const std::string &file_name, std::vector<Prefix> &prefixes, std::string &error);

// A stand-in for machines without the file; every use of it is labelled.
std::vector<Prefix> generate_prefixes(std::size_t count, uint64_t seed);

} // namespace lab
