// SPDX-License-Identifier: MIT OR Apache-2.0
// Configures the library for a variant, and converts cycles to nanoseconds.
#include "blocked/child/library.h"

#include <rtrcu/rcu.h>

#include <stdexcept>

#include "measure/clock.h"

namespace lab::blocked
{

// Makes all threads of the library ordinary threads that boost no reader: the document of 2026 is about virtual CPUs,
// and a guest does not know the priorities of its host.
void prepare_library(Lists lists)
{
    meter_init(spins(lists), cycles_per_ns());
    rtrcu_config config;
    rtrcu_config_init(&config);
    config.blocked_lists = are_per_cpu(lists) ? RTRCU_BLOCKED_LISTS_PERCPU : RTRCU_BLOCKED_LISTS_NODE;
    config.kthread_prio = 0;
    config.boost = 0;
    if (rtrcu_configure(&config) != 0)
        throw std::runtime_error(rtrcu_config_error());
}

double cycles_to_ns(uint64_t cycles)
{
    return static_cast<double>(cycles) / cycles_per_ns();
}

LockUse to_use(const meter_use &use)
{
    LockUse result;
    result.acquisitions = use.acquisitions;
    result.hold_ns = cycles_to_ns(use.hold);
    result.hold_ns_max = cycles_to_ns(use.hold_max);
    result.wait_ns = cycles_to_ns(use.wait);
    result.wait_ns_max = cycles_to_ns(use.wait_max);
    result.hold_log2.assign(use.hold_log2, use.hold_log2 + METER_BUCKETS);
    return result;
}

} // namespace lab::blocked
