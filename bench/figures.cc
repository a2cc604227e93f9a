// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of figures.  Bars are ratios to liburcu-memb in the same round, unless the unit says otherwise.
#include <fmt/format.h>

#include "harness/figure.h"

namespace bench
{

static const Settings as_it_comes = {};
static const Settings policy_inline = {{"policy", "inline"}};
static const Settings all_ordinary = {{"gp_rtprio", "0"}, {"krcud_rtprio", "0"}};
static const Settings block_at_qmax = {{"backpressure", "block"}};
constexpr double default_qmax = 65'536;
constexpr double hold_us = 20;
constexpr double no_limit = std::numeric_limits<double>::infinity();

static std::vector<Figure> reader_figures()
{
    const Side urcu{&urcu_memb_peer, {}}, ck{&ck_peer, {}};
    const Side ours{&rtrcu_peer, as_it_comes};
    return {
        {"floor", "one empty loop, measured as two sides", "ns", Kind::loop, {}, {{&none_peer, {}}, {&none_peer, {}}}},
        {"pair", "lock and unlock, net of the loop", "ns", Kind::pair, {BarKind::ratio_to_peer, 0.4}, {ours, urcu, ck}},
        {"pair-qs",
         "rcu_read_lock_qs and _unlock_qs, net of the loop",
         "ns",
         Kind::pair,
         {},
         {{&rtrcu_qsbr_peer, {}}, {&urcu_qsbr_peer, {}}}},
        {"pair-qs-code",
         "bytes of code in which the loop of pair-qs differs from the empty loop",
         "bytes",
         Kind::pair_code,
         {BarKind::at_most, 0},
         {{&rtrcu_qsbr_peer, {}}, {&urcu_qsbr_peer, {}}},
         true},
        {"lookup",
         "lookup among 1 Mi entries in a section, against the same lookup without a section",
         "ns",
         Kind::lookup,
         {BarKind::ratio_to_reference, 1.1},
         {ours, urcu}},
        {"lookup-overlap",
         "lookup among 1 Mi entries, where the CPU overlaps several lookups",
         "ns",
         Kind::lookup_overlapped,
         {BarKind::ratio_to_reference, no_limit},
         {ours, urcu, ck}},
    };
}

static std::vector<Figure> waiting_figures()
{
    const Side urcu{&urcu_memb_peer, {}}, ck{&ck_peer, {}};
    const Side ours{&rtrcu_peer, as_it_comes};
    return {
        {"sync",
         "synchronize_rcu, where the caller is the only reader",
         "us",
         Kind::synchronize,
         {BarKind::ratio_to_peer, 1},
         {ours, urcu, ck}},
        {"sync-no-reader",
         "synchronize_rcu, where no thread is a reader",
         "us",
         Kind::synchronize_no_reader,
         {BarKind::ratio_to_peer, 2},
         {ours, urcu}},
        {"sync-qs",
         "synchronize_rcu beside a running quiescent-state reader on the other CPU",
         "us",
         Kind::synchronize_quiescent,
         {BarKind::ratio_to_peer, 2},
         {{&rtrcu_qsbr_peer, {}}, {&urcu_qsbr_peer, {}}}},
        {"sync-busy",
         "synchronize_rcu beside a reader in a tight loop on the other CPU",
         "us",
         Kind::synchronize_busy,
         {BarKind::ratio_to_peer, 0.5},
         {ours, urcu, ck}},
        {"sync-hold",
         "synchronize_rcu beside a reader in sections of 20 us on the other CPU",
         "us",
         Kind::synchronize_hold,
         {BarKind::at_most, hold_us + 20},
         {ours, urcu, ck}},
        {"thread-memory",
         "memory that each of 4,096 idle threads uses once it is registered",
         "bytes",
         Kind::thread_memory,
         {BarKind::at_most, 1'024},
         {ours, urcu},
         true,
         true},
        {"thread-scan",
         "synchronize_rcu among 4,096 idle registered threads",
         "us",
         Kind::thread_scan,
         {BarKind::at_most, 6},
         {ours, urcu}},
    };
}

static std::vector<Figure> callback_figures()
{
    const Side urcu{&urcu_memb_peer, {}}, own{&urcu_memb_own_worker_peer, {}};
    const Side ours{&rtrcu_peer, as_it_comes}, loop{&rtrcu_deadline_peer, policy_inline};
    return {
        {"enqueue",
         "call_rcu alone, CPU time of its thread",
         "ns",
         Kind::enqueue,
         {BarKind::ratio_to_peer, 0.5},
         {ours, urcu, own}},
        {"enqueue-deadline",
         "call_rcu alone on a deadline thread, CPU time of the thread",
         "ns",
         Kind::enqueue,
         {BarKind::ratio_to_peer, 0.5},
         {loop, urcu, own}},
        {"update-inline",
         "malloc, exchange, call_rcu, free; in a deadline thread's event loop, policy inline",
         "ns",
         Kind::update,
         {BarKind::ratio_to_peer, 0.5},
         {loop, urcu, own}},
        {"update-daemon",
         "malloc, exchange, call_rcu, free; an ordinary thread, policy daemon",
         "ns",
         Kind::update,
         {BarKind::ratio_to_peer, 1},
         {ours, urcu, own}},
        {"update-inline-cpu",
         "update-inline in CPU time of all threads",
         "ns",
         Kind::update_cpu,
         {},
         {loop, urcu, own}},
        {"update-daemon-cpu",
         "update-daemon in CPU time of all threads",
         "ns",
         Kind::update_cpu,
         {BarKind::ratio_to_peer, 0.8},
         {ours, urcu, own}},
        {"backlog",
         "largest backlog of the loop of update-daemon, backpressure block",
         "callbacks",
         Kind::backlog,
         {BarKind::at_most, default_qmax},
         {{&rtrcu_peer, block_at_qmax}, urcu},
         true},
    };
}

static std::vector<Figure> neighbour_figures()
{
    return {
        {"neighbour-slow",
         "a callback while another thread's callback on its CPU takes 600 ms",
         "ms",
         Kind::neighbour,
         {BarKind::at_most, 250},
         {{&rtrcu_peer, as_it_comes}, {&urcu_memb_peer, {}}},
         false,
         false,
         0,
         5},
    };
}

// Figures of a real-time thread that queues callbacks. Each round is a process of its own, whose first callback creates
// the library's threads.
static std::vector<Figure> flood_figures()
{
    const Side urcu{&urcu_memb_peer, {}}, ours{&rtrcu_peer, as_it_comes}, ordinary{&rtrcu_peer, all_ordinary};
    return {
        {"flood-fifo",
         "largest backlog after 0.3 s: a FIFO thread queues 100,000 a second beside 4 busy threads",
         "callbacks",
         Kind::flood_backlog,
         {BarKind::ratio_to_peer, 1},
         {ours, urcu, ordinary},
         false,
         true,
         0,
         3},
        {"flood-fifo-whole",
         "flood-fifo from the first callback on, which creates the library's threads",
         "callbacks",
         Kind::flood_whole,
         {BarKind::ratio_to_peer, 1.5},
         {ours, urcu, ordinary},
         false,
         true,
         0,
         3},
        {"flood-fifo-others",
         "time of a million loops of flood-fifo's busy threads, against rtrcu without real-time threads",
         "ns",
         Kind::flood_others,
         {BarKind::ratio_to_peer, 1.05},
         {ours, ordinary, urcu},
         false,
         true,
         0,
         3},
    };
}

// Figures of C++ cells. A figure has one bar, against its second side, so each peer with a bar has a figure of its own.
static std::vector<Figure> cell_figures()
{
    const Side ours{&cell_rtrcu_peer, as_it_comes}, loop{&cell_rtrcu_loop_peer, policy_inline};
    const Side shared{&cell_atomic_shared_peer, {}}, mutex{&cell_shared_mutex_peer, {}}, cds{&cell_cds_peer, {}};
    const char *const read = "C++: read a value that others replace, net of the loop";
    const char *const quiet = "C++: replace a value by a changed copy, until the old value is freed";
    const char *const busy = "C++: replace a value beside a reader on the other CPU";
    const Bar tenth{BarKind::ratio_to_peer, 0.1}, third{BarKind::ratio_to_peer, 0.3}, once{BarKind::ratio_to_peer, 1};
    return {
        {"cell-read", read, "ns", Kind::cell_read, tenth, {ours, shared, mutex}},
        {"cell-read-cds", read, "ns", Kind::cell_read, third, {ours, cds}},
        {"cell-update", quiet, "ns", Kind::cell_update, once, {loop, shared, ours}},
        {"cell-update-mutex", quiet, "ns", Kind::cell_update, once, {loop, mutex, ours}},
        {"cell-update-cds", quiet, "ns", Kind::cell_update, once, {loop, cds, ours}},
        {"cell-busy", busy, "ns", Kind::cell_update_busy, once, {loop, shared, ours}},
        {"cell-busy-mutex", busy, "ns", Kind::cell_update_busy, once, {loop, mutex, ours}},
        {"cell-busy-cds", busy, "ns", Kind::cell_update_busy, once, {loop, cds, ours}},
    };
}

// The figures that depend on the number of threads. They take part in few rounds, since a round creates up to 8,192
// threads.
static std::vector<Figure> crowd_figures()
{
    const Side urcu{&urcu_memb_peer, {}}, ours{&rtrcu_peer, as_it_comes};
    const struct {
        const char *name, *what, *unit;
        Kind kind;
        Bar bar; // the bar if there are at most 512 threads; with more there is none
    } crowds[] = {
        {"crowd-idle", "synchronize_rcu among N idle threads, N as in the figure's name", "us", Kind::crowd_idle, {}},
        {"crowd-now-and-then",
         "synchronize_rcu among N threads that read occasionally, N as in the figure's name",
         "us",
         Kind::crowd_now_and_then,
         {}},
        {"crowd-queueing",
         "CPU time of a callback, where N threads queue 64 each, N as in the figure's name",
         "ns",
         Kind::crowd_queueing,
         {BarKind::ratio_to_peer, 1}},
    };
    std::vector<Figure> figures;
    for (const auto &crowd : crowds)
        for (std::size_t threads : {1, 8, 64, 512, 4'096, 8'192})
            figures.push_back({fmt::format("{}-{}", crowd.name, threads),
                               crowd.what,
                               crowd.unit,
                               crowd.kind,
                               threads <= 512 ? crowd.bar : Bar{},
                               {ours, urcu},
                               false,
                               false,
                               threads,
                               5});
    const Bar half{BarKind::above_reference, 0.5};
    figures.push_back({"first-section",
                       "time of an idle thread's first section, against a section of a scanned thread: the median",
                       "us",
                       Kind::first_section,
                       half,
                       {ours}});
    figures.push_back({"first-section-late",
                       "time of an idle thread's first section: the slowest of a hundred",
                       "us",
                       Kind::first_section_late,
                       {BarKind::above_reference, no_limit},
                       {ours}});
    return figures;
}

const std::vector<Figure> &all_figures()
{
    static const std::vector<Figure> figures = [] {
        std::vector<Figure> all = reader_figures();
        for (auto *part :
             {waiting_figures, callback_figures, flood_figures, neighbour_figures, cell_figures, crowd_figures})
            for (Figure &figure : part())
                all.push_back(std::move(figure));
        return all;
    }();
    return figures;
}

} // namespace bench
