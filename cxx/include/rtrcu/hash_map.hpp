// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu::hash_map: a map that many threads read and change while it grows and shrinks; C++17 and later.
//
//     rtrcu::hash_map<std::string, route> routes;
//     routes.insert_or_assign("10.0.0.0/8", route{1});
//     if (auto now = routes.find("10.0.0.0/8"))  // a section, and the value that the key has in it
//         use(now->port);
//
// A published value never changes: update() and insert_or_assign() replace it.  Removed values are destroyed after a
// grace period, by the invoker of callbacks (docs/callbacks.md).  The comparison is called under a lock of the table:
// it must not throw nor use a table.
#ifndef RTRCU_HASH_MAP_HPP
#define RTRCU_HASH_MAP_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include <rtrcu/cell.hpp>
#include <rtrcu/table.h>

namespace rtrcu
{

namespace detail
{

// The part of an entry that the library uses.
struct hash_links {
    rtrcu_hash_node node; // first
    head retired;

    static hash_links *of(rtrcu_hash_node *node) noexcept
    {
        return reinterpret_cast<hash_links *>(node);
    }
    static const hash_links *of(const rtrcu_hash_node *node) noexcept
    {
        return reinterpret_cast<const hash_links *>(node);
    }
    static hash_links *of(rcu_head *at) noexcept
    {
        return reinterpret_cast<hash_links *>(reinterpret_cast<char *>(at) - offsetof(hash_links, retired));
    }
};

// Each entry keeps a copy of the map's allocator, since the map may have been destroyed when the entry is freed.  A
// copy without state takes no memory.
template <typename Key, typename T, typename Allocator> struct hash_entry : hash_links, Allocator {
    static_assert(!std::is_final_v<Allocator>, "the allocator class must not be final: an entry inherits from it");
    using own_allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<hash_entry>;
    using traits = std::allocator_traits<own_allocator>;
    static_assert(std::is_same_v<typename traits::pointer, hash_entry *>,
                  "the allocator's pointer type must be a plain pointer");

    const Key key;
    const T value;

    template <typename K, typename... Arguments>
    explicit hash_entry(const Allocator &from, K &&given, Arguments &&...arguments)
        : hash_links(), Allocator(from), key(std::forward<K>(given)), value(std::forward<Arguments>(arguments)...)
    {
    }

    // Deletes an entry that no reader can hold: it is not published yet, or its grace period has passed.
    struct discard {
        void operator()(hash_entry *entry) const noexcept
        {
            own_allocator own(static_cast<const Allocator &>(*entry));
            entry->~hash_entry();
            traits::deallocate(own, entry, 1);
        }
    };
    using unread = std::unique_ptr<hash_entry, discard>;

    template <typename... Arguments> static unread make(const Allocator &given, Arguments &&...arguments)
    {
        struct memory {
            own_allocator allocator;
            hash_entry *place = traits::allocate(allocator, 1);

            explicit memory(const Allocator &from) : allocator(from)
            {
            }
            memory(const memory &) = delete;
            memory &operator=(const memory &) = delete;
            ~memory()
            {
                if (place)
                    traits::deallocate(allocator, place, 1);
            }
        } memory(given);
        ::new (static_cast<void *>(memory.place)) hash_entry(given, std::forward<Arguments>(arguments)...);
        return unread(std::exchange(memory.place, nullptr));
    }

    static hash_entry *of(rtrcu_hash_node *node) noexcept
    {
        return static_cast<hash_entry *>(hash_links::of(node));
    }
    static const hash_entry *of(const rtrcu_hash_node *node) noexcept
    {
        return static_cast<const hash_entry *>(hash_links::of(node));
    }
    void retire() noexcept
    {
        call(this->retired, reclaim);
    }
    static void reclaim(rcu_head *at) noexcept
    {
        discard()(static_cast<hash_entry *>(hash_links::of(at)));
    }
};

// True if Hash and Equal both have is_transparent: look-ups then accept keys of any type.
template <typename Hash, typename Equal, typename = void> struct takes_any_key : std::false_type {
};
template <typename Hash, typename Equal>
struct takes_any_key<Hash, Equal, std::void_t<typename Hash::is_transparent, typename Equal::is_transparent>>
    : std::true_type {
};

} // namespace detail

#ifdef RTRCU_DEBUG
inline namespace checked
{
#endif

// Keys of other types than Key are accepted if Hash and Equal have is_transparent.  For keys from untrusted sources use
// a Hash with a secret: with std::hash of numbers and of most strings, an attacker can choose keys that collide.
template <typename Key, typename T, typename Hash = std::hash<Key>, typename Equal = std::equal_to<Key>,
          typename Allocator = std::allocator<std::pair<const Key, T>>>
class hash_map
{
    static_assert(std::is_object_v<T> && !std::is_array_v<T>, "a map holds objects; put an array into a struct");
    using entry = detail::hash_entry<Key, T, Allocator>;
    using unread = typename entry::unread;
    template <typename Q>
    using if_key = std::enable_if_t<std::is_same_v<Q, Key> || detail::takes_any_key<Hash, Equal>::value, int>;

  public:
    using key_type = Key;
    using mapped_type = T;
    using allocator_type = Allocator;

    // An empty map with at least @buckets buckets.  Throws std::system_error: no memory, or no thread for the resizer.
    explicit hash_map(std::size_t buckets = 0, Hash hash = Hash(), Equal equal = Equal(),
                      const Allocator &allocator = Allocator())
        : hash_(std::move(hash)), equal_(std::move(equal)), allocator_(allocator)
    {
        rtrcu_hash_config config = {};
        config.buckets = buckets;
        int error = rtrcu_hash_create(&table_, &config);
        if (error)
            throw std::system_error(-error, std::generic_category(), "rtrcu::hash_map");
    }
    explicit hash_map(const Allocator &allocator) : hash_map(0, Hash(), Equal(), allocator)
    {
    }
    // No thread may begin to use the map during the call.  Readers that are already inside may continue; the call does
    // not wait for them.
    ~hash_map()
    {
        clear();
        rtrcu_hash_destroy(table_);
    }
    hash_map(const hash_map &) = delete;
    hash_map &operator=(const hash_map &) = delete;

    // The current value of @key, and a section that keeps it alive.  Wait-free.
    snapshot<T> find(const Key &key) const
    {
        return find<Key>(key);
    }
    template <typename Q, if_key<Q> = 0> snapshot<T> find(const Q &key) const
    {
        const std::uint64_t hash = hash_(key); /* hashes before the section begins, since the hash may throw */
        detail::section_begin();
        return snapshot<T>(look_up(key, hash));
    }
    // The current value of @key, or null, inside a section of the caller.  It may be used until that section ends.
    template <typename Section, std::enable_if_t<detail::is_section<Section>::value, int> = 0>
    const T *find(const Key &key, const Section &within RTRCU_DETAIL_BOUND) const
    {
        (void)within;
        return look_up(key, hash_(key));
    }
    template <typename Q, typename Section, if_key<Q> = 0,
              std::enable_if_t<detail::is_section<Section>::value, int> = 0>
    const T *find(const Q &key, const Section &within RTRCU_DETAIL_BOUND) const
    {
        (void)within;
        return look_up(key, hash_(key));
    }
    template <typename Q, typename Section, std::enable_if_t<detail::is_section<Section>::value, int> = 0>
    const T *find(const Q &key, const Section &&within) const = delete;
    bool contains(const Key &key) const
    {
        return static_cast<bool>(find(key));
    }
    template <typename Q, if_key<Q> = 0> bool contains(const Q &key) const
    {
        return static_cast<bool>(find(key));
    }

    // Insert a value constructed from @arguments, unless @key has a value.  True: inserted.
    template <typename K, typename... Arguments> bool try_emplace(K &&key, Arguments &&...arguments)
    {
        if (contains(key))
            return false;
        unread fresh = entry::make(allocator_, std::forward<K>(key), std::forward<Arguments>(arguments)...);
        const std::uint64_t hash = hash_(fresh->key);
        detail::scoped_section within;
        if (insert(*fresh, hash, nullptr) != 0)
            return false;
        (void)fresh.release();
        return true;
    }
    // Set the value of @key; readers see the old or the new value.  True: @key had no value.
    template <typename K, typename V> bool insert_or_assign(K &&key, V &&value)
    {
        unread fresh = entry::make(allocator_, std::forward<K>(key), std::forward<V>(value));
        const std::uint64_t hash = hash_(fresh->key);
        for (;;) { /* ends when no other thread removes or replaces @old before replace() */
            detail::scoped_section within;
            rtrcu_hash_node *old = nullptr;
            const bool inserted = insert(*fresh, hash, &old) == 0;
            if (inserted || replace(entry::of(old), fresh)) {
                (void)fresh.release();
                return inserted;
            }
        }
    }
    // Remove @key.  False: @key had no value.
    bool erase(const Key &key)
    {
        return erase<Key>(key);
    }
    template <typename Q, if_key<Q> = 0> bool erase(const Q &key)
    {
        const std::uint64_t hash = hash_(key);
        for (;;) { /* ends when no other thread changes the value before remove() */
            detail::scoped_section within;
            entry *old = entry_of(key, hash);
            if (!old)
                return false;
            if (remove(old))
                return true;
        }
    }
    // Replace the value by the result of @change, in one of two forms, as cell::update():
    //
    //     [](T &copy) { ... }                     changes a copy
    //     [](const T &old) { ... return a T; }    makes the next value
    //
    // @change runs in a section, outside the table's locks, and runs again if another thread has changed the value
    // meanwhile.  An exception leaves the map unchanged.  False: @key has no value.
    template <typename Q, typename Change, if_key<Q> = 0> bool update(const Q &key, Change &&change)
    {
        const std::uint64_t hash = hash_(key);
        for (;;) { /* ends when no other thread changes the value before replace() */
            detail::scoped_section within;
            entry *old = entry_of(key, hash);
            if (!old)
                return false;
            unread fresh = changed(*old, change);
            if (replace(old, fresh)) {
                (void)fresh.release();
                return true;
            }
        }
    }
    template <typename Change> bool update(const Key &key, Change &&change)
    {
        return update<Key, Change>(key, std::forward<Change>(change));
    }

    // Call @function(key, value) for the values of the next @buckets buckets, in one section; it must not throw, and
    // may change the map.  @cursor is 0 for the first call.  False: the walk is complete.  A walk visits an entry that
    // is present from its first to its last call exactly once.
    template <typename Function> bool for_some(std::uint64_t &cursor, unsigned buckets, Function &&function) const
    {
        auto visit = [](rtrcu_hash_node *node, void *argument) noexcept {
            const entry *found = entry::of(node);
            (*static_cast<std::remove_reference_t<Function> *>(argument))(found->key, found->value);
        };
        const void *argument = std::addressof(function);
        return rtrcu_hash_walk(table_, &cursor, buckets, visit, const_cast<void *>(argument));
    }
    // As for_some(), for the whole map, in steps of @buckets: no section is long.
    template <typename Function> void for_each(Function &&function, unsigned buckets = 16) const
    {
        std::uint64_t cursor = 0;
        while (for_some(cursor, buckets, function)) /* false: the walk has ended */
            ;
    }

    // The number of values; exact while no thread changes the map.
    std::size_t size() const noexcept
    {
        rtrcu_hash_counters now;
        rtrcu_hash_stats(table_, &now);
        return now.entries;
    }
    // Erase all values that are present during the whole call.
    void clear() noexcept
    {
        auto visit = [](rtrcu_hash_node *node, void *map) noexcept {
            (void)static_cast<hash_map *>(map)->remove(entry::of(node));
        };
        std::uint64_t cursor = 0;
        while (rtrcu_hash_walk(table_, &cursor, 16, visit, this)) /* false: the walk has ended */
            ;
    }

  private:
    template <typename Q> struct wanted {
        const Q *key;
        const Equal *equal;
    };
    template <typename Q> static bool matches(const rtrcu_hash_node *node, const void *what) noexcept
    {
        const auto *wants = static_cast<const wanted<Q> *>(what);
        return (*wants->equal)(entry::of(node)->key, *wants->key);
    }

    template <typename Q> entry *entry_of(const Q &key, std::uint64_t hash) const
    {
        wanted<Q> wants{std::addressof(key), std::addressof(equal_)};
        rtrcu_hash_node *node = rtrcu_hash_lookup(table_, hash, matches<Q>, &wants);
        return node ? entry::of(node) : nullptr;
    }
    template <typename Q> const T *look_up(const Q &key, std::uint64_t hash) const
    {
        const entry *found = entry_of(key, hash);
        return found ? std::addressof(found->value) : nullptr;
    }
    int insert(entry &fresh, std::uint64_t hash, rtrcu_hash_node **old)
    {
        wanted<Key> wants{std::addressof(fresh.key), std::addressof(equal_)};
        return rtrcu_hash_insert(table_, hash, &fresh.node, matches<Key>, &wants, old);
    }
    bool replace(entry *old, const unread &fresh) noexcept
    {
        if (rtrcu_hash_replace(table_, &old->node, &fresh->node) != 0)
            return false;
        old->retire();
        return true;
    }
    bool remove(entry *old) noexcept
    {
        if (rtrcu_hash_remove(table_, &old->node) != 0)
            return false;
        old->retire();
        return true;
    }
    template <typename Change> unread changed(const entry &old, Change &change) const
    {
        if constexpr (std::is_void_v<std::invoke_result_t<Change &, T &>>) {
            static_assert(
                !std::is_invocable_v<Change &, T>,
                "the function returns nothing, so it must take a T &: update() publishes the copy that it changes");
            T copy(old.value);
            change(copy);
            return entry::make(allocator_, old.key, std::move(copy));
        } else {
            return entry::make(allocator_, old.key, change(old.value));
        }
    }

    rtrcu_hash *table_ = nullptr;
    Hash hash_;
    Equal equal_;
    Allocator allocator_;
};

#ifdef RTRCU_DEBUG
} // namespace checked
#endif
} // namespace rtrcu

#endif
