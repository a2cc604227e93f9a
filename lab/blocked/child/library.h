// SPDX-License-Identifier: MIT OR Apache-2.0
// The library as the child program uses it: its configuration for a variant, and the lock times that were measured.
#pragma once

#include "blocked/child/meter.h"
#include "blocked/exchange.h"

namespace lab::blocked
{

// Configures the library; called before its first use.  Throws the library's message if it refuses.
void prepare_library(Lists lists);

LockUse to_use(const meter_use &use);
double cycles_to_ns(uint64_t cycles);

} // namespace lab::blocked
