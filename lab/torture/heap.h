// SPDX-License-Identifier: MIT OR Apache-2.0
// Nodes that are really freed. Readers check their contents, and count themselves when they enter and leave.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "torture/callback.h"

namespace lab::torture
{

constexpr uint64_t node_canary = UINT64_C(0x7c3a91e4d2b65f08);
// The largest number of readers that count their visits.  Other readers only check the contents.
constexpr uint32_t seats_max = 64;

// The counters are not atomic on purpose: a grace period must order the accesses, and ThreadSanitizer checks this.
struct HeapNode {
    uint64_t canary; // first member, since allocators overwrite the begin of freed memory
    TracedHead traced;
    rcu_head head; // for rcu_free_head()
    uint64_t generation, generation_again;
    std::array<uint32_t, seats_max> entered, left; // each element is written only by the reader of its seat
};

class Heap
{
  public:
    explicit Heap(Context &context);
    ~Heap();

    // Returns the current node of a slot; called by readers inside a section.
    HeapNode *read(uint64_t slot) const
    {
        return rcu_dereference(slots_[slot % size]);
    }
    static bool is_sound(const HeapNode &node)
    {
        return node.canary == node_canary && node.generation == node.generation_again;
    }
    // Returns the index of the counters that a reader may use, its seat; seats_max if all seats are taken.
    uint32_t take_seat();

    // Called by writers.
    HeapNode *replace(uint64_t slot); // publishes a new node and returns the old node
    void give_back(HeapNode *node);   // checks the readers' counts, then frees the node; called after a grace period
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
