// SPDX-License-Identifier: MIT OR Apache-2.0
// The age pipeline: elements are published one after another. An element that was replaced becomes one age older with
// each grace period, so if a reader sees age 2 or more, a grace period did not wait for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "torture/callback.h"
#include "torture/shared.h"

namespace lab::torture
{

// An object that writers publish and readers find.  After its replacement, each grace period makes it older by 1.  Its
// memory is never freed, so a read that is too late is a finding and not a crash.
struct Element {
    TracedHead traced; // first member, so that a callback finds the element
    std::atomic<uint32_t> age;
    std::atomic<uint32_t> ready; // 1: the element is filled in, and has not been reused for other content
    std::atomic<uint32_t> used;
    uint64_t dice; // random bits that choose the call that queues the element again
};

class Pipeline
{
  public:
    explicit Pipeline(Context &context);

    // Returns the published element; called by readers inside a section.
    Element *read() const
    {
        return rcu_dereference(current_);
    }
    // Publishes a new element.  Returns the old one at age 1, or nullptr if every element is still in the pipeline.
    Element *replace(uint64_t hint);
    // Adds 1 to an element's age.  Returns true if the element has reached the last age and is free again.
    bool grow_older(Element &element);
    // Queues callbacks that age the element, until it is free.  Returns false if `way` is call_try and the call was
    // refused.
    bool age_by_callbacks(Element &element, Way way, uint64_t dice);
    // Returns the number of elements in the pipeline, without the published one.
    std::size_t outstanding() const;

  private:
    static constexpr std::size_t size = 256;
    Element *take(uint64_t hint);
    static After on_grace_period(TracedHead *traced);

    Context &context_;
    std::vector<Element> elements_;
    Element *current_;
};

} // namespace lab::torture
