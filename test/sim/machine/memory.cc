// SPDX-License-Identifier: MIT OR Apache-2.0
// Granules: old bytes, publishers, freed bytes, and the race check.
#include "machine/memory.h"

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace sim
{

namespace
{

constexpr size_t kCells = 1 << 14;

size_t first_slot(uintptr_t address)
{
    return (address / kGranule * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - 14);
}

uintptr_t granule_of(uintptr_t address)
{
    return address & ~uintptr_t{kGranule - 1};
}

uint64_t bytes_at(uintptr_t address)
{
    uint64_t bytes;
    memcpy(&bytes, reinterpret_cast<const void *>(address), sizeof(bytes));
    return bytes;
}

// Call @f(granule, first byte in it, last byte in it) for each granule of the range.
template <typename F> void each_granule(uintptr_t address, size_t size, F f)
{
    for (uintptr_t at = address, end = address + size; at < end;) {
        uintptr_t granule = granule_of(at), next = granule + kGranule;
        f(granule, at - granule, (next < end ? next : end) - 1 - granule);
        at = next;
    }
}

} // namespace

uint64_t mix(uint64_t hash, uint64_t value)
{
    uint64_t x = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
    return (x ^ (x >> 29)) * UINT64_C(0xc4ceb9fe1a85ec53) + value;
}

Memory::Memory() : table_(kCells), messages_(1)
{
}

Cell &Memory::cell(uintptr_t granule)
{
    for (size_t i = first_slot(granule);; i = (i + 1) % kCells) {
        Cell &cell = table_[i];
        if (cell.epoch == epoch_ && cell.address != granule)
            continue;
        if (cell.epoch != epoch_) {
            if (++used_ > kCells / 2) {
                fmt::print(stderr, "explorer: a schedule touches more than {} granules; make the scenario smaller\n",
                           kCells / 2);
                abort();
            }
            cell = Cell{};
            cell.epoch = epoch_;
            cell.address = granule;
        }
        return cell;
    }
}

const Cell *Memory::find(uintptr_t granule) const
{
    for (size_t i = first_slot(granule);; i = (i + 1) % kCells) {
        const Cell &cell = table_[i];
        if (cell.epoch != epoch_)
            return nullptr;
        if (cell.address == granule)
            return &cell;
    }
}

void Memory::save(Cell &cell)
{
    if (!cell.saved) {
        cell.saved = true;
        cell.before = bytes_at(cell.address);
        written_.push_back(static_cast<uint32_t>(&cell - table_.data()));
    }
    if (!cell.changed) {
        cell.changed = true;
        changed_.push_back(static_cast<uint32_t>(&cell - table_.data()));
    }
}

void Memory::will_change(uintptr_t address, size_t size)
{
    each_granule(address, size, [&](uintptr_t granule, size_t, size_t) { save(cell(granule)); });
}

uint64_t Memory::read(uintptr_t address, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, reinterpret_cast<const void *>(address), size);
    return value;
}

void Memory::write_bytes(uintptr_t address, uint64_t value, size_t size)
{
    memcpy(reinterpret_cast<void *>(address), &value, size);
}

void Memory::write(uintptr_t address, uint64_t value, size_t size, const Clock &published)
{
    will_change(address, size);
    write_bytes(address, value, size);
    uint32_t message = static_cast<uint32_t>(messages_.size());
    messages_.push_back(published);
    each_granule(address, size, [&](uintptr_t granule, size_t first, size_t last) {
        Cell &c = cell(granule);
        for (size_t i = first; i <= last; i++)
            c.message[i] = message;
    });
}

void Memory::publishers(uintptr_t address, size_t size, Clock &into) const
{
    each_granule(address, size, [&](uintptr_t granule, size_t first, size_t last) {
        const Cell *c = find(granule);
        for (size_t i = first; c && i <= last; i++) {
            if (c->message[i] && (i == first || c->message[i] != c->message[i - 1]))
                into.join(messages_[c->message[i]]);
        }
    });
}

void Memory::set_freed(uintptr_t address, size_t size, bool freed)
{
    each_granule(address, size, [&](uintptr_t granule, size_t first, size_t last) {
        Cell &c = cell(granule);
        for (size_t i = first; i <= last; i++)
            c.freed = static_cast<uint8_t>(freed ? c.freed | 1u << i : c.freed & ~(1u << i));
    });
}

bool Memory::comes_after_write(uintptr_t address, const Clock &clock) const
{
    const Cell *c = find(granule_of(address));
    size_t byte = address % kGranule;
    return !c || clock.covers(c->writer[byte], c->write_time[byte]);
}

