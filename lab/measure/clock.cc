// SPDX-License-Identifier: MIT OR Apache-2.0
// The rate of the cycle counter.
#include "measure/clock.h"

namespace lab
{

static double measure_cycles_per_ns()
{
    int64_t start_ns = now_ns();
    uint64_t start = cycles_now();
    int64_t end_ns = start_ns;
    while (end_ns - start_ns < 2'000'000)
        end_ns = now_ns();
    return static_cast<double>(cycles_now() - start) / static_cast<double>(end_ns - start_ns);
}

double cycles_per_ns()
{
    static const double rate = measure_cycles_per_ns();
    return rate;
}

} // namespace lab
