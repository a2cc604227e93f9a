// SPDX-License-Identifier: MIT OR Apache-2.0
// A litmus test: a few threads, the outcome that an ordering forbids, and a mutant of it that must show it.
//
// The checker is the explorer's own model (test/sim): interleaving, store buffers of x86, stores out of order and
// exclusive pairs as on aarch64.  Loads stay in program order; what only a reordered load could break, arm/ shows.
// Nothing of src/ is compiled here.
#pragma once

extern "C" {
#include "plat/plat.h"
}

#include "litmus_test.h"
