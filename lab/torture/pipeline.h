// SPDX-License-Identifier: MIT OR Apache-2.0
// The age pipeline: one published element after the other; each grows older by one with every grace period after it was
// replaced, so a reader that sees age 2 or more was not waited for.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "torture/callback.h"
#include "torture/shared.h"

namespace lab::torture
{

// Element memory is never given back, so that a late look at it is a finding and not a crash.
struct Element {
    TracedHead traced; // first: found from its head
    std::atomic<uint32_t> age;
    std::atomic<uint32_t> ready; // 1: filled in, and not used again yet
    std::atomic<uint32_t> used;
    uint64_t dice; // chooses how it is queued again
};

class Pipeline
{
  public:
    explicit Pipeline(Context &context);

    // Readers, inside a section.
    Element *read() const
    {
        return rcu_dereference(current_);
    }
    // Publish a new element.  Returns the old one at age 1, or nullptr where every element is still on its way.
    Element *replace(uint64_t hint);
    // One grace period later.  True: at its end, and free again.
    bool grow_older(Element &element);
    // Let callbacks age it to the end.  False if call_try refused.
    bool age_by_callbacks(Element &element, Way way, uint64_t dice);
    // Elements on their way; the published one is not counted.
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
