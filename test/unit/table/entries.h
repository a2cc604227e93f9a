/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entries with a key, and a table that is destroyed at the end of its test. */
#ifndef RTRCU_TEST_UNIT_TABLE_ENTRIES_H
#define RTRCU_TEST_UNIT_TABLE_ENTRIES_H

#include <deque>
#include <map>
#include <vector>

#include "../../support/internals.h"
#include "../../support/sync.h"

extern "C" {
#include "table/table.h"
}

namespace test
{

struct Entry {
    rtrcu_hash_node node;
    uint64_t key;
};

inline Entry *entry_of(const rtrcu_hash_node *node)
{
    return reinterpret_cast<Entry *>(const_cast<rtrcu_hash_node *>(node));
}

inline bool has_key(const rtrcu_hash_node *node, const void *key)
{
    return entry_of(node)->key == *static_cast<const uint64_t *>(key);
}

struct Options {
    uint64_t buckets = 0, limit = 0, longest = 0, seed = 0;
};

/* The first step of a resize, under the resizer's lock. */
inline bool begin_resize(struct table *table, uint64_t buckets)
{
    table->to = generation_create(table, buckets);
    return table->to != nullptr;
}

class Table
{
  public:
    explicit Table(Options options = {})
    {
        rtrcu_hash_config config = {};
        config.buckets = options.buckets;
        config.limit = options.limit;
        config.longest = options.longest;
        config.seed = options.seed;
        error_ = rtrcu_hash_create(&table_, &config);
    }
    ~Table()
    {
        rtrcu_hash_destroy(table_);
        synchronize_rcu();
    }
    Table(const Table &) = delete;
    Table &operator=(const Table &) = delete;

    int error() const
    {
        return error_;
    }
    rtrcu_hash *get() const
    {
        return table_;
    }

    Entry *make(uint64_t key)
    {
        Entry *entry = &entries_.emplace_back();
        entry->key = key;
        return entry;
    }
    int insert(uint64_t hash, Entry *entry, rtrcu_hash_node **existing = nullptr)
    {
        rcu_read_lock();
        int result = rtrcu_hash_insert(table_, hash, &entry->node, has_key, &entry->key, existing);
        rcu_read_unlock();
        return result;
    }
    int insert(uint64_t key)
    {
        return insert(key, make(key));
    }
    int add(uint64_t hash, Entry *entry)
    {
        rcu_read_lock();
        int result = rtrcu_hash_add(table_, hash, &entry->node);
        rcu_read_unlock();
        return result;
    }
    int remove(Entry *entry)
    {
        rcu_read_lock();
        int result = rtrcu_hash_remove(table_, &entry->node);
        rcu_read_unlock();
        return result;
    }
    int replace(Entry *old, Entry *fresh)
    {
        rcu_read_lock();
        int result = rtrcu_hash_replace(table_, &old->node, &fresh->node);
        rcu_read_unlock();
        return result;
    }
    Entry *find(uint64_t hash, uint64_t key) const
    {
        rcu_read_lock();
        rtrcu_hash_node *node = rtrcu_hash_lookup(table_, hash, has_key, &key);
        rcu_read_unlock();
        return node ? entry_of(node) : nullptr;
    }
    Entry *find(uint64_t key) const
    {
        return find(key, key);
    }
    struct rtrcu_hash_counters stats() const
    {
        struct rtrcu_hash_counters now;
        ::rtrcu_hash_stats(table_, &now);
        return now;
    }
    bool has_all(uint64_t count) const
    {
        for (uint64_t key = 0; key < count; key++)
            if (!find(key))
                return false;
        return true;
    }
    bool becomes(uint64_t buckets) const
    {
        return eventually([&] { return stats().buckets == buckets; });
    }
    /* Returns whether the number of buckets fits the number of entries. */
    bool fits() const
    {
        return eventually([&] {
            struct rtrcu_hash_counters now = stats();
            return 2 * now.entries <= 9 * now.buckets && now.entries >= now.buckets;
        });
    }
    /* Returns how often a walk in calls of @buckets buckets each visits each key. */
    std::map<uint64_t, int> walk(unsigned int buckets) const
    {
        std::map<uint64_t, int> seen;
        uint64_t cursor = 0;
        auto count = [](rtrcu_hash_node *node, void *argument) {
            (*static_cast<std::map<uint64_t, int> *>(argument))[entry_of(node)->key]++;
        };
        while (rtrcu_hash_walk(table_, &cursor, buckets, count, &seen))
            ;
        return seen;
    }

  private:
    rtrcu_hash *table_ = nullptr;
    int error_ = 0;
    std::deque<Entry> entries_;
};

} // namespace test

#endif
