// SPDX-License-Identifier: MIT OR Apache-2.0
// The block that a copy of the library shows to other processes: how it is found, and its contents; see
// docs/inspect.md.
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
    std::string object; // in printable form
    uint64_t block = 0;
    bool is_private = false; // the process may have other copies, as a Rust program may
    std::string problem;     // the reason why the copy's note does not lead to a block; empty: it does
};

// Finds the copies of the library by the notes of the loaded objects.  Stripped and statically linked objects have
// these notes too.
std::vector<Copy> find_copies(const Memory &memory, const std::vector<Mapping> &mappings);

struct Field {
    uint32_t offset, bytes, stride, count;
};

class Block
{
  public:
    // Reads the block of a copy.  Returns nothing if the process has not finished loading the library.  Throws Refused
    // if the note or the block has another version or is truncated.
    static std::optional<Block> read(const Memory &memory, const Copy &copy);

    // Returns the description of a field; nullptr if this copy's block does not describe it.
    const Field *find(const std::string &name) const;
    // Returns the address of element `index` of the field `name` in the struct at `base`; 0 if the block does not
    // describe the field.
    uint64_t at(uint64_t base, const std::string &name, uint64_t index = 0) const;

    uint64_t first_domain = 0; // the address of the word that points to the first domain
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
