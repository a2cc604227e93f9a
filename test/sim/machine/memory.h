// SPDX-License-Identifier: MIT OR Apache-2.0
// Simulated memory.  The bytes themselves are in the program's own memory.  This holds the state of each granule of
// eight bytes during one schedule, and the store buffers of the threads.
//   sc    every access is one event, visible immediately: only interleaving
//   tso   stores pass through a first-in first-out buffer of their thread (x86)
//   pso   a store may overtake older ones to other bytes, unless it is a release.  The store of a read-modify-write
//         waits in the buffer too, so later relaxed loads may overtake it (part of what aarch64 allows)
//
// Buffers are byte-granular: if a thread stores a byte into a word, and another thread updates the word by an unlocked
// read-modify-write that loads before that store and drains after it, the byte is lost.  Loads happen in program order.
// They read the newest byte of the thread's own buffer, or else memory.
// States of a granule: untouched in this schedule, written (its old bytes are kept, and restored at the schedule's
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
    int threads; // the number of threads
    const Clock *clock;
    const char *text; // the access as spelt in the source, or null: look @pc up
    const void *pc;
};

struct Cell {
    uintptr_t address;
    uint32_t epoch; // the schedule to which the other fields belong
    bool saved;
    bool changed; // changed since the state hash was last computed
    uint8_t freed;
    uint64_t before;
    uint64_t hash;
    std::array<uint32_t, kGranule> message; // for each byte its publisher: the index of a Clock, 0 = none
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
    bool exclusive; // half of an update: no other thread's store may come between its load and this store
    Clock clock;
    const char *text;
    const char *where;
};

// kCount: an update of a statistics counter.  It is atomic, but a second update must not run concurrently.
enum class AccessKind { kPlainRead, kPlainWrite, kAtomicRead, kAtomicWrite, kCount };

class Memory
{
  public:
    Memory();

    // Returns an empty text if the access is allowed.
    std::string check(uintptr_t address, size_t size, AccessKind kind, const Access &access, bool races);

    // Accesses to memory itself, without buffers.
    static uint64_t read(uintptr_t address, size_t size);
    void write(uintptr_t address, uint64_t value, size_t size, const Clock &published);
    static void write_bytes(uintptr_t address, uint64_t value, size_t size);
    // Keep the old bytes before code outside the model writes them.
    void will_change(uintptr_t address, size_t size);
    // Joins the clocks of the publishers of these bytes into @into.
    void publishers(uintptr_t address, size_t size, Clock &into) const;

    void set_freed(uintptr_t address, size_t size, bool freed);
    // Returns whether the last plain write of the byte happens before @clock.
    bool comes_after_write(uintptr_t address, const Clock &clock) const;

    // Undo every write since the last call, and forget the recorded state.
    void rollback();

    uint64_t hash();

  private:
    Cell &cell(uintptr_t address);
    const Cell *find(uintptr_t address) const;
    void save(Cell &cell);
    std::string race(Cell &cell, size_t first, size_t last, AccessKind kind, const Access &access);

    std::vector<Cell> table_;
    std::vector<uint32_t> written_; // granules with old bytes
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
    // Returns whether store number @i may drain next.
    bool may_drain(size_t i, Model model) const;
    BufferedStore take(size_t i);
    bool overlaps(uintptr_t address, size_t size) const;
    bool overlaps_exclusive(uintptr_t address, size_t size) const;
    bool has_release() const;
    // Replace the bytes of @value, read from memory, by buffered ones.
    uint64_t forward(uintptr_t address, size_t size, uint64_t value) const;
    uint64_t hash() const;

  private:
    std::vector<BufferedStore> stores_;
};

} // namespace sim
