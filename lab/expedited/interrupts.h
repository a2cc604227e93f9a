// SPDX-License-Identifier: MIT OR Apache-2.0
// Interrupts that the CPU of an isolated reader receives while another CPU waits for grace periods.
//
// A reader that has a CPU of its own pays for a grace period by the interrupt of its heavy fence.  Real-time kernels
// turn expedited grace periods off for that reason; here the same is the setting `normal`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expedited/child.h"

namespace lab::expedited
{

// What the caller and the reader do.
enum class Isolation {
    control,        // no grace period: what the machine does anyway
    expedited,      // synchronize_rcu_expedited() in the library's default configuration
    normal,         // the same calls with normal=1
    no_membarrier,  // the same with membarrier=off: readers fence, no interrupt is sent
    quiescent_state // the default configuration, and a reader of the quiescent-state discipline
};
const char *name_of(Isolation isolation);

struct InterruptTotals {
    int64_t wall_ns;
    uint64_t interrupts; // function calls, at the reader's CPU
    uint64_t grace_periods, sections;
};

struct InterruptCell {
    Isolation isolation;
    std::string error; // why it was left out
    std::vector<InterruptTotals> experiments;

    std::vector<double> interrupts_per_s() const;
};

// In a child, for a bounded time.  False with `error`.
bool count_interrupts(Isolation isolation, const ExperimentOptions &options, InterruptTotals &totals,
                      std::string &error);

// Function-call interrupts at `cpu`, from the text of /proc/interrupts; nothing where the kernel does not count them.
std::optional<uint64_t> function_calls_at(const std::string &text, int cpu);

// How many more interrupts than `control`, for each grace period of `cell`, experiment by experiment.
std::vector<double> interrupts_per_grace_period(const InterruptCell &cell, const InterruptCell &control);

} // namespace lab::expedited
