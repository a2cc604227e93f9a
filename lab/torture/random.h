// SPDX-License-Identifier: MIT OR Apache-2.0
// Random choices that a seed replays: every actor has a stream of its own, derived from its name.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace lab::torture
{

class Random
{
  public:
    Random(uint64_t seed, std::string_view stream, uint64_t index)
    {
        std::vector<uint32_t> words = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                                       static_cast<uint32_t>(index)};
        words.insert(words.end(), stream.begin(), stream.end());
        std::seed_seq sequence(words.begin(), words.end());
        engine_.seed(sequence);
    }
    // Returns a number from 0 to n - 1, with the small bias of the remainder.
    uint64_t below(uint64_t n)
    {
        return engine_() % n;
    }
    int64_t between(int64_t low, int64_t high)
    {
        return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low + 1)));
    }
    bool one_in(uint64_t n)
    {
        return below(n) == 0;
    }
    template <class Container> auto &pick(Container &container)
    {
        return container[below(container.size())];
    }

  private:
    std::mt19937_64 engine_;
};

} // namespace lab::torture
