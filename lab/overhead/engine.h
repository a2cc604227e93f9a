// SPDX-License-Identifier: MIT OR Apache-2.0
// The engines of the overhead experiment, as rows of one table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "peer/peer.h"

namespace lab::overhead
{

enum class Guard { counted_chains, one_lock, chain_locks, rcu };

struct EngineRow {
    const char *name;    // base, ltimer, sched, poll, kthread
    const char *variant; // its difference from others of that name
    Guard guard;
    PeerSettings settings;
    void (*retire_entry)(RetiredHead *); // of a RouteEntry; nullptr for base
    void (*retire_probe)(RetiredHead *); // of a GpProbe
    // Of a layer over the library that keeps callbacks itself: those that wait in it, and those that it has run.
    uint64_t (*layer_backlog)();
    uint64_t (*layer_invoked)();
    bool keeps_cpu_free; // no forwarding thread on the last CPU, which the library's threads have to themselves
    const char *what;

    std::string label() const
    {
        return *variant == 0 ? name : std::string(name) + "/" + variant;
    }
};

const std::vector<EngineRow> &engine_table();
// The row of that label, or of that name and no variant; nullptr if there is none.
const EngineRow *find_engine(const std::string &label);

// A callback that measures: how long from its call_rcu() to its start.
struct GpProbe {
    RetiredHead head; // first
    int64_t queued_ns;
    uint64_t *waited_ns; // where the result goes: 0 = still waiting
};

} // namespace lab::overhead
