// SPDX-License-Identifier: MIT OR Apache-2.0
// One read-side critical section of a torture reader: several segments, each with its own protection and activity, and
// all checks that a reader can make.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "torture/context.h"

namespace lab::torture
{

// The call that protects a segment.
enum class Hold : uint8_t { discipline, lock, bh, deep, count };
// What the reader does during a segment.
enum class Spend : uint8_t { nothing, spin, yield, sleep, count };

struct Segment {
    Hold hold;
    Spend spend;
    uint32_t ns;
    uint32_t age_after;           // the element's age at the end of the segment
    std::array<int, 5> indexes{}; // returned by srcu_read_lock(), if the scenario uses a domain of the program
};

// The thread or signal handler that runs a section.
struct Reader {
    Context &context;
    ActorRecord &record;
    Random &random;
    uint32_t seat;    // the reader's seat in the heap's counts; seats_max: none
    bool online_qsbr; // an online quiescent-state thread, which is protected without a lock
    bool in_handler;  // the section runs in a signal handler, which must not wait or yield
};

class SectionRun
{
  public:
    explicit SectionRun(Reader &reader);
    void run();

  private:
    static constexpr std::size_t segments_max = 10;
    void plan();
    void plan_segment(Segment &segment);
    void begin_cookie();
    void pass_segments(const Element &element);
    void check(const Element &element, const HeapNode &node);
    std::string_view describe(std::array<char, 768> &text) const;

    Reader &reader_;
    std::array<Segment, segments_max> segments_;
    std::size_t count_ = 1;
    unsigned long cookie_ = 0;
    bool has_cookie_ = false;
};

void spin_ns(int64_t ns);

} // namespace lab::torture
