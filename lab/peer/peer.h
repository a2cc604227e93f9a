// SPDX-License-Identifier: MIT OR Apache-2.0
// Reclamation back-ends, as rows of one table of functions: the same workload runs over each.
//
// An object that is reclaimed carries a RetiredHead, large enough for the head of any back-end.  Adding a back-end
// means one file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lab
{

struct RetiredHead {
    void *words[2];
};
using ReclaimFunction = void (*)(RetiredHead *);

// Names and values of the back-end's own settings, in order.
using PeerSettings = std::vector<std::pair<std::string, std::string>>;

enum class ThreadRole {
    deadline_loop, // run-to-completion, says when its next event is due; a quiescent-state reader where that exists
    reader,        // an ordinary thread with explicit sections
};

struct Section {
    void (*lock)();
    void (*unlock)();
};

// Totals since the process began.
struct PeerCounters {
    uint64_t grace_periods, deadline_stops, budget_stops, over_qmax, limit_raised, direct, direct_refused;
    // Batches by the age of their oldest callback when its first one began: 2^i to 2^(i+1) us.
    std::array<uint64_t, 32> ages;
};

struct Peer {
    const char *name;
    const char *what; // for the reader of the report

    // Once a process, before any other call, from the one thread.  False with a reason when it cannot run.
    bool (*start)(const PeerSettings &settings, std::string &error) = [](const PeerSettings &, std::string &) {
        return true;
    };
    void (*thread_begin)(ThreadRole role) = [](ThreadRole) {};
    void (*thread_end)() = [] {};
    Section (*section)(ThreadRole role) = [](ThreadRole) -> Section { return {[] {}, [] {}}; };

    // Hand over an object that no new reader can find.
    void (*retire)(RetiredHead *head, ReclaimFunction reclaim);
    // The same where the back-end can push back: false, and nothing is queued, at its limit.  nullptr: it cannot.
    bool (*try_retire)(RetiredHead *head, ReclaimFunction reclaim) = nullptr;
    // The backlog at which it pushes back; 0: none.
    uint64_t (*backlog_limit)() = [] { return uint64_t{0}; };

    // The loop's calls: before it sleeps, after it woke, and once a turn with the time of its next event.  turn() is
    // the only one that may run callbacks, where the back-end runs any in the loop at all.
    void (*offline)() = [] {};
    void (*online)() = [] {};
    void (*turn)(int64_t next_due_ns) = [](int64_t) {};
    bool runs_callbacks_in_turn = false;
    // Only meaningful while the loop is the one reader of the process: no companion may read.
    bool single_reader = false;

    // A number that changes with every grace period, cheap and lock-free; nullptr where the back-end has none.
    uint64_t (*grace_period_number)() = nullptr;
    // What is left to do between rounds, when no reader runs and nothing is measured; nullptr where that is nothing.
    void (*between_rounds)() = nullptr;
    PeerCounters (*counters)() = [] { return PeerCounters{}; };
};

extern const Peer rtrcu_peer;
extern const Peer rtrcu_direct_peer;
extern const Peer urcu_memb_peer;
extern const Peer none_peer;

} // namespace lab
