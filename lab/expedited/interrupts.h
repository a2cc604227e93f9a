// SPDX-License-Identifier: MIT OR Apache-2.0
// Interrupts of an isolated reader's CPU while another CPU waits for grace periods.
//
// A reader on a CPU of its own pays for a grace period with the interrupt of its heavy fence.  Real-time kernels turn
// expedited grace periods off for that reason; here the setting `normal` does the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expedited/child.h"

namespace lab::expedited
{

// The variants of the caller and the reader.
enum class Isolation {
    control,        // no grace period: shows the machine's other interrupts
    expedited,      // synchronize_rcu_expedited() in the library's default configuration
    normal,         // synchronize_rcu_expedited() with normal=1
    no_membarrier,  // synchronize_rcu_expedited() with membarrier=off: readers fence, and no interrupt is sent
    quiescent_state // the default configuration, and a reader of the quiescent-state discipline
};
const char *name_of(Isolation isolation);

struct InterruptTotals {
    int64_t wall_ns;
    uint64_t interrupts; // function-call interrupts at the reader's CPU
    uint64_t grace_periods, sections;
};

struct InterruptCell {
    Isolation isolation;
    std::string error; // the reason why the variant was left out
    std::vector<InterruptTotals> experiments;

    std::vector<double> interrupts_per_s() const;
};

// Counts in a child, for a bounded time.  Returns false and sets `error` if it fails.
bool count_interrupts(Isolation isolation, const ExperimentOptions &options, InterruptTotals &totals,
                      std::string &error);

// Returns the number of function-call interrupts at `cpu`, from the text of /proc/interrupts; nothing if the kernel
// does not count them.
std::optional<uint64_t> function_calls_at(const std::string &text, int cpu);

// Returns for each experiment the interrupts per grace period of `cell` beyond those of `control`.
std::vector<double> interrupts_per_grace_period(const InterruptCell &cell, const InterruptCell &control);

} // namespace lab::expedited
