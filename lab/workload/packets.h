// SPDX-License-Identifier: MIT OR Apache-2.0
// Packets' destinations: random addresses inside real prefixes; the destination changes after every five packets.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "workload/prefixes.h"

namespace lab
{

class PacketSource
{
  public:
    static constexpr unsigned packets_a_destination = 5;

    PacketSource(const PrefixTable &table, std::size_t destinations, uint64_t seed)
        : random_(static_cast<unsigned>(seed + 1))
    {
        const auto &prefixes = table.prefixes();
        for (std::size_t i = 0; i < destinations; i++) {
            const Prefix &prefix = prefixes[random_() % prefixes.size()];
            uint64_t size = uint64_t{1} << (32 - prefix.length);
            destinations_.push_back(prefix.address + static_cast<uint32_t>(random_() % size));
        }
    }
    uint32_t next()
    {
        if (count_++ % packets_a_destination == 0)
            current_ = destinations_[random_() % destinations_.size()];
        return current_;
    }
    uint64_t count() const
    {
        return count_;
    }

  private:
    std::minstd_rand random_;
    std::vector<uint32_t> destinations_;
    uint64_t count_ = 0;
    uint32_t current_ = 0;
};

} // namespace lab
