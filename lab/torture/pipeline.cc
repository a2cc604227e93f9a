// SPDX-License-Identifier: MIT OR Apache-2.0
// The states of an element: free, published, replaced (age 1), one age older after each grace period, free again.
#include "torture/pipeline.h"

#include "torture/context.h"

namespace lab::torture
{

Pipeline::Pipeline(Context &context) : context_(context), elements_(size)
{
    current_ = take(0);
}

Element *Pipeline::take(uint64_t hint)
{
    for (std::size_t i = 0; i < size; i++) {
        Element &element = elements_[(hint + i) % size];
        uint32_t unused = 0;
        if (!element.used.compare_exchange_strong(unused, 1))
            continue;
        element.age.store(0, std::memory_order_relaxed);
        element.ready.store(1, std::memory_order_relaxed);
        return &element;
    }
    return nullptr;
}

Element *Pipeline::replace(uint64_t hint)
{
    Element *fresh = take(hint);
    if (!fresh)
        return nullptr;
    Element *old = rcu_xchg_pointer(&current_, fresh);
    old->age.fetch_add(1);
    return old;
}

bool Pipeline::grow_older(Element &element)
{
    if (element.age.fetch_add(1) + 1 < pipe_length)
        return false;
    element.ready.store(0);
    element.used.store(0);
    return true;
}

After Pipeline::on_grace_period(TracedHead *traced)
{
    auto *element = reinterpret_cast<Element *>(traced);
    Pipeline &pipeline = traced->context->pipeline;
    if (pipeline.grow_older(*element))
        return After::
            gone; // the element is free, and another thread may already have published it again, so do not access it
    element->dice = element->dice * 6364136223846793005u + 1442695040888963407u;
    Way way = element->dice >> 61 == 0 ? Way::call_hurry : Way::call;
    queue_traced(pipeline.context_, *traced, way, on_grace_period);
    return After::gone;
}

bool Pipeline::age_by_callbacks(Element &element, Way way, uint64_t dice)
{
    element.dice = dice;
    return queue_traced(context_, element.traced, way, on_grace_period);
}

std::size_t Pipeline::outstanding() const
{
    std::size_t count = 0;
    for (const Element &element : elements_)
        count += element.used.load() != 0 && &element != current_;
    return count;
}

} // namespace lab::torture
