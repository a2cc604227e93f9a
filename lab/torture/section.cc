// SPDX-License-Identifier: MIT OR Apache-2.0
// Plans, runs and checks one section.
#include "torture/section.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <tuple>

#include "measure/clock.h"

namespace lab::torture
{
namespace
{

constexpr std::array<const char *, static_cast<std::size_t>(Hold::count)> hold_names = {"qs", "lock", "bh", "deep"};
constexpr std::array<const char *, static_cast<std::size_t>(Spend::count)> spend_names = {"at once", "spin", "yield",
                                                                                          "sleep"};
constexpr int deep_nesting = std::tuple_size_v<decltype(Segment::indexes)>;

void hold(Hold how)
{
    switch (how) {
    case Hold::lock:
        return rcu_read_lock();
    case Hold::bh:
        return rcu_read_lock_bh();
    case Hold::deep:
        for (int i = 0; i < deep_nesting; i++)
            rcu_read_lock();
        return;
    default:
        return rcu_read_lock_qs();
    }
}

void release(Hold how)
{
    switch (how) {
    case Hold::lock:
        return rcu_read_unlock();
    case Hold::bh:
        return rcu_read_unlock_bh();
    case Hold::deep:
        for (int i = 0; i < deep_nesting; i++)
            rcu_read_unlock();
        return;
    default:
        return rcu_read_unlock_qs();
    }
}

int nesting(Hold how)
{
    return how == Hold::deep ? deep_nesting : 1;
}

void begin(const Flavour &flavour, Segment &segment)
{
    if (flavour.enter == nullptr)
        return hold(segment.hold);
    for (int i = 0; i < nesting(segment.hold); i++)
        segment.indexes[i] = flavour.enter();
}

void end(const Flavour &flavour, const Segment &segment)
{
    if (flavour.leave == nullptr)
        return release(segment.hold);
    for (int i = 0; i < nesting(segment.hold); i++)
        flavour.leave(segment.indexes[i]);
}

void spend(const Segment &segment)
{
    switch (segment.spend) {
    case Spend::spin:
        return spin_ns(segment.ns);
    case Spend::yield:
        sched_yield();
        return;
    case Spend::sleep:
        return pause_ns(segment.ns);
    default:
        return;
    }
}

} // namespace

void spin_ns(int64_t ns)
{
    const int64_t end = now_ns() + ns;
    while (now_ns() < end)
        rtrcu_cpu_relax();
}

SectionRun::SectionRun(Reader &reader) : reader_(reader)
{
}

// Chooses what a segment does: most segments are as short as possible, a few are long.
void SectionRun::plan_segment(Segment &segment)
{
    Random &random = reader_.random;
    const Sections kind = reader_.context.scenario.sections;
    segment = {Hold::lock, Spend::nothing, 0, 0, {}};
    uint64_t which = random.below(8);
    segment.hold = which == 0 ? Hold::bh : which == 1 ? Hold::deep : Hold::lock;
    if (reader_.online_qsbr && which > 4 && reader_.context.flavour.enter == nullptr)
        segment.hold = Hold::discipline;
    const uint64_t dice = random.below(kind == Sections::drawn_out ? 250 : 1000);
    auto take = [&](Spend how, int64_t low, int64_t high) {
        segment.spend = how;
        segment.ns = static_cast<uint32_t>(random.between(low, high));
    };
    if (kind == Sections::brief || reader_.in_handler) {
        if (dice < 200)
            take(Spend::spin, 50, 3'000);
        return;
    }
    if (dice == 0)
        take(Spend::sleep, 1'000'000, 20'000'000);
    else if (dice < 8)
        take(Spend::sleep, 1'000, 500'000);
    else if (dice < 24)
        segment.spend = Spend::yield;
    else if (dice < 60)
        take(Spend::spin, 2'000, 50'000);
    else if (dice < 200)
        take(Spend::spin, 50, 2'000);
}

void SectionRun::plan()
{
    count_ = 1;
    while (count_ < segments_max && reader_.random.one_in(3))
        count_++;
    for (std::size_t i = 0; i < count_; i++)
        plan_segment(segments_[i]);
}

void SectionRun::begin_cookie()
{
    const uint64_t dice = reader_.random.below(2048);
    has_cookie_ = dice < 512;
    if (has_cookie_)
        cookie_ = dice == 0 && !reader_.in_handler ? reader_.context.flavour.start_poll()
                                                   : reader_.context.flavour.get_state();
}

// Runs the segments.  Each segment begins before its predecessor ends, so that all segments together are one section.
void SectionRun::pass_segments(const Element &element)
{
    for (std::size_t i = 0; i < count_; i++) {
        if (i > 0) {
            begin(reader_.context.flavour, segments_[i]);
            end(reader_.context.flavour, segments_[i - 1]);
        }
        spend(segments_[i]);
        segments_[i].age_after = element.age.load();
    }
}

void SectionRun::check(const Element &element, const HeapNode &node)
{
    Findings &findings = reader_.context.findings;
    std::array<char, 768> text;
    const uint32_t age = element.age.load();
    reader_.record.pipe[std::min<std::size_t>(age, pipe_length)].fetch_add(1, std::memory_order_relaxed);
    if (age > 1)
        findings.report(Check::age, "{} saw age {}; {}", reader_.record.name.data(), age, describe(text));
    if (element.ready.load() != 1)
        findings.report(Check::mark, "{} saw a reused element at age {}; {}", reader_.record.name.data(), age,
                        describe(text));
    if (!Heap::is_sound(node))
        findings.report(Check::canary, "{} saw canary {:#x}, generations {} and {}; {}", reader_.record.name.data(),
                        node.canary, node.generation, node.generation_again, describe(text));
    if (has_cookie_ && reader_.context.flavour.poll(cookie_))
        findings.report(Check::cookie,
                        "{} took cookie {} in its section, and the cookie was complete before the section ended; {}",
                        reader_.record.name.data(), cookie_, describe(text));
}

void SectionRun::run()
{
    plan();
    Heap &heap = reader_.context.heap;
    const uint64_t slot = reader_.random.below(seats_max);
    const bool counted = reader_.seat < seats_max;
    // In a domain that the program defines, overlapping sections do not combine into one section, so an outer section
    // protects the element.
    const Flavour &flavour = reader_.context.flavour;
    const int outer = flavour.enter != nullptr ? flavour.enter() : 0;
    begin(flavour, segments_[0]);
    begin_cookie();
    const Element *element = reader_.context.pipeline.read();
    HeapNode *node = heap.read(slot);
    const Table &table = reader_.context.table;
    const Table::Seen seen = table.exists() ? table.look_up(reader_.random, reader_.record) : Table::Seen{};
    if (counted)
        node->entered[reader_.seat]++;
    pass_segments(*element);
    check(*element, *node);
    table.check(seen, reader_.record);
    if (counted)
        node->left[reader_.seat]++;
    end(flavour, segments_[count_ - 1]);
    if (flavour.leave != nullptr)
        flavour.leave(outer);
    // A near miss: directly after the section, the element is older than one grace period.  Near misses are no errors,
    // but a faulty library has more of them.
    if (!reader_.online_qsbr && element->age.load(std::memory_order_relaxed) > 1)
        reader_.record.near_misses.fetch_add(1, std::memory_order_relaxed);
    reader_.record.reads.fetch_add(1, std::memory_order_relaxed);
}

std::string_view SectionRun::describe(std::array<char, 768> &text) const
{
    auto end = fmt::format_to_n(text.data(), text.size(), "segments:");
    std::size_t used = end.size;
    for (std::size_t i = 0; i < count_ && used < text.size(); i++) {
        const Segment &segment = segments_[i];
        const char *sort = spend_names[static_cast<std::size_t>(segment.spend)];
        end = fmt::format_to_n(text.data() + used, text.size() - used, " [{} {} {} ns: age {}]",
                               hold_names[static_cast<std::size_t>(segment.hold)], sort, segment.ns, segment.age_after);
        used += end.size;
    }
    return {text.data(), std::min(used, text.size())};
}

} // namespace lab::torture
