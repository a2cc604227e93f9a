// SPDX-License-Identifier: MIT OR Apache-2.0
// A dentry cache: the names of a directory tree in one hash table, read under RCU and changed by one updater.
//
// Readers walk a path component by component: they hash (directory, name), search the chain, and go on with the next
// component.  They follow `next`, and read only fields that do not change after publication.  Only the updater uses the
// links between directory and children.  A removed entry is unlinked and retired. A rename first publishes a new entry
// with the same id, so the children of a renamed directory, whose keys contain that id, need not be moved.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "peer/peer.h"
#include "workload/reclaimer.h"

namespace lab
{

struct Dentry {
    RetiredHead head;
    Dentry *next; // hash chain: written by the updater, read by all threads
    // Used by the updater only.
    Dentry *parent, *first_child, *next_sibling, *previous_sibling;
    // The following fields do not change after publication.  The name is stored directly after the struct.
    uint32_t id, parent_id, hash;
    uint16_t name_length;
    bool directory;

    std::string_view name() const
    {
        return {reinterpret_cast<const char *>(this + 1), name_length};
    }
};

class Dcache
{
  public:
    // `expected`: the number of entries, which determines the size of the hash table for good.
    Dcache(std::size_t expected, Reclaimer &reclaimer);
    ~Dcache(); // frees all linked entries; no thread may read or wait any more
    Dcache(const Dcache &) = delete;
    Dcache &operator=(const Dcache &) = delete;

    const Dentry *root() const
    {
        return root_;
    }
    std::size_t size() const
    {
        return size_;
    }

    // ---- Called by readers inside a section, and by the updater.  Paths are components separated by '/'; "" is `from`
    // itself.
    const Dentry *walk(const Dentry *from, std::string_view path) const;
    // Reads every entry, or fewer if `stop` is set.  Returns the sum of the name lengths, so that the compiler does not
    // remove the reads.
    uint64_t dump(const std::atomic<bool> &stop) const;

    // ---- Called by the updater only.  Each returns false and changes nothing if a file system would refuse. The
    // parent must exist and be a directory, and the name must be free.
    bool create(const Dentry *from, std::string_view path, bool directory);
    // Removes an entry.  A directory must be empty.
    bool remove(const Dentry *from, std::string_view path);
    // Moves an entry, and replaces an entry with the new name.  Fails if that entry is a directory with children, or if
    // the new name is inside the moved directory.
    bool rename(const Dentry *from, std::string_view old_path, std::string_view new_path);
    // Removes an entry and everything below it.  Returns the number of entries removed.
    std::size_t remove_tree(const Dentry *from, std::string_view path);
    // Returns the number of a directory's children, at most `limit`, counted as a listing would.
    std::size_t list(const Dentry *directory, std::size_t limit) const;
    // Adds an entry without checking that the name is free; for filling the cache from a tree.
    Dentry *add(const Dentry *parent, std::string_view name, bool directory);

  private:
    Dentry *find_child(uint32_t parent_id, std::string_view name, uint32_t hash) const;
    // Returns the directory that would contain the last component, and that component.
    Dentry *parent_of(const Dentry *from, std::string_view path, std::string_view &last) const;
    Dentry *make(std::string_view name, uint32_t hash, bool directory);
    void publish(Dentry *entry, Dentry *parent);
    void unlink(Dentry *entry);
    void retire(Dentry *entry);
    Dentry **bucket(uint32_t parent_id, uint32_t hash) const
    {
        return &buckets_[(hash ^ parent_id * 0x9e3779b1u) & mask_];
    }

    mutable std::vector<Dentry *> buckets_;
    uint32_t mask_;
    uint32_t next_id_ = 0;
    std::size_t size_ = 0;
    Reclaimer *reclaimer_;
    Dentry *root_;
};

} // namespace lab