// Reports a data race of the language's memory model: two accesses, at least one of them a write and at least one
// plain, neither of which happens before the other.
std::string Memory::race(Cell &c, size_t first, size_t last, AccessKind kind, const Access &access)
{
    bool plain = kind == AccessKind::kPlainRead || kind == AccessKind::kPlainWrite;
    bool writes = kind != AccessKind::kPlainRead && kind != AccessKind::kAtomicRead;
    bool alone = plain || kind == AccessKind::kCount;
    for (size_t i = first; i <= last; i++) {
        if (c.write_time[i] && !access.clock->covers(c.writer[i], c.write_time[i]))
            return fmt::format("unordered with a plain write of thread {}|{}", c.writer[i], fmt::ptr(c.write_pc));
        for (int t = 0; t < access.threads; t++) {
            if (t == access.thread)
                continue;
            if (writes && !access.clock->covers(t, c.read_time[t][i]))
                return fmt::format("unordered with a plain read of thread {}|{}", t, fmt::ptr(c.read_pc[t]));
            if (alone && !access.clock->covers(t, c.atomic_write_time[t][i]))
                return fmt::format("unordered with \"{}\" of thread {}", c.atomic_text, t);
            if (kind == AccessKind::kPlainWrite && !access.clock->covers(t, c.atomic_read_time[t][i]))
                return fmt::format("unordered with \"{}\" of thread {}", c.atomic_text, t);
        }
    }
    return {};
}

std::string Memory::check(uintptr_t address, size_t size, AccessKind kind, const Access &access, bool races)
{
    std::string error;
    uint16_t now = access.clock->at[access.thread];
    each_granule(address, size, [&](uintptr_t granule, size_t first, size_t last) {
        Cell &c = cell(granule);
        for (size_t i = first; i <= last && error.empty(); i++) {
            if (c.freed & 1u << i)
                error = "use of freed memory, or of memory after an allocation";
        }
        if (races && error.empty()) {
            error = race(c, first, last, kind, access);
            if (!error.empty())
                error = "data race: " + error;
        }
        for (size_t i = first; i <= last; i++) {
            switch (kind) {
            case AccessKind::kPlainRead:
                c.read_time[access.thread][i] = now;
                c.read_pc[access.thread] = access.pc;
                break;
            case AccessKind::kPlainWrite:
                c.write_time[i] = now;
                c.writer[i] = static_cast<uint8_t>(access.thread);
                c.write_pc = access.pc;
                break;
            case AccessKind::kAtomicRead:
                c.atomic_read_time[access.thread][i] = now;
                c.atomic_text = access.text;
                break;
            case AccessKind::kAtomicWrite:
            case AccessKind::kCount:
                c.atomic_write_time[access.thread][i] = now;
                c.atomic_text = access.text;
                break;
            }
        }
    });
    return error;
}

void Memory::rollback()
{
    for (uint32_t i : written_)
        memcpy(reinterpret_cast<void *>(table_[i].address), &table_[i].before, kGranule);
    written_.clear();
    changed_.clear();
    messages_.resize(1);
    used_ = 0;
    hash_ = 0;
    epoch_++;
}

// The written granules by value: two schedules that lead to the same bytes have the same hash.
uint64_t Memory::hash()
{
    for (uint32_t i : changed_) {
        Cell &c = table_[i];
        uint64_t bytes = bytes_at(c.address);
        uint64_t now = bytes == c.before ? 0 : mix(mix(c.address, bytes), UINT64_C(0x9e3779b97f4a7c15));
        hash_ ^= c.hash ^ now;
        c.hash = now;
        c.changed = false;
    }
    changed_.clear();
    return hash_;
}

// ---- store buffers ----

bool StoreBuffer::may_drain(size_t i, Model model) const
{
    if (i == 0)
        return true;
    const BufferedStore &store = stores_[i];
    if (model != Model::kPso || store.release)
        return false;
    for (size_t j = 0; j < i; j++) {
        const BufferedStore &older = stores_[j];
        if (older.address < store.address + store.size && store.address < older.address + older.size)
            return false;
    }
    return true;
}

BufferedStore StoreBuffer::take(size_t i)
{
    BufferedStore store = stores_[i];
    stores_.erase(stores_.begin() + static_cast<std::ptrdiff_t>(i));
    return store;
}

bool StoreBuffer::overlaps(uintptr_t address, size_t size) const
{
    for (const BufferedStore &store : stores_) {
        if (store.address < address + size && address < store.address + store.size)
            return true;
    }
    return false;
}

bool StoreBuffer::overlaps_exclusive(uintptr_t address, size_t size) const
{
    for (const BufferedStore &store : stores_) {
        if (store.exclusive && store.address < address + size && address < store.address + store.size)
            return true;
    }
    return false;
}

bool StoreBuffer::has_release() const
{
    for (const BufferedStore &store : stores_) {
        if (store.release)
            return true;
    }
    return false;
}

uint64_t StoreBuffer::forward(uintptr_t address, size_t size, uint64_t value) const
{
    for (const BufferedStore &store : stores_) {
        for (size_t i = 0; i < store.size; i++) {
            uintptr_t at = store.address + i;
            if (at < address || at >= address + size)
                continue;
            unsigned shift = static_cast<unsigned>(8 * (at - address));
            uint64_t byte = store.value >> (8 * i) & 0xff;
            value = (value & ~(UINT64_C(0xff) << shift)) | byte << shift;
        }
    }
    return value;
}

uint64_t StoreBuffer::hash() const
{
    uint64_t hash = 0;
    for (const BufferedStore &store : stores_)
        hash = mix(mix(mix(hash, store.address), store.value), store.size | (store.release ? 256u : 0u));
    return hash;
}

} // namespace sim
