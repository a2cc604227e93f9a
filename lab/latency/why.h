// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu latency --why`: the cause of each late sample, with its share of the lateness.
//
// The paper of 2004 works "on tools to help identify the remaining problematic components"; the patch of 2004 blames
// consecutive interrupts.  Causes get their shares in the order below, and each gets at most the lateness that is left:
// first the times that the kernel and the callback meter measured, then estimates (a count times a usual time).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "latency/plan.h"
#include "probe/record.h"
#include "report/row.h"
#include "report/verdict.h"

namespace lab::latency
{

constexpr double late_default_us = 50;
// A share of a sample's lateness that is smaller than this is ignored, because two clocks can differ by this much.
constexpr uint32_t share_least_ns = 2000;
// The largest part of the loop's time that the measurement itself may take.
constexpr double instrument_bar = 0.05;
// The number of late samples below which a verdict is "not judged".
constexpr uint64_t late_least = 30;
// The causes must explain at least this part of the lateness of all late samples, and callbacks may be the main cause
// of at most this part of all samples.
constexpr double explained_bar = 0.9, callbacks_main_bar = 1e-4;

enum class Cause {
    stolen,              // the host did not run the virtual CPU
    callbacks_elsewhere, // ready to run, while other threads ran callbacks on the loop's CPU
    switches,            // preempted by another thread
    waiting,             // ready to run after a wake-up, while another thread ran
    lock,                // asleep inside an iteration, but not for a page
    faults,
    callbacks,  // callbacks that the loop ran
    interrupts, // interrupts of the loop's timers
    library,    // the call that runs callbacks, apart from the callbacks
    work,       // the loop's own event of work
    wake_up,    // the loop slept: the usual time of timer interrupt and wake-up
    not_explained,
};
constexpr std::size_t cause_count = static_cast<std::size_t>(Cause::not_explained) + 1;
const char *cause_name(Cause cause);

// The usual durations, in nanoseconds.
struct UsualTimes {
    double interrupt_ns = 0, fault_ns = 0, callback_ns = 0, wake_ns = 0, work_ns = 0;
};
using Shares = std::array<uint32_t, cause_count>; // nanoseconds; their sum is the lateness

Shares explain(const LateSample &sample, const UsualTimes &usual);

// The late samples of a variant.
struct LateSummary {
    std::string label, workload, policy;
    bool fifo = true;
    uint64_t samples = 0; // all samples, late or not
    std::vector<Shares> late;
    uint64_t others = 0;             // late samples whose main cause is not callbacks
    uint64_t several_interrupts = 0; // those of `others` with at least two timer interrupts
    uint64_t readings = 0, readings_ns = 0, wall_ns = 0;
    bool stolen_is_known = true, waiting_is_known = true;
};
LateSummary summarize(const Variant &variant, const VariantRecord &record, double interrupt_ns, double work_ns);
Cause main_cause(const Shares &shares);

struct WhyRow : Fields {
    Text label{*this, "label", {0, "workload, policy"}};
    Text workload{*this, "workload"}, policy{*this, "policy"};
    Text cause{*this, "cause", {0, "cause"}};
    Count samples{*this, "samples"};
    Count late{*this, "late", {0, "late"}};
    Count with_cause{*this, "late_with_cause", {0, "with it"}}; // samples with a share of at least share_least_ns
    Count main{*this, "late_mainly", {0, "mainly"}};            // samples of which this cause is the main cause
    Number share_us_p50{*this, "share_us_p50", {0, "share p50"}};
    Number share_us_max{*this, "share_us_max", {0, "max"}};
    Number of_lateness{*this, "of_lateness", {0, "of all", "{:.1f} %", 100}};
};

struct InstrumentRow : Fields {
    Count readings{*this, "readings"};
    Number reading_ns{*this, "reading_ns"};
    Number of_loop_time{*this, "of_loop_time"}; // as a share of wall time
    Flag stolen_is_known{*this, "stolen_is_known"}, waiting_is_known{*this, "waiting_is_known"};
};

// Returns a row for each cause of the variant's late samples, and always a row for "not explained".
std::vector<WhyRow> make_why_rows(const std::vector<LateSummary> &variants);
InstrumentRow make_instrument_row(const std::vector<LateSummary> &variants);
std::string why_text(const std::vector<LateSummary> &variants, double late_us);

Verdicts judge_why(const std::vector<LateSummary> &variants, bool judge_times);

} // namespace lab::latency
