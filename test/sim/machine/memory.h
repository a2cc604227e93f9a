// SPDX-License-Identifier: MIT OR Apache-2.0
// Simulated memory: the bytes themselves lie where the program has them; this holds what is known about each granule of
// eight bytes during one schedule, and the store buffers of the threads.
//
//   sc    every access is one event, visible at once: interleaving and nothing else
//   tso   stores pass through a first-in first-out buffer of their thread (x86)
//   pso   a store may overtake older ones to other bytes, unless it is a release; the store of a read-modify-write
//   waits in
//         the buffer too, so later relaxed loads may overtake it (part of what aarch64 allows)
//
// Buffers are byte-granular: a byte store into a word that another thread updates by an unlocked read-modify-write is
// lost if that update loaded before it and drains after it.  Loads happen in program order and read the newest byte of
// the thread's own buffer, else of memory.
//
// States of a granule: untouched in this schedule, written (its old bytes are kept and come back at the schedule's
// end), freed (any access is an error).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "machine/clock.h"

namespace sim
{

enum class Model { kSc, kTso, kPso };

constexpr size_t kGranule = 8;

// One side of every access, for the race check and for reports.
struct Access {
    int thread;
    int threads; // how many there are
    const Clock *clock;
    const char *text; // the source's spelling, or null: look @pc up
    const void *pc;
};

struct Cell {
    uintptr_t address;
    uint32_t epoch; // the schedule in which the rest holds
    bool saved;
    bool changed; // since the state hash was computed last
    uint8_t freed;
    uint64_t before;
    uint64_t hash;
    std::array<uint32_t, kGranule> message; // who published the byte: index of a Clock, 0 = nobody
    std::array<uint16_t, kGranule> write_time;
    std::array<uint8_t, kGranule> writer;
    std::array<std::array<uint16_t, kGranule>, kNoThread + 1> read_time, atomic_read_time, atomic_write_time;
    const void *write_pc;
    std::array<const void *, kNoThread + 1> read_pc;
    const char *atomic_text;
};

struct BufferedStore {
    uintptr_t address;
    uint64_t value;
    uint8_t size;
    bool release;
    bool exclusive; // half of an update: nobody else's store comes between its load and it
    Clock clock;
    const char *text;
    const char *where;
};

// A count is an atomic write that no other may come beside.
enum class AccessKind { kPlainRead, kPlainWrite, kAtomicRead, kAtomicWrite, kCount };

class Memory
{
  public:
    Memory();

    // Empty error text: the access is in order.
    std::string check(uintptr_t address, size_t size, AccessKind kind, const Access &access, bool races);

    // Memory proper, without buffers.
    static uint64_t read(uintptr_t address, size_t size);
    void write(uintptr_t address, uint64_t value, size_t size, const Clock &published);
    static void write_bytes(uintptr_t address, uint64_t value, size_t size);
    // Something outside the model is about to write: keep the old bytes.
    void will_change(uintptr_t address, size_t size);
    // What the publishers of these bytes knew.
    void publishers(uintptr_t address, size_t size, Clock &into) const;

    void set_freed(uintptr_t address, size_t size, bool freed);
    // Does who has this clock come after the last plain write of the byte?
    bool comes_after_write(uintptr_t address, const Clock &clock) const;

    // Undo every write since the last call; what was known is forgotten.
    void rollback();

    uint64_t hash();

  private:
    Cell &cell(uintptr_t address);
    const Cell *find(uintptr_t address) const;
    void save(Cell &cell);
    std::string race(Cell &cell, size_t first, size_t last, AccessKind kind, const Access &access);

    std::vector<Cell> table_;
    std::vector<uint32_t> written_; // cells with old bytes
    std::vector<uint32_t> changed_;
    std::vector<Clock> messages_;
    uint32_t epoch_ = 1;
    uint32_t used_ = 0;
    uint64_t hash_ = 0;
};

uint64_t mix(uint64_t hash, uint64_t value);

// The store buffer of one thread.
class StoreBuffer
{
  public:
    bool empty() const
    {
        return stores_.empty();
    }
    size_t size() const
    {
        return stores_.size();
    }
    const BufferedStore &at(size_t i) const
    {
        return stores_[i];
    }
    void clear()
    {
        stores_.clear();
    }
    void push(const BufferedStore &store)
    {
        stores_.push_back(store);
    }
    // May this one reach memory next?
    bool may_drain(size_t i, Model model) const;
    BufferedStore take(size_t i);
    bool overlaps(uintptr_t address, size_t size) const;
    bool overlaps_exclusive(uintptr_t address, size_t size) const;
    bool has_release() const;
    // Lay the buffered bytes over @value, which memory says.
    uint64_t forward(uintptr_t address, size_t size, uint64_t value) const;
    uint64_t hash() const;

  private:
    std::vector<BufferedStore> stores_;
};

} // namespace sim
