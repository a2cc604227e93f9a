// SPDX-License-Identifier: MIT OR Apache-2.0
// The work of a side in a round, and its result.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "machine/realtime.h"
#include "measure/quantile.h"

namespace bench
{

struct Parameters {
    bool quick = false;
    uint64_t seed = 1;
    int cpu = 0;             // CPU of the measured thread
    int other_cpu = 1;       // CPU of the busy reader beside it
    std::size_t threads = 0; // number of threads of the figures crowd-*
};

// The value is in the figure's unit.  For figures whose bar compares with a reference, the reference is the value of
// the same round without the measured operation.
struct Measured {
    double value = 0;
    double reference = std::numeric_limits<double>::quiet_NaN();
};

class Work
{
  public:
    virtual ~Work() = default;
    virtual Measured round() = 0;
};

// Names and values of a peer's own settings, in order.
using Settings = std::vector<std::pair<std::string, std::string>>;

inline double median(std::vector<uint64_t> values)
{
    return static_cast<double>(lab::Samples(std::move(values)).quantile_of_few(0.5).value_or(0));
}

// Run `body` on a new thread, so that the process has no reader between rounds.  `cpu` < 0: the thread is not bound.
template <class Body> void on_thread(int cpu, const Body &body)
{
    std::thread thread([&] {
        if (cpu >= 0)
            lab::pin_to_cpus({cpu});
        body();
    });
    thread.join();
}

// Run blocks with the measured operation and blocks without it alternately, on a new thread that is a reader of library
// P.  Returns the medians of the blocks' times, so that preempted blocks have little effect.
struct InTurn {
    double with, without;
};
template <class P, class With, class Without>
InTurn in_turn(int cpu, int count, const With &with, const Without &without)
{
    std::vector<uint64_t> times_with, times_without;
    on_thread(cpu, [&] {
        P::begin();
        for (int i = 0; i < count; i++) {
            times_without.push_back(without());
            times_with.push_back(with());
        }
        P::end();
    });
    return {median(std::move(times_with)), median(std::move(times_without))};
}

// Keeps the compiler from merging or dropping the code before it; emits no instruction.
[[gnu::always_inline]] inline void compiler_fence()
{
    asm volatile("" ::: "memory");
}

} // namespace bench
