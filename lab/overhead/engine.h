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
    const char *variant; // distinguishes engines of the same name
    Guard guard;
    PeerSettings settings;
    void (*retire_entry)(RetiredHead *); // retires a RouteEntry; nullptr for base
    void (*retire_probe)(RetiredHead *); // retires a GpProbe
    // For a historical layer over the library, which has its own queue: the numbers of callbacks that the layer has
    // queued and run.
    uint64_t (*layer_backlog)();
    uint64_t (*layer_invoked)();
    bool keeps_cpu_free; // no forwarding thread runs on the last CPU, which is left to the library's threads
    const char *what;

    std::string label() const
    {
        return *variant == 0 ? name : std::string(name) + "/" + variant;
    }
};

const std::vector<EngineRow> &engine_table();
// Returns the row whose label is `label`; nullptr if there is none.  The label of a row without a variant is its name.
const EngineRow *find_engine(const std::string &label);

// A callback, and the data with which it measures the time from its call_rcu() to its begin.
struct GpProbe {
    RetiredHead head; // first member: the callback gets its address
    int64_t queued_ns;
    uint64_t *waited_ns; // where the result is stored; it is 0 while the callback waits
};

} // namespace lab::overhead
