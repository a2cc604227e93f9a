/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A table of prefixes with a naive one to compare: a sorted map, searched length by length. */
#ifndef RTRCU_TEST_UNIT_LPM_PREFIXES_H
#define RTRCU_TEST_UNIT_LPM_PREFIXES_H

#include <array>
#include <cerrno>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "../../support/internals.h"

extern "C" {
#include "lpm/lpm.h"
}

namespace test
{

using Key = std::array<uint8_t, 16>;
using Prefix = std::pair<Key, unsigned int>;

inline Key masked(Key key, unsigned int length)
{
    for (unsigned int bit = length; bit < 128; bit++)
        key[bit / 8] &= static_cast<uint8_t>(~(128 >> bit % 8));
    return key;
}

class Prefixes
{
  public:
    explicit Prefixes(unsigned int bits) : bits_(bits), error_(rtrcu_lpm_create(&lpm_, bits))
    {
    }
    ~Prefixes()
    {
        rtrcu_lpm_destroy(lpm_);
        rcu_barrier();
    }
    Prefixes(const Prefixes &) = delete;
    Prefixes &operator=(const Prefixes &) = delete;

    int error() const
    {
        return error_;
    }
    rtrcu_lpm *get() const
    {
        return lpm_;
    }
    unsigned int bits() const
    {
        return bits_;
    }
    const std::map<Prefix, void *> &naive() const
    {
        return naive_;
    }

    /* Each of these functions changes both tables, and returns whether their results agree. */
    bool insert(const Key &key, unsigned int length, void *value)
    {
        bool fresh = naive_.emplace(Prefix(masked(key, length), length), value).second;
        return rtrcu_lpm_insert(lpm_, key.data(), length, value) == (fresh ? 0 : -EEXIST);
    }
    bool replace(const Key &key, unsigned int length, void *value)
    {
        auto found = naive_.find({masked(key, length), length});
        void *old = nullptr, *expected = found == naive_.end() ? nullptr : std::exchange(found->second, value);
        return rtrcu_lpm_replace(lpm_, key.data(), length, value, &old) == (expected ? 0 : -ENOENT) && old == expected;
    }
    bool remove(const Key &key, unsigned int length)
    {
        auto found = naive_.find({masked(key, length), length});
        void *old = nullptr, *expected = found == naive_.end() ? nullptr : found->second;
        if (expected)
            naive_.erase(found);
        return rtrcu_lpm_remove(lpm_, key.data(), length, &old) == (expected ? 0 : -ENOENT) && old == expected;
    }

    void *find(const Key &key) const
    {
        rcu_read_lock();
        void *value = rtrcu_lpm_lookup(lpm_, key.data());
        rcu_read_unlock();
        return value;
    }
    void *find_naively(const Key &key) const
    {
        for (unsigned int length = bits_ + 1; length-- > 0;) {
            auto found = naive_.find({masked(key, length), length});
            if (found != naive_.end())
                return found->second;
        }
        return nullptr;
    }
    struct rtrcu_lpm_counters stats() const
    {
        struct rtrcu_lpm_counters now;
        rtrcu_lpm_stats(lpm_, &now);
        return now;
    }

    /* All prefixes in the order of a walk by calls of @steps steps. */
    std::vector<std::pair<Prefix, void *>> walk(unsigned int steps) const
    {
        std::vector<std::pair<Prefix, void *>> seen;
        rtrcu_lpm_cursor cursor = {};
        auto note = [](const uint8_t *key, unsigned int length, void *value, void *argument) {
            Key copy = {};
            std::copy(key, key + copy.size(), copy.begin());
            static_cast<decltype(seen) *>(argument)->push_back({{copy, length}, value});
        };
        while (rtrcu_lpm_walk(lpm_, &cursor, steps, note, &seen))
            ;
        return seen;
    }
    std::vector<std::pair<Prefix, void *>> sorted() const
    {
        return {naive_.begin(), naive_.end()};
    }

    /* Returns whether both tables find the same value for @key. */
    bool agrees(const Key &key) const
    {
        return find(key) == find_naively(key);
    }

  private:
    unsigned int bits_;
    rtrcu_lpm *lpm_ = nullptr;
    int error_;
    std::map<Prefix, void *> naive_;
};

/* Random prefixes of few different bytes, so that many nest. */
class RandomPrefixes
{
  public:
    RandomPrefixes(unsigned int seed, unsigned int bits) : random_(seed), bits_(bits)
    {
    }
    unsigned int below(unsigned int limit)
    {
        return std::uniform_int_distribution<unsigned int>(0, limit - 1)(random_);
    }
    Key key()
    {
        Key key = {};
        for (uint8_t &byte : key)
            byte = below(4) ? static_cast<uint8_t>(below(3) * 127) : static_cast<uint8_t>(below(256));
        return masked(key, bits_);
    }
    unsigned int length()
    {
        return below(8) ? below(bits_ + 1) : below(bits_ < 16 ? bits_ + 1 : 17);
    }
    void *value()
    {
        return &values_[below(5)];
    }

  private:
    std::mt19937 random_;
    unsigned int bits_;
    long values_[5] = {};
};

} // namespace test

#endif
