// SPDX-License-Identifier: MIT OR Apache-2.0
// The library as the child program uses it: configured for a variant, and what its lock's meter found.
#pragma once

#include "blocked/child/meter.h"
#include "blocked/exchange.h"

namespace lab::blocked
{

// Before the first use of the library.  Throws what the library says against it.
void prepare_library(Lists lists);

LockUse to_use(const meter_use &use);
double cycles_to_ns(uint64_t cycles);

} // namespace lab::blocked
