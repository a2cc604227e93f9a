// SPDX-License-Identifier: MIT OR Apache-2.0
// Loads, stores, updates and fences of the simulated threads.
#include <cstring>

#include <fmt/format.h>

#include "machine/world.h"

namespace sim
{

namespace
{

constexpr uintptr_t kFirstPage = 4096;

constexpr uint64_t mask_of(size_t size)
{
    return size == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * size)) - 1;
}

} // namespace

void World::check_access(uintptr_t address, size_t size, AccessKind kind, const char *text, const void *pc)
{
    if (!exploring())
        return;
    if (address < kFirstPage)
        fail(fmt::format("{}: through a null pointer", text));
    Access access{current_->id, static_cast<int>(threads_.size()), &current_->clock, text, pc};
    std::string error = is_of_gone_thread(address) ? "use of memory of a thread that is not in the fork's child"
                                                   : memory_.check(address, size, kind, access, options_.races);
    if (!error.empty())
        fail(fmt::format("{}: {}", text ? text : fmt::format("plain access|{}", fmt::ptr(pc)), error));
}

// The compiler's call precedes the access, which then reads or writes memory directly.  So the bytes in the thread's
// own buffer are written over memory for the access, and removed at the next step (settle()): a plain access publishes
// nothing and is no fence.  What the thread writes there, or into its own block, which other threads read on purpose,
// goes into its buffer like any other store.  Elsewhere a plain write goes directly to memory, and the race check
// decides whether other threads may see it.
void World::plain(uintptr_t address, size_t size, bool writes, const void *pc)
{
    if (!active() || on_own_stack(address))
        return;
    settle();
    if (address < kFirstPage)
        fail(fmt::format("plain access|{}: through a null pointer", fmt::ptr(pc)));
    Thread &t = *current_;
    auto block = reinterpret_cast<uintptr_t>(thread_block());
    bool own = address >= block && address < block + kThreadBlock;
    if (own)
        signal_point(); // a handler may run here: it may access the thread's own block too
    check_access(address, size, writes ? AccessKind::kPlainWrite : AccessKind::kPlainRead, nullptr, pc);
    if (writes)
        memory_.will_change(address, size);
    if (t.buffer.overlaps(address, size) || (own && writes && exploring() && options_.model != Model::kSc))
        lay_over(address, size, writes);
    for (size_t at = 0; !writes && at < size; at += 8)
        t.history = mix(t.history, Memory::read(address + at, size - at < 8 ? size - at : 8));
}

void World::lay_over(uintptr_t address, size_t size, bool writes)
{
    const auto *bytes = reinterpret_cast<const uint8_t *>(address);
    overlay_.address = address;
    overlay_.writes = writes;
    overlay_.memory.assign(bytes, bytes + size);
    memory_.will_change(address, size);
    for (size_t i = 0; i < size; i++)
        Memory::write_bytes(address + i, current_->buffer.forward(address + i, 1, Memory::read(address + i, 1)), 1);
}

// After the access: restore memory, and move the written bytes into the buffer.
void World::settle()
{
    if (overlay_.memory.empty())
        return;
    std::vector<uint8_t> memory, written;
    memory.swap(overlay_.memory);
    auto *bytes = reinterpret_cast<uint8_t *>(overlay_.address);
    written.assign(bytes, bytes + memory.size());
    memcpy(bytes, memory.data(), memory.size());
    Thread &t = *current_;
    for (size_t at = 0; overlay_.writes && at < written.size(); at += 8) {
        size_t size = written.size() - at < 8 ? written.size() - at : 8;
        uint64_t value = 0;
        memcpy(&value, written.data() + at, size);
        if (t.buffer.size() >= options_.buffer_stores)
            drain_one(t, 0);
        t.buffer.push(
            {overlay_.address + at, value, static_cast<uint8_t>(size), false, false, t.released, "plain write", ""});
    }
}

uint64_t World::load(uintptr_t address, size_t size, bool acquire, const char *text, const char *where)
{
    if (!active())
        return Memory::read(address, size);
    point(text, where);
    Thread &t = *current_;
    if (acquire)
        order_acquire(t);
    check_access(address, size, AccessKind::kAtomicRead, text, nullptr);
    uint64_t memory = Memory::read(address, size), value = t.buffer.forward(address, size, memory) & mask_of(size);
    if (!t.buffer.overlaps(address, size))
        memory_.publishers(address, size, acquire ? t.clock : t.seen);
    t.history = mix(mix(t.history, reinterpret_cast<uintptr_t>(text)), value);
    trace(text, where, value);
    return value;
}

void World::store(uintptr_t address, uint64_t value, size_t size, bool release, const char *text, const char *where)
{
    if (active())
        point(text, where);
    put(address, value, size, release, false, text, where);
}

