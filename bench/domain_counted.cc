// SPDX-License-Identifier: MIT OR Apache-2.0
// A reference count's part of domain.c: an atomic std::shared_ptr, whose readers count a reference to its value.
#include <atomic>
#include <memory>

#include "domain_peer.h"

namespace
{

std::atomic<std::shared_ptr<int>> alone{std::make_shared<int>(1)}, shared{std::make_shared<int>(1)};

void read(const std::atomic<std::shared_ptr<int>> &from, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const std::shared_ptr<int> value = from.load(std::memory_order_acquire);
        asm volatile("" : : "r"(value.get()) : "memory");
    }
}

} // namespace

void counted_pairs(unsigned count)
{
    read(alone, count);
}

void counted_pairs_shared(unsigned count)
{
    read(shared, count);
}

void counted_updates(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        alone.store(std::make_shared<int>(1), std::memory_order_release);
}

void counted_updates_shared(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        shared.store(std::make_shared<int>(1), std::memory_order_release);
}
