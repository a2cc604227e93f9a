// SPDX-License-Identifier: MIT OR Apache-2.0
// Collects a round's events and keeps the window around its worst sample.
#include "probe/trace.h"

#include <algorithm>

#include "measure/clock.h"

namespace lab
{

// Limits per round.  A round with more events is not traced; sections beyond the limit are dropped.
constexpr std::size_t events_most = 60'000, sections_most = 10'000;
// Callbacks of other threads that begin within this time of each other count as one batch.
constexpr double batch_gap_ns = 20'000;

Trace round_trace;

Trace::Trace()
{
    events_.reserve(events_most);
    sections_.reserve(sections_most);
}

Trace::Clocks Trace::clocks()
{
    return {now_ns(), cycles_now()};
}

void Trace::begin_round()
{
    events_.clear();
    sections_.clear();
    overflowed_ = false;
    callback_stamps.clear();
    begin_ = clocks();
}

void Trace::push(const TraceEvent &event)
{
    if (events_.size() < events_most)
        events_.push_back(event);
    else
        overflowed_ = true;
}

void Trace::deadline(int64_t due_ns, int64_t served_ns)
{
    push({TraceEvent::deadline, 0, due_ns, served_ns});
}

void Trace::batch(const BatchRecord &batch)
{
    push({TraceEvent::batch, static_cast<uint32_t>(batch.callbacks), batch.begin_ns, batch.end_ns});
}

void Trace::grace_period(int64_t seen_ns)
{
    push({TraceEvent::grace_period, 0, seen_ns, seen_ns});
}

void Trace::section(int64_t begin_ns, int64_t end_ns)
{
    if (sections_.size() < sections_most)
        sections_.push_back({TraceEvent::section, 0, begin_ns, end_ns});
}

// Returns the batches that other threads ran, computed from the time stamps of their callbacks.  The stamps are in
// cycles; readings of both clocks at the begin and the end of the round convert them to nanoseconds.
std::vector<TraceEvent> Trace::helper_batches(const Clocks &end) const
{
    std::vector<uint64_t> stamps;
    for (std::size_t i = 0; i < callback_stamps.count(); i++)
        if (callback_stamps[i] >= begin_.cycles && callback_stamps[i] <= end.cycles)
            stamps.push_back(callback_stamps[i]);
    std::sort(stamps.begin(), stamps.end());
    const double ns_a_cycle = static_cast<double>(end.ns - begin_.ns) /
                              static_cast<double>(std::max<uint64_t>(end.cycles - begin_.cycles, 1));
    std::vector<TraceEvent> batches;
    for (const uint64_t stamp : stamps) {
        const int64_t at = begin_.ns + static_cast<int64_t>(static_cast<double>(stamp - begin_.cycles) * ns_a_cycle);
        if (batches.empty() || static_cast<double>(at - batches.back().end_ns) > batch_gap_ns)
            batches.push_back({TraceEvent::helper_batch, 0, at, at});
        batches.back().end_ns = at;
        batches.back().callbacks += callback_stamp_stride;
    }
    return batches;
}

void Trace::keep_events(const std::vector<TraceEvent> &events, int64_t from_ns, VariantRecord &record) const
{
    for (TraceEvent event : events) {
        event.begin_ns = std::max<int64_t>(event.begin_ns - from_ns, 0);
        event.end_ns = std::min<int64_t>(event.end_ns - from_ns, 2 * half_window_ns);
        if (event.end_ns >= event.begin_ns)
            record.trace.push(event);
    }
}

void Trace::keep(VariantRecord &record)
{
    const Clocks end = clocks();
    const TraceEvent *worst = nullptr;
    for (const TraceEvent &event : events_)
        if (event.kind == TraceEvent::deadline &&
            (worst == nullptr || event.end_ns - event.begin_ns > worst->end_ns - worst->begin_ns))
            worst = &event;
    if (worst == nullptr || overflowed_ || callback_stamps.overflowed() ||
        worst->end_ns - worst->begin_ns <= record.sum().traced_late_ns)
        return;
    record.sum().traced_late_ns = worst->end_ns - worst->begin_ns;
    record.trace.clear();
    const int64_t from_ns = worst->begin_ns - half_window_ns;
    keep_events(events_, from_ns, record);
    keep_events(sections_, from_ns, record);
    keep_events(helper_batches(end), from_ns, record);
}

} // namespace lab
