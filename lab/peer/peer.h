// SPDX-License-Identifier: MIT OR Apache-2.0
// Reclamation back-ends as rows of one table of functions, so that the same workload runs with each.
//
// A reclaimed object contains a RetiredHead, which is large enough for the head of any back-end.  To add a back-end,
// add
// one file.
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
    deadline_loop, // a run-to-completion loop that announces its next event; it uses the quiescent-state discipline if
                   // the back-end has that
    reader,        // an ordinary thread with explicit sections
};

struct Section {
    void (*lock)();
    void (*unlock)();
};

// Totals since the process began.
struct PeerCounters {
    uint64_t grace_periods, deadline_stops, budget_stops, over_qmax, limit_raised, direct, direct_refused;
    // Counts of batches by the age of their oldest callback when the first callback begins: 2^i to 2^(i+1) us.
    std::array<uint64_t, 32> ages;
};

struct Peer {
    const char *name;
    const char *what; // a description for the report

    // Called once in a process, before any other function, by its only thread.  Returns false with a reason if the
    // back-end cannot run.
    bool (*start)(const PeerSettings &settings, std::string &error) = [](const PeerSettings &, std::string &) {
        return true;
    };
    void (*thread_begin)(ThreadRole role) = [](ThreadRole) {};
    void (*thread_end)() = [] {};
    Section (*section)(ThreadRole role) = [](ThreadRole) -> Section { return {[] {}, [] {}}; };

    // Passes an object to the back-end that no new reader can find.
    void (*retire)(RetiredHead *head, ReclaimFunction reclaim);
    // As retire(), for a back-end with a limit on its backlog: returns false and queues nothing at the limit.  nullptr:
    // the back-end has no limit.
    bool (*try_retire)(RetiredHead *head, ReclaimFunction reclaim) = nullptr;
    // The backlog at which try_retire() refuses; 0: no limit.
    uint64_t (*backlog_limit)() = [] { return uint64_t{0}; };

    // Called by the loop: before it sleeps, after it wakes, and once in each iteration with the time of its next event.
    // Only turn() may run callbacks in the loop.
    void (*offline)() = [] {};
    void (*online)() = [] {};
    void (*turn)(int64_t next_due_ns) = [](int64_t) {};
    bool runs_callbacks_in_turn = false;
    // True if the back-end requires that the loop is the only reader of the process.
    bool single_reader = false;

    // A number that changes with every grace period; reading it is cheap and lock-free.  nullptr: the back-end has
    // none.
    uint64_t (*grace_period_number)() = nullptr;
    // Called between rounds, when no reader runs and nothing is measured; nullptr if the back-end does nothing then.
    void (*between_rounds)() = nullptr;
    PeerCounters (*counters)() = [] { return PeerCounters{}; };
};

extern const Peer rtrcu_peer;
extern const Peer rtrcu_direct_peer;
extern const Peer urcu_memb_peer;
extern const Peer none_peer;

} // namespace lab
