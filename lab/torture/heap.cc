// SPDX-License-Identifier: MIT OR Apache-2.0
// Allocates, publishes and frees nodes, and checks the readers' counts before a node is freed.
#include "torture/heap.h"

#include <cstdlib>
#include <new>

#include "torture/context.h"

namespace lab::torture
{

// Allocates a node by malloc(), because rcu_free() frees it by free().
HeapNode *Heap::make()
{
    void *memory = malloc(sizeof(HeapNode));
    if (!memory)
        throw std::bad_alloc();
    auto *node = new (memory) HeapNode{};
    node->canary = node_canary;
    node->generation = node->generation_again = generation_.fetch_add(1) + 1;
    return node;
}

Heap::Heap(Context &context) : context_(context)
{
    for (HeapNode *&slot : slots_)
        slot = make();
}

Heap::~Heap()
{
    for (HeapNode *slot : slots_)
        free(slot);
}

uint32_t Heap::take_seat()
{
    return std::min(seats_.fetch_add(1), seats_max);
}

HeapNode *Heap::replace(uint64_t slot)
{
    return rcu_xchg_pointer(&slots_[slot % size], make());
}

// Checks a node after its grace period: every reader that entered it must have left it, and it must be undamaged.
void Heap::take_census(const HeapNode &node)
{
    uint64_t entered = 0, left = 0;
    if (context_.forked)
        return;
    for (uint32_t seat = 0; seat < seats_max; seat++) {
        if (node.entered[seat] != node.left[seat])
            context_.findings.report(Check::census,
                                     "the reader of seat {} entered this node {} times, but left it {} times", seat,
                                     node.entered[seat], node.left[seat]);
        entered += node.entered[seat];
    }
    for (uint32_t seat = 0; seat < seats_max; seat++)
        left += node.left[seat];
    if (!is_sound(node))
        context_.findings.report(Check::canary,
                                 "the node was damaged when it was reclaimed: canary {:#x}, generations {} and {}",
                                 node.canary, node.generation, node.generation_again);
    if (entered != left)
        context_.findings.report(Check::census,
                                 "readers entered this node {} times, but left it {} times, "
                                 "by a second reading of all counts",
                                 entered, left);
}

void Heap::give_back(HeapNode *node)
{
    take_census(*node);
    node->canary = ~node_canary;
    node->generation_again = 0;
    free(node);
}

bool Heap::give_back_by_callback(HeapNode *node, Way way)
{
    return queue_traced(context_, node->traced, way, [](TracedHead *traced) {
        auto *at = reinterpret_cast<char *>(traced) - offsetof(HeapNode, traced);
        traced->context->heap.give_back(reinterpret_cast<HeapNode *>(at));
        return After::gone;
    });
}

bool Heap::retire(HeapNode *node)
{
    node->traced.context = &context_;
    return context_.flavour.retire(node, [](void *memory) {
        auto *back = static_cast<HeapNode *>(memory);
        back->traced.context->heap.give_back(back);
    }) == 0;
}

} // namespace lab::torture
