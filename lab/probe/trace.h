// SPDX-License-Identifier: MIT OR Apache-2.0
// A trace of a variant's events in the 100 ms around its worst sample: deadlines, batches, grace periods, sections.
//
// The child records a whole round in memory. Then it keeps the part around the round's worst sample, unless an earlier
// round had a worse one.  Recording an event is one push; callbacks on other threads are recorded by the callback meter
// anyway.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/callback_meter.h"
#include "probe/record.h"

namespace lab
{

class Trace
{
  public:
    Trace();
    // The loop's thread calls begin_round() before it starts the companions of a round, and keep() after they have
    // ended.
    void begin_round();
    void keep(VariantRecord &record);

    // Record an event; called only by the loop's thread.
    void deadline(int64_t due_ns, int64_t served_ns);
    void batch(const BatchRecord &batch);
    void grace_period(int64_t seen_ns);
    // Records a section; called only by the long reader.
    void section(int64_t begin_ns, int64_t end_ns);

    static constexpr int64_t half_window_ns = 50'000'000;

  private:
    struct Clocks {
        int64_t ns;
        uint64_t cycles;
    };
    static Clocks clocks();
    void push(const TraceEvent &event);
    void keep_events(const std::vector<TraceEvent> &events, int64_t from_ns, VariantRecord &record) const;
    std::vector<TraceEvent> helper_batches(const Clocks &end) const;

    std::vector<TraceEvent> events_, sections_;
    bool overflowed_ = false;
    Clocks begin_{};
};

// The trace of the process.
extern Trace round_trace;

} // namespace lab
