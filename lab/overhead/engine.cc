// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of engines, and the two callbacks that all engines use.
#include "overhead/engine.h"

#include <rtrcu/rcu.h>

#include <algorithm>
#include <cstdlib>

#include "measure/clock.h"
#include "overhead/historical.h"
#include "workload/route_cache.h"

namespace lab::overhead
{
namespace
{

void reclaim_entry(RetiredHead *head)
{
    std::free(reinterpret_cast<RouteEntry *>(head));
}

void probe_starts(RetiredHead *head)
{
    auto *probe = reinterpret_cast<GpProbe *>(head);
    rtrcu_store_release(probe->waited_ns, static_cast<uint64_t>(std::max<int64_t>(now_ns() - probe->queued_ns, 1)));
}

// Returns settings with which forwarding threads run the callbacks that they queued in their own quiescent states, as
// the per-CPU tasklets of 2002 did.
PeerSettings with_driver(const char *driver, PeerSettings more = {})
{
    PeerSettings settings = {{"driver", driver}, {"policy", "inline"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

EngineRow base(const char *variant, Guard guard, const char *what)
{
    return {"base", variant, guard, {}, nullptr, nullptr, nullptr, nullptr, false, what};
}

EngineRow plain(const char *name, const char *what, PeerSettings more = {})
{
    return {name,
            "",
            Guard::rcu,
            with_driver(name, std::move(more)),
            retire_plainly<reclaim_entry>,
            retire_plainly<probe_starts>,
            nullptr,
            nullptr,
            false,
            what};
}

EngineRow counted(const char *name, const char *what)
{
    EngineRow row = plain(name, what);
    row.variant = "global counter";
    row.retire_entry = retire_counted<reclaim_entry>;
    row.retire_probe = retire_counted<probe_starts>;
    return row;
}

EngineRow queued_globally(const char *name, const char *what)
{
    EngineRow row = plain(name, what);
    row.variant = "global queue";
    row.retire_entry = retire_globally<reclaim_entry>;
    row.retire_probe = retire_globally<probe_starts>;
    row.layer_backlog = [] { return global_queue.backlog(); };
    row.layer_invoked = [] { return global_queue.invoked(); };
    return row;
}

EngineRow beside_free_cpu(EngineRow row, const char *variant, const char *what)
{
    row.variant = variant;
    row.keeps_cpu_free = true;
    row.what = what;
    return row;
}

std::vector<EngineRow> make_table()
{
    const EngineRow counted_chains =
        base("", Guard::counted_chains, "a reader-writer lock for each hash chain, a reference count in each entry");
    const EngineRow poll = plain("poll", "a queue per thread; one thread polls for the end of the grace period");
    const EngineRow global_poll =
        queued_globally("poll", "as poll, with one queue for all threads under one lock, as at OLS 2002");
    return {
        counted_chains,
        base("one lock", Guard::one_lock, "one reader-writer lock for the whole cache"),
        base("chain locks", Guard::chain_locks, "a spinning lock for each hash chain, without reference counts"),
        plain("ltimer", "a queue per thread, checked every 10 ms", {{"tick_us", "10000"}}),
        plain("sched", "a queue per thread; all work in the forwarding threads' quiescent states"),
        counted("sched", "as sched, with one atomic count of all callbacks, as at OLS 2002"),
        poll,
        global_poll,
        plain("kthread", "a queue per thread; one thread drives grace periods, and sleeps while nothing is queued"),
        beside_free_cpu(counted_chains, "free CPU", "base with no forwarding thread on the last CPU"),
        beside_free_cpu(poll, "free CPU", "poll, whose polling thread runs alone on the last CPU"),
        beside_free_cpu(global_poll, "global queue, free CPU",
                        "poll/global queue, whose polling thread runs alone on the last CPU"),
    };
}

} // namespace

const std::vector<EngineRow> &engine_table()
{
    static const std::vector<EngineRow> table = make_table();
    return table;
}

const EngineRow *find_engine(const std::string &label)
{
    for (const EngineRow &row : engine_table())
        if (row.label() == label)
            return &row;
    return nullptr;
}

} // namespace lab::overhead
