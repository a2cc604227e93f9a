// SPDX-License-Identifier: MIT OR Apache-2.0
// The dentry cache.
#include "workload/dcache.h"

#include <rtrcu/rcu.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "measure/callback_meter.h"

namespace lab
{

static uint32_t hash_name(std::string_view name)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (char c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return static_cast<uint32_t>(hash ^ hash >> 32);
}

// Removes the first component from `path` and returns it.
static std::string_view take_component(std::string_view &path)
{
    std::size_t end = std::min(path.find('/'), path.size());
    std::string_view component = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    return component;
}

static void dentry_reclaim(RetiredHead *head)
{
    callback_meter.callback_begins();
    std::free(reinterpret_cast<Dentry *>(head));
}

Dcache::Dcache(std::size_t expected, Reclaimer &reclaimer)
    : buckets_(std::bit_ceil(expected + 1), nullptr), mask_(static_cast<uint32_t>(buckets_.size() - 1)),
      reclaimer_(&reclaimer), root_(make("", 0, true))
{
}

Dcache::~Dcache()
{
    for (Dentry *entry : buckets_) {
        while (entry != nullptr) {
            Dentry *next = entry->next;
            std::free(entry);
            entry = next;
        }
    }
    std::free(root_);
}

Dentry *Dcache::make(std::string_view name, uint32_t hash, bool directory)
{
    void *memory = std::malloc(sizeof(Dentry) + name.size());
    if (memory == nullptr)
        throw std::bad_alloc();
    auto *entry = new (memory) Dentry{};
    entry->id = next_id_++;
    entry->hash = hash;
    entry->name_length = static_cast<uint16_t>(name.size());
    entry->directory = directory;
    std::memcpy(reinterpret_cast<char *>(entry + 1), name.data(), name.size());
    return entry;
}

Dentry *Dcache::find_child(uint32_t parent_id, std::string_view name, uint32_t hash) const
{
    for (Dentry *entry = rcu_dereference(*bucket(parent_id, hash)); entry != nullptr;
         entry = rcu_dereference(entry->next))
        if (entry->hash == hash && entry->parent_id == parent_id && entry->name() == name)
            return entry;
    return nullptr;
}

const Dentry *Dcache::walk(const Dentry *from, std::string_view path) const
{
    const Dentry *at = from;
    while (at != nullptr && !path.empty()) {
        std::string_view component = take_component(path);
        at = find_child(at->id, component, hash_name(component));
    }
    return at;
}

uint64_t Dcache::dump(const std::atomic<bool> &stop) const
{
    uint64_t sum = 0;
    for (std::size_t i = 0; i < buckets_.size(); i++) {
        if ((i & 1023) == 0 && stop.load(std::memory_order_relaxed))
            break;
        for (const Dentry *entry = rcu_dereference(buckets_[i]); entry != nullptr; entry = rcu_dereference(entry->next))
            sum += entry->name_length;
    }
    return sum;
}

Dentry *Dcache::parent_of(const Dentry *from, std::string_view path, std::string_view &last) const
{
    std::size_t slash = path.rfind('/');
    last = slash == std::string_view::npos ? path : path.substr(slash + 1);
    const Dentry *parent = slash == std::string_view::npos ? from : walk(from, path.substr(0, slash));
    // The cast is allowed: only the updater calls this function, and entries are const for readers only.
    return parent != nullptr && parent->directory && !last.empty() ? const_cast<Dentry *>(parent) : nullptr;
}

void Dcache::publish(Dentry *entry, Dentry *parent)
{
    entry->parent = parent;
    entry->parent_id = parent->id;
    entry->next_sibling = parent->first_child;
    if (parent->first_child != nullptr)
        parent->first_child->previous_sibling = entry;
    parent->first_child = entry;
    Dentry **slot = bucket(parent->id, entry->hash);
    entry->next = *slot;
    rcu_assign_pointer(*slot, entry);
    size_++;
}

// Unlinks an entry.  Its `next` does not change until it is reclaimed, so readers that have reached it can continue.
void Dcache::unlink(Dentry *entry)
{
    Dentry **slot = bucket(entry->parent_id, entry->hash);
    while (*slot != entry)
        slot = &(*slot)->next;
    rcu_assign_pointer(*slot, entry->next);
    if (entry->previous_sibling != nullptr)
        entry->previous_sibling->next_sibling = entry->next_sibling;
    else
        entry->parent->first_child = entry->next_sibling;
    if (entry->next_sibling != nullptr)
        entry->next_sibling->previous_sibling = entry->previous_sibling;
    size_--;
}

void Dcache::retire(Dentry *entry)
{
    unlink(entry);
    reclaimer_->retire(&entry->head, dentry_reclaim);
}

Dentry *Dcache::add(const Dentry *parent, std::string_view name, bool directory)
{
    Dentry *entry = make(name, hash_name(name), directory);
    publish(entry, const_cast<Dentry *>(parent));
    return entry;
}

bool Dcache::create(const Dentry *from, std::string_view path, bool directory)
{
    std::string_view name;
    Dentry *parent = parent_of(from, path, name);
    if (parent == nullptr)
        return false;
    uint32_t hash = hash_name(name);
    if (find_child(parent->id, name, hash) != nullptr)
        return false;
    publish(make(name, hash, directory), parent);
    return true;
}

bool Dcache::remove(const Dentry *from, std::string_view path)
{
    auto *entry = const_cast<Dentry *>(walk(from, path));
    if (entry == nullptr || entry == root_ || entry->first_child != nullptr)
        return false;
    retire(entry);
    return true;
}

bool Dcache::rename(const Dentry *from, std::string_view old_path, std::string_view new_path)
{
    std::string_view name;
    auto *old_entry = const_cast<Dentry *>(walk(from, old_path));
    Dentry *parent = parent_of(from, new_path, name);
    if (old_entry == nullptr || old_entry == root_ || parent == nullptr)
        return false;
    for (const Dentry *above = parent; above != nullptr; above = above->parent)
        if (above == old_entry)
            return false;
    uint32_t hash = hash_name(name);
    Dentry *replaced = find_child(parent->id, name, hash);
    if (replaced == old_entry)
        return true;
    if (replaced != nullptr && replaced->first_child != nullptr)
        return false;
    if (replaced != nullptr)
        retire(replaced);
    Dentry *entry = make(name, hash, old_entry->directory);
    entry->id = old_entry->id;
    entry->first_child = old_entry->first_child;
    for (Dentry *child = entry->first_child; child != nullptr; child = child->next_sibling)
        child->parent = entry;
    publish(entry, parent);
    retire(old_entry);
    return true;
}

std::size_t Dcache::remove_tree(const Dentry *from, std::string_view path)
{
    auto *top = const_cast<Dentry *>(walk(from, path));
    if (top == nullptr || top == root_)
        return 0;
    std::size_t removed = 0;
    // Descends to a leaf, removes it, and continues at its parent; each iteration removes an entry or descends by
    // one.
    for (Dentry *at = top;;) {
        if (at->first_child != nullptr) {
            at = at->first_child;
            continue;
        }
        Dentry *parent = at->parent;
        bool last = at == top;
        retire(at);
        removed++;
        if (last)
            return removed;
        at = parent;
    }
}

std::size_t Dcache::list(const Dentry *directory, std::size_t limit) const
{
    std::size_t count = 0;
    for (const Dentry *child = directory->first_child; child != nullptr && count < limit; child = child->next_sibling)
        count++;
    return count;
}

} // namespace lab
