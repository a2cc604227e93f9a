// SPDX-License-Identifier: MIT OR Apache-2.0
// The libraries under test, as rows of one table of functions; each row is made from a class of inline functions.
//
// A peer's class P has the operations that its library offers, and its row the works that these permit:
//   begin() end()          a thread becomes a reader and stops being one; begin() alone is needed by every work
//   lock() unlock()        a read-side critical section
//   synchronize()          wait for a grace period
//   Head call() barrier()  callbacks
//   turn()                 an event loop calls it once a turn: a quiescent state, if the library has them
//   read() update() settle()   a value that many threads read and few replace; see work/cells.h
// The works are templates over P, so that a library's inline fast path is inlined here as it is in a program.
#pragma once

#include <string>

#include "harness/work.h"

namespace bench
{

enum class Kind {
    loop,                  // the empty loop: how noisy is the machine?
    pair,                  // lock and unlock
    pair_code,             // bytes of instructions that lock and unlock add to a loop
    lookup,                // hash lookups, each in a section and dependent on the previous result
    lookup_overlapped,     // the same, several under way at once
    synchronize,           // no other thread runs
    synchronize_no_reader, // the same, and the caller is not a reader
    synchronize_quiescent, // beside a reader that reports quiescent states
    synchronize_busy,      // beside a reader on another CPU that locks and unlocks continuously
    synchronize_hold,      // beside a reader whose sections last 20 us
    enqueue,               // call_rcu() alone
    update,                // malloc, exchange, call_rcu(), free, until the barrier returns
    update_cpu,            // the same in CPU time of all threads
    backlog,               // the largest backlog of that loop
    flood_backlog,         // the largest backlog of a real-time thread beside busy ordinary ones
    flood_whole,           // the same, the creation of the library's threads included
    flood_others,          // what those ordinary threads get done
    neighbour,             // a callback beside a slow callback of another thread
    thread_memory,         // bytes for each idle registered thread
    thread_scan,           // synchronize_rcu() among 4,096 idle registered threads
    crowd_idle,            // synchronize_rcu() among `threads` idle threads
    crowd_now_and_then,    // the same, where they read now and then
    crowd_queueing,        // callbacks, where each of `threads` threads queues some
    first_section,         // of a thread that was idle: the median
    first_section_late,    // the same: the slowest of a hundred
    cell_read,             // C++: a value that many threads read and few replace
    cell_update,           // replaces it by a changed copy, until the old one is freed
    cell_update_busy,      // the same beside a reader on another CPU
};
constexpr int kinds = static_cast<int>(Kind::cell_update_busy) + 1;

using MakeWork = std::unique_ptr<Work> (*)(const Parameters &);

struct Peer {
    const char *name;
    const char *what; // for the reader of the report
    const char *(*version)();
    // Called once a process, before any work.  False with a reason when the settings are refused.
    bool (*configure)(const Settings &settings, std::string &error);
    MakeWork work[kinds]; // nullptr: the library lacks an operation that the work needs
};

const std::vector<const Peer *> &all_peers();
// For libraries that have none.
inline bool no_settings(const Settings &settings, std::string &error)
{
    if (!settings.empty())
        error = "this library has no settings";
    return settings.empty();
}

extern const Peer none_peer;
extern const Peer rtrcu_peer, rtrcu_qsbr_peer, rtrcu_deadline_peer;
extern const Peer urcu_memb_peer, urcu_memb_own_worker_peer, urcu_qsbr_peer, ck_peer;
extern const Peer cell_rtrcu_peer, cell_rtrcu_loop_peer;
extern const Peer cell_atomic_shared_peer, cell_shared_mutex_peer, cell_cds_peer;

} // namespace bench
