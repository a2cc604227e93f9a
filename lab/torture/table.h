// SPDX-License-Identifier: MIT OR Apache-2.0
// A hash table that writers grow and shrink under all readers.  Some entries stay in it: look-ups and walks must find
// them.
#pragma once

#include <rtrcu/table.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "torture/random.h"
#include "torture/shared.h"

namespace lab::torture
{

struct Context;

// An entry of the hash table.  Its members are deliberately not atomic: the table must order the accesses, and
// ThreadSanitizer checks this.
struct TableEntry {
    rtrcu_hash_node node;
    rcu_head head;
    Context *context;
    uint64_t canary, key, version, version_again;
};

class Table
{
  public:
    // Keys below this number are always in the table; writers only replace their entries.
    static constexpr uint64_t lasting = 96;
    static constexpr uint64_t none = ~UINT64_C(0);

    explicit Table(Context &context);
    ~Table();
    Table(const Table &) = delete;
    Table &operator=(const Table &) = delete;
    bool exists() const
    {
        return table_ != nullptr;
    }
    uint64_t resizes() const;

    // The two entries that a section has looked up; nullptr: not found.
    struct Seen {
        const TableEntry *entries[2];
        uint64_t keys[2];
    };
    // Looks two keys up; called by readers inside a section, also in signal handlers.
    Seen look_up(Random &random, const ActorRecord &record) const;
    void check(const Seen &seen, const ActorRecord &record) const;
    // Check that every lasting key is found: check_lasting() by look-ups; walk() by a walk, in calls that visit
    // `buckets` buckets each, which must visit each key exactly once.
    void check_lasting(const char *who) const;
    void walk(unsigned int buckets, const char *who) const;

    // Called inside a section, and only by the key's writer.
    void insert(uint64_t key, TableEntry *&own);
    void replace(TableEntry *&own);
    void remove(TableEntry *&own);
    std::vector<TableEntry *> &lasting_entries()
    {
        return lasting_;
    }
    // Checks that only the lasting entries are left.
    void check_end() const;

  private:
    TableEntry *make(uint64_t key);
    void retire(TableEntry *entry);
    const TableEntry *find(uint64_t key) const;

    Context &context_;
    rtrcu_hash *table_ = nullptr;
    std::atomic<uint64_t> version_{0};
    std::vector<TableEntry *> lasting_; // only the writer of a key changes the key's element
};

// Checks that a forked child can grow a table of its own, with a resizer of its own.
void check_table_of_child(Context &context);

} // namespace lab::torture