void World::put(uintptr_t address, uint64_t value, size_t size, bool release, bool exclusive, const char *text,
                const char *where)
{
    if (!active()) {
        Memory::write_bytes(address, value, size);
        return;
    }
    Thread &t = *current_;
    check_access(address, size, AccessKind::kAtomicWrite, text, nullptr);
    BufferedStore store{address, value & mask_of(size), static_cast<uint8_t>(size), release, exclusive, {}, text,
                        where};
    store.clock = release ? t.clock : t.released;
    if (exclusive)
        memory_.publishers(address, size, store.clock); // a release sequence continues through updates
    if (release)
        t.clock.at[t.id]++;
    t.history = mix(t.history, reinterpret_cast<uintptr_t>(text));
    trace(text, where, store.value);
    // A store to a stack frame is committed immediately, since the place may belong to another frame when the buffer
    // drains.  Other threads may see the store early, but reach it only through pointers that are stored later.
    if (!exploring() || options_.model == Model::kSc || on_own_stack(address)) {
        commit(t, store);
        return;
    }
    if (t.buffer.size() >= options_.buffer_stores)
        drain_one(t, 0);
    t.buffer.push(store);
}

// Commit a store.  Exclusive updates by other threads of the same bytes must neither overtake it nor be overtaken by
// it.
void World::commit(Thread &owner, const BufferedStore &store)
{
    yield_exclusive(owner, store.address, store.size);
    memory_.write(store.address, store.value, store.size, store.clock);
    if (options_.trace && exploring() && options_.model != Model::kSc)
        fmt::print("       {:<10} {:<62} = {:#x}   reaches memory\n", owner.name, store.text, store.value);
}

void World::yield_exclusive(const Thread &writer, uintptr_t address, size_t size)
{
    for (Thread &t : threads_) {
        while (&t != &writer && t.buffer.overlaps_exclusive(address, size))
            drain_one(t, 0);
    }
}

void World::drain_one(Thread &thread, size_t i)
{
    BufferedStore store = thread.buffer.take(i);
    commit(thread, store);
}

void World::drain_all(Thread &thread)
{
    while (!thread.buffer.empty())
        drain_one(thread, 0);
}

// aarch64: a load-acquire is not satisfied before an earlier store-release.
void World::order_acquire(Thread &t)
{
    while (options_.model == Model::kPso && t.buffer.has_release())
        drain_one(t, 0);
}

// The read half of an update, and its effect on the store buffer: x86 drains it; a load-exclusive and
// store-exclusive pair with acquire and release leaves the store where it may still be overtaken by later loads.
uint64_t World::update_begin(uintptr_t address, size_t size, bool acquire, const char *text)
{
    Thread &t = *current_;
    if (options_.model != Model::kPso)
        drain_all(t);
    else if (acquire)
        order_acquire(t);
    yield_exclusive(t, address, size);
    check_access(address, size, AccessKind::kAtomicRead, text, nullptr);
    uint64_t old = t.buffer.forward(address, size, Memory::read(address, size)) & mask_of(size);
    if (acquire)
        t.clock.join(t.seen);
    memory_.publishers(address, size, acquire ? t.clock : t.seen);
    t.history = mix(mix(t.history, reinterpret_cast<uintptr_t>(text)), old);
    return old;
}

void World::update_end(uintptr_t address, uint64_t value, size_t size, bool release, const char *text,
                       const char *where)
{
    Thread &t = *current_;
    put(address, value, size, release, true, text, where);
    if (options_.model == Model::kPso)
        return;
    drain_all(t);
    t.released = t.clock;
    t.clock.at[t.id]++; // later accesses do not belong to the release
}

uint64_t World::owner_add(uintptr_t address, uint64_t amount, size_t size, bool release, const char *text,
                          const char *where)
{
    if (active())
        point(text, where);
    Thread &t = *current_;
    uint64_t old = t.buffer.forward(address, size, Memory::read(address, size)), value = (old + amount) & mask_of(size);
    put(address, value, size, release, false, text, where);
    t.history = mix(t.history, value);
    return value;
}

// Update a statistics counter.  Other threads see the count immediately, and only one thread may update it at a time.
void World::count(uintptr_t address, uint64_t amount, size_t size, const char *text)
{
    if (active()) {
        settle();
        check_access(address, size, AccessKind::kCount, text, nullptr);
        memory_.will_change(address, size);
    }
    Memory::write_bytes(address, Memory::read(address, size) + amount, size);
}

void World::real_fence(Thread &t)
{
    drain_all(t);
    t.clock.join(t.seen);
    t.released = t.clock;
    t.clock.at[t.id]++;
}

void World::fence_full(const char *where)
{
    if (!exploring())
        return;
    settle();
    if (!current_->buffer.empty())
        point("full fence", where);
    real_fence(*current_);
    trace("full fence", where, 0);
}

void World::relax(const char *where)
{
    if (!exploring())
        return;
    now_ += 1000;
    strategy_->yielded(current_->id);
    point("relax", where);
}

} // namespace sim
