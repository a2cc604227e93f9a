// SPDX-License-Identifier: MIT OR Apache-2.0
// The block that a copy of the library shows to other processes: how it is found, and what it says; docs/inspect.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inspect/memory.h"

namespace lab::inspect
{

// A copy of the library in a process: the object that contains it, and where its block is.
struct Copy {
    std::string object; // as it may be shown
    uint64_t block = 0;
    bool is_private = false; // beside it there may be others, as in a Rust program
    std::string problem;     // why its note leads to no block
};

// By the notes of the objects that are loaded; stripped and static ones have them too.
std::vector<Copy> find_copies(const Memory &memory, const std::vector<Mapping> &mappings);

struct Field {
    uint32_t offset, bytes, stride, count;
};

class Block
{
  public:
    // Nothing, where the process has not come so far yet; throws where note or block are of another version, or cut
    // short.
    static std::optional<Block> read(const Memory &memory, const Copy &copy);

    // nullptr: that library does not tell it.
    const Field *find(const std::string &name) const;
    // Where element `index` of that field of the struct at `base` stands; 0: it does not tell.
    uint64_t at(uint64_t base, const std::string &name, uint64_t index = 0) const;

    uint64_t first_domain = 0; // the address of the word that has its address
    uint64_t seq_first = 0, seq_step = 4;
    std::string library;
    const std::map<std::string, Field> &fields() const
    {
        return fields_;
    }

  private:
    std::map<std::string, Field> fields_;
};

} // namespace lab::inspect
