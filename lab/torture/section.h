// SPDX-License-Identifier: MIT OR Apache-2.0
// One read-side critical section as torture readers run it: several segments, each held and spent in another way, and
// every check that a reader can make.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "torture/context.h"

namespace lab::torture
{

// What holds a segment open.
enum class Hold : uint8_t { discipline, lock, bh, deep, count };
// How its time is spent.
enum class Spend : uint8_t { nothing, spin, yield, sleep, count };

struct Segment {
    Hold hold;
    Spend spend;
    uint32_t ns;
    uint32_t age_after; // of the element, at the end of the segment
};

// Whose section it is.
struct Reader {
    Context &context;
    ActorRecord &record;
    Random &random;
    uint32_t seat;    // in the heap's census; seats_max: none
    bool online_qsbr; // the discipline itself holds the section open
    bool in_handler;  // no waiting, no yielding
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
