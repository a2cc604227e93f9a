// SPDX-License-Identifier: MIT OR Apache-2.0
// The directory tree that fills the dentry cache: the machine's own, or a generated one that is marked as such.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lab
{

struct TreeEntry {
    uint32_t parent; // index of the directory; the root is its own parent
    uint32_t name_offset;
    uint16_t name_length;
    bool directory;
};

struct Tree {
    std::string label; // "/usr", or "generated tree (seed 1)"
    bool synthetic = false;
    bool truncated = false;         // the walk ended at a limit on entries or time
    std::vector<TreeEntry> entries; // parents precede their children; entry 0 is the root
    std::string names;

    std::string_view name(std::size_t index) const
    {
        return std::string_view(names).substr(entries[index].name_offset, entries[index].name_length);
    }
    // Returns the path below the root, with components separated by '/'.
    std::string path(std::size_t index) const;
    uint32_t add(uint32_t parent, std::string_view name, bool directory);
};

// Walks `root` breadth first, up to a number of entries and a time.  Directories that may not be read are left out.
// Returns false and sets `error`, with advice, if the root cannot be read.
bool read_tree(const std::string &root, std::size_t max_entries, int64_t max_ns, Tree &tree, std::string &error);

Tree generate_tree(std::size_t entries, uint64_t seed);

} // namespace lab
