// SPDX-License-Identifier: MIT OR Apache-2.0
// The interrupted walks, the signal handler, and the checks of the result.
#include "latency/interrupting.h"

#include <rtrcu/rcu.h>

#include <csignal>
#include <cstdlib>
#include <fmt/format.h>

#include "machine/child.h"
#include "machine/shared_value.h"
#include "report/table.h"
#include "workload/route_cache.h"

namespace lab::latency
{
namespace
{

constexpr unsigned walk_count = 1000, buckets = 64;

struct Combination {
    const char *reader;  // the walk's kind of section: a function or a phrase
    const char *updater; // the function that the signal handler calls
    bool bh, handler_form, qsbr, outside;
};

constexpr Combination combinations[] = {
    {"rcu_read_lock_bh()", "call_rcu_rt_handler()", true, true, true, false},
    {"rcu_read_lock_bh()", "call_rcu_rt()", true, false, true, false},
    {"a quiescent-state section", "call_rcu_rt_handler()", false, true, true, false},
    {"a quiescent-state section", "call_rcu_rt()", false, false, true, false},
    {"rcu_read_lock()", "call_rcu_rt_handler()", false, true, false, false},
    {"none: between two walks", "call_rcu_rt_handler()", true, true, true, true},
};

struct Counts {
    uint64_t walks, deleted, at_once, refused, under_reader, left;
};

class SignalSync;
using Cache = RouteCache<SignalSync>;

// State of the signal handler.  The process makes one walk at a time.
struct Walk {
    const Combination *combination;
    Cache *cache;
    uint32_t destination; // destination of the entry that the walk has reached
    bool armed;
    uint64_t deleted, reclaimed, under_reader;
    RetiredHead *inside; // the entry that the walk has reached
} walk;

void reclaim(RetiredHead *head)
{
    walk.reclaimed++;
    walk.under_reader += head == walk.inside;
}

// The Sync of the route cache: sections of the combination's kind, and a signal at the first entry of an armed walk.
class SignalSync
{
  public:
    void read_lock(std::size_t)
    {
        if (walk.combination->bh)
            rcu_read_lock_bh();
        else if (walk.combination->qsbr)
            rcu_read_lock_qs();
        else
            rcu_read_lock();
    }
    void read_unlock(std::size_t)
    {
        walk.inside = nullptr;
        if (walk.combination->bh)
            rcu_read_unlock_bh();
        else if (walk.combination->qsbr)
            rcu_read_unlock_qs();
        else
            rcu_read_unlock();
    }
    void visits(RouteEntry *entry)
    {
        if (!walk.armed || walk.combination->outside)
            return;
        walk.armed = false;
        walk.inside = &entry->head;
        walk.destination = entry->destination;
        raise(SIGUSR1);
    }
    void update_lock(std::size_t)
    {
    }
    void update_unlock(std::size_t)
    {
    }
    void retire(RouteEntry *entry)
    {
        auto *head = reinterpret_cast<rcu_head *>(&entry->head);
        auto func = reinterpret_cast<rcu_callback_t>(reclaim);
        if (walk.combination->handler_form)
            call_rcu_rt_handler(head, func);
        else
            call_rcu_rt(head, func);
    }
};

void delete_the_route(int)
{
    walk.deleted += walk.cache->remove(walk.destination);
}

struct rtrcu_stats counters()
{
    struct rtrcu_stats stats {
    };
    stats.size = sizeof(stats);
    rtrcu_stats(&stats);
    return stats;
}

uint32_t destination_of(const PrefixTable &prefixes, unsigned i)
{
    return prefixes.prefixes()[i * 7919u % prefixes.prefixes().size()].address;
}

void walk_once(Cache &cache, uint32_t destination, unsigned now)
{
    RouteStatistics statistics;
    // This look-up, which no signal interrupts, brings the route into the cache.
    (void)cache.route(destination, now, statistics);
    walk.destination = destination;
    walk.armed = true;
    (void)cache.route(destination, now, statistics);
    walk.armed = false;
    if (walk.combination->outside)
        raise(SIGUSR1);
    if (walk.combination->qsbr)
        rcu_quiescent_state();
}

// Called in the child.
void run_walks(const Combination &combination, const PrefixTable &prefixes, Counts &counts)
{
    rtrcu_register_thread(combination.qsbr ? RTRCU_QSBR : 0);
    if (combination.bh) { // one section of the walks' kind before the first walk
        rcu_read_lock_bh();
        rcu_read_unlock_bh();
    }
    SignalSync sync;
    auto &cache = *new Cache(prefixes, buckets, SIZE_MAX / 2,
                             sync); // a limit that is never reached: marked entries are not freed
    walk = {&combination, &cache, 0, false, 0, 0, 0, nullptr};
    struct sigaction action {
    };
    action.sa_handler = delete_the_route;
    sigaction(SIGUSR1, &action, nullptr);
    for (unsigned i = 0; i < walk_count; i++)
        walk_once(cache, destination_of(prefixes, i), i);
    if (combination.qsbr)
        rcu_thread_offline();
    rcu_barrier();
    const struct rtrcu_stats stats = counters();
    counts = {walk_count,           walk.deleted,      stats.callbacks_direct,
              stats.direct_refused, walk.under_reader, walk.deleted - walk.reclaimed};
}

const InterruptingRow *find(const std::vector<InterruptingRow> &rows, const Combination &combination)
{
    for (const InterruptingRow &row : rows)
        if (row.reader == combination.reader && row.updater == combination.updater && row.deleted)
            return &row;
    return nullptr;
}

std::string figures(const InterruptingRow &row)
{
    return fmt::format("{} routes deleted: {} reclaimed immediately, {} queued, {} reclaimed during the walk, {} never",
                       whole(row.deleted), whole(row.at_once), whole(row.refused), whole(row.under_reader),
                       whole(row.left));
}

} // namespace

std::vector<InterruptingRow> run_interrupting(const PrefixTable &prefixes, std::string &error)
{
    std::vector<InterruptingRow> rows;
    for (const Combination &combination : combinations) {
        SharedValue<Counts> counts;
        std::string why;
        InterruptingRow &row = rows.emplace_back();
        row.reader = combination.reader;
        row.updater = combination.updater;
        row.thread = combination.qsbr ? "quiescent-state" : "preemptible";
        if (!run_in_child([&] { run_walks(combination, prefixes, *counts); }, 10'000'000'000, why)) {
            error = fmt::format("{} with {}: {}", combination.reader, combination.updater, why);
            continue;
        }
        row.walks = static_cast<double>(counts->walks);
        row.deleted = static_cast<double>(counts->deleted);
        row.at_once = static_cast<double>(counts->at_once);
        row.refused = static_cast<double>(counts->refused);
        row.under_reader = static_cast<double>(counts->under_reader);
        row.left = static_cast<double>(counts->left);
    }
    return rows;
}

Verdicts judge_interrupting(const std::vector<InterruptingRow> &rows)
{
    Verdicts verdicts;
    for (const Combination &combination : combinations) {
        const InterruptingRow *row = find(rows, combination);
        if (row == nullptr)
            continue;
        const bool all = *row->deleted > 0 && row->left == 0;
        const bool unguarded = !combination.bh && !combination.handler_form;
        if (unguarded) // the paper's problem
            verdicts.push_back({*row->under_reader > 0 ? Outcome::held : Outcome::not_reproduced,
                                "a signal handler that deletes a route frees it during the walk over it, if neither "
                                "rcu_read_lock_bh() nor call_rcu_rt_handler() is used",
                                figures(*row)});
        else if (combination.outside)
            verdicts.push_back({all && *row->at_once == *row->deleted ? Outcome::held : Outcome::failed,
                                "the callback of a signal handler between two walks runs immediately", figures(*row)});
        else
            verdicts.push_back(
                {all && *row->under_reader == 0 && *row->refused == *row->deleted ? Outcome::held : Outcome::failed,
                 fmt::format("a signal handler that deletes a route during the walk over it in {} queues it by {}",
                             combination.reader, combination.updater),
                 figures(*row)});
    }
    return verdicts;
}

} // namespace lab::latency
