// SPDX-License-Identifier: MIT OR Apache-2.0
// Nodes on the heap that are really given back: readers check what is in them, and count themselves in and out.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "torture/callback.h"

namespace lab::torture
{

constexpr uint64_t node_canary = UINT64_C(0x7c3a91e4d2b65f08);
constexpr uint32_t seats_max = 64; // readers that take part in the census; the others only look

// The counters are plain on purpose: a grace period orders them, and the race detector sees whether it does.
struct HeapNode {
    uint64_t canary; // first, where an allocator writes its own data
    TracedHead traced;
    rcu_head head; // for rcu_free_head()
    uint64_t generation, generation_again;
    std::array<uint32_t, seats_max> entered, left; // by the reader of the seat alone
};

class Heap
{
  public:
    explicit Heap(Context &context);
    ~Heap();

    // Readers, inside a section.
    HeapNode *read(uint64_t slot) const
    {
        return rcu_dereference(slots_[slot % size]);
    }
    static bool is_sound(const HeapNode &node)
    {
        return node.canary == node_canary && node.generation == node.generation_again;
    }
    // A seat of its own for a reader, or seats_max if all are taken.
    uint32_t take_seat();

    // Writers.
    HeapNode *replace(uint64_t slot); // publishes a new node, returns the old one
    void give_back(HeapNode *node);   // after a grace period: take the census, free it
    bool give_back_by_callback(HeapNode *node, Way way);
    bool retire(HeapNode *node);

  private:
    static constexpr std::size_t size = 16;
    HeapNode *make();
    void take_census(const HeapNode &node);

    Context &context_;
    std::atomic<uint64_t> generation_{0};
    std::atomic<uint32_t> seats_{0};
    std::array<HeapNode *, size> slots_;
};

} // namespace lab::torture
