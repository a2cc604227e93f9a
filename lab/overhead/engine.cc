// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of engines, and the two callbacks that every engine invokes.
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

// Forwarding threads invoke what they queued, in their own quiescent states, as the per-CPU tasklets of 2002 did.
PeerSettings with_driver(const char *driver, PeerSettings more = {})
{
    PeerSettings settings = {{"driver", driver}, {"policy", "inline"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

} // namespace

const std::vector<EngineRow> &engine_table()
{
    static const std::vector<EngineRow> table = {
        {"base",
         "one lock",
         Guard::one_lock,
         {},
         nullptr,
         nullptr,
         nullptr,
         "one reader-writer lock for the whole cache"},
        {"base",
         "chain locks",
         Guard::chain_locks,
         {},
         nullptr,
         nullptr,
         nullptr,
         "a spinning lock for each hash chain"},
        {"ltimer", "", Guard::rcu, with_driver("ltimer", {{"tick_us", "10000"}}), retire_plainly<reclaim_entry>,
         retire_plainly<probe_starts>, nullptr, "a queue a thread, checks every 10 ms"},
        {"sched", "", Guard::rcu, with_driver("sched"), retire_plainly<reclaim_entry>, retire_plainly<probe_starts>,
         nullptr, "a queue a thread, all work in the forwarding threads' quiescent states"},
        {"sched", "global counter", Guard::rcu, with_driver("sched"), retire_counted<reclaim_entry>,
         retire_counted<probe_starts>, nullptr, "the same with one atomic count of all callbacks, as at OLS 2002"},
        {"poll", "", Guard::rcu, with_driver("poll"), retire_plainly<reclaim_entry>, retire_plainly<probe_starts>,
         nullptr, "a queue a thread, one thread that polls for the end of the grace period"},
        {"poll", "global queue", Guard::rcu, with_driver("poll"), retire_globally<reclaim_entry>,
         retire_globally<probe_starts>, [] { return global_queue.backlog(); },
         "the same with one queue for all threads under one lock, as at OLS 2002"},
        {"kthread", "", Guard::rcu, with_driver("kthread"), retire_plainly<reclaim_entry>, retire_plainly<probe_starts>,
         nullptr, "a queue a thread, a thread that sleeps while there is nothing to do"},
    };
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
