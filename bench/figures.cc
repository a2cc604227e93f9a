// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of figures.  Bars are ratios to liburcu-memb in the same round, unless the unit says otherwise.
#include <fmt/format.h>

#include "harness/figure.h"

namespace bench
{

static const Settings as_it_comes = {};
static const Settings policy_inline = {{"policy", "inline"}};
static const Settings block_at_qmax = {{"backpressure", "block"}};
constexpr double default_qmax = 65'536;
constexpr double hold_us = 20;
constexpr double no_limit = std::numeric_limits<double>::infinity();

static std::vector<Figure> reader_figures()
{
    const Side urcu{&urcu_memb_peer, {}}, ck{&ck_peer, {}};
    const Side ours{&rtrcu_peer, as_it_comes};
    return {
        {"floor", "the same empty loop, as two sides", "ns", Kind::loop, {}, {{&none_peer, {}}, {&none_peer, {}}}},
        {"pair", "lock and unlock, net of the loop", "ns", Kind::pair, {BarKind::ratio_to_peer, 0.4}, {ours, urcu, ck}},
        {"pair-qs",
         "rcu_read_lock_qs and _unlock_qs, net of the loop",
         "ns",
         Kind::pair,
         {},
         {{&rtrcu_qsbr_peer, {}}, {&urcu_qsbr_peer, {}}}},
        {"pair-qs-code",
         "bytes of code in which that loop differs from the empty one",
         "bytes",
         Kind::pair_code,
         {BarKind::at_most, 0},
         {{&rtrcu_qsbr_peer, {}}, {&urcu_qsbr_peer, {}}},
         true},
        {"lookup",
         "hash lookup of 1 Mi entries, with a section against without",
         "ns",
         Kind::lookup,
         {BarKind::ratio_to_reference, 1.1},
         {ours, urcu}},
        {"lookup-overlap",
         "the same where the CPU works at several lookups at once",
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
         "synchronize_rcu, no other thread",
         "us",
         Kind::synchronize,
         {BarKind::ratio_to_peer, 1},
         {ours, urcu, ck}},
        {"sync-nobody",
         "synchronize_rcu, and no reader at all",
         "us",
         Kind::synchronize_nobody,
         {BarKind::ratio_to_peer, 2},
         {ours, urcu}},
        {"sync-qs",
         "synchronize_rcu, a quiescent-state reader at work on the other CPU",
         "us",
         Kind::synchronize_quiescent,
         {BarKind::ratio_to_peer, 2},
         {{&rtrcu_qsbr_peer, {}}, {&urcu_qsbr_peer, {}}}},
        {"sync-busy",
         "synchronize_rcu, a reader in a tight loop on the other CPU",
         "us",
         Kind::synchronize_busy,
         {BarKind::ratio_to_peer, 0.5},
         {ours, urcu, ck}},
        {"sync-hold",
         "synchronize_rcu, that reader in sections of 20 us",
         "us",
         Kind::synchronize_hold,
         {BarKind::at_most, hold_us + 20},
         {ours, urcu, ck}},
        {"thread-memory",
         "memory of an idle registered thread, 4,096 of them",
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
         "the same on a deadline thread",
         "ns",
         Kind::enqueue,
         {BarKind::ratio_to_peer, 0.5},
         {loop, urcu, own}},
        {"update-inline",
         "malloc, exchange, call_rcu, free; a deadline loop, policy inline",
         "ns",
         Kind::update,
         {BarKind::ratio_to_peer, 0.5},
         {loop, urcu, own}},
        {"update-daemon",
         "the same on an ordinary thread, policy daemon",
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
         {},
         {ours, urcu, own}},
        {"backlog",
         "largest backlog of that loop, backpressure block",
         "callbacks",
         Kind::backlog,
         {BarKind::at_most, default_qmax},
         {{&rtrcu_peer, block_at_qmax}, urcu},
         true},
    };
}

// A figure has one bar, which is to its second side: a row for each peer that has one.
static std::vector<Figure> cell_figures()
{
    const Side ours{&cell_rtrcu_peer, as_it_comes}, loop{&cell_rtrcu_loop_peer, policy_inline};
    const Side shared{&cell_atomic_shared_peer, {}}, mutex{&cell_shared_mutex_peer, {}}, cds{&cell_cds_peer, {}};
    const char *const read = "C++: read one value that others replace, net of the loop";
    const char *const quiet = "C++: a changed copy takes its place, through the free";
    const char *const busy = "C++: the same beside a reader on the other CPU";
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

// Curves: few rounds, since a round is thousands of threads that come and go.
static std::vector<Figure> crowd_figures()
{
    const Side urcu{&urcu_memb_peer, {}}, ours{&rtrcu_peer, as_it_comes};
    const struct {
        const char *name, *what, *unit;
        Kind kind;
    } crowds[] = {
        {"crowd-idle", "synchronize_rcu among so many threads that rest", "us", Kind::crowd_idle},
        {"crowd-now-and-then", "synchronize_rcu among so many that read now and then", "us", Kind::crowd_now_and_then},
        {"crowd-queueing", "CPU time of a callback, so many threads queue 64 each", "ns", Kind::crowd_queueing},
    };
    std::vector<Figure> figures;
    for (const auto &crowd : crowds)
        for (std::size_t threads : {1, 8, 64, 512, 4'096, 8'192})
            figures.push_back({fmt::format("{}-{}", crowd.name, threads),
                               crowd.what,
                               crowd.unit,
                               crowd.kind,
                               {},
                               {ours, urcu},
                               false,
                               false,
                               threads,
                               5});
    const Bar half{BarKind::above_reference, 0.5};
    figures.push_back({"first-section",
                       "first section of a thread that was put to sleep, against one awake: the median",
                       "us",
                       Kind::first_section,
                       half,
                       {ours}});
    figures.push_back({"first-section-late",
                       "the same in the slow one of a hundred",
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
        for (auto *part : {waiting_figures, callback_figures, cell_figures, crowd_figures})
            for (Figure &figure : part())
                all.push_back(std::move(figure));
        return all;
    }();
    return figures;
}

} // namespace bench
