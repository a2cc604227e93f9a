// SPDX-License-Identifier: MIT OR Apache-2.0
// A dentry cache: names of a directory tree in one hash table, read under RCU, changed by one updater.
//
// Readers walk a path component by component: hash of (directory, name), chain, next component.  They follow `next` and
// read what never changes after publication.  The links between directory and children belong to the updater alone.
// An entry that goes away is unlinked and retired; a rename publishes a new entry of the same id first, so the children
// of a renamed directory, which are keyed by that id, stay where they are.
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
    Dentry *next; // hash chain: written by the updater, read by all
    // Updater only.
    Dentry *parent, *first_child, *next_sibling, *previous_sibling;
    // Constant after publication; the name follows the struct.
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
    // `expected`: how many entries it will hold; the table is sized for it once.
    Dcache(std::size_t expected, Reclaimer &reclaimer);
    ~Dcache(); // frees what is still linked; nobody may read or wait any more
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

    // ---- inside a section, or the updater.  Paths are components separated by '/'; "" is `from` itself.
    const Dentry *walk(const Dentry *from, std::string_view path) const;
    // Read every entry; stops early when asked.  Returns the sum of the name lengths, so that nothing is optimised
    // away.
    uint64_t dump(const std::atomic<bool> &stop) const;

    // ---- updater only.  Each returns false, having changed nothing, where the file system would refuse.
    // The parent must exist and be a directory, the name must be free.
    bool create(const Dentry *from, std::string_view path, bool directory);
    // A directory must be empty.
    bool remove(const Dentry *from, std::string_view path);
    // Replaces what has the new name, unless that is a directory with children or lies inside what is moved.
    bool rename(const Dentry *from, std::string_view old_path, std::string_view new_path);
    // An entry and all below it.  Returns how many went.
    std::size_t remove_tree(const Dentry *from, std::string_view path);
    // How many children a directory has, counted up to a limit, as a listing would.
    std::size_t list(const Dentry *directory, std::size_t limit) const;
    // Add below a known parent without looking whether the name is free: for filling from a tree.
    Dentry *add(const Dentry *parent, std::string_view name, bool directory);

  private:
    Dentry *find_child(uint32_t parent_id, std::string_view name, uint32_t hash) const;
    // The directory that would hold the last component, and that component.
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
