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
    loop,                  // the empty loop, which shows the machine's noise
    pair,                  // lock and unlock
    pair_code,             // bytes of instructions that lock and unlock add to a loop
    lookup,                // hash lookups, each in a section and dependent on the previous result
    lookup_overlapped,     // hash lookups, each in a section, of which the CPU overlaps several
    synchronize,           // synchronize_rcu() while no other thread runs
    synchronize_no_reader, // synchronize_rcu() while no other thread runs and the caller is not a reader
    synchronize_quiescent, // synchronize_rcu() beside a reader that reports quiescent states
    synchronize_busy,      // synchronize_rcu() beside a reader on another CPU that locks and unlocks continuously
    synchronize_hold,      // synchronize_rcu() beside a reader whose sections last 20 us
    enqueue,               // call_rcu() alone
    update,                // malloc, exchange, call_rcu(), free, until the barrier returns
    update_cpu,            // the work of `update`, in CPU time of all threads
    backlog,               // the largest backlog of the loop of `update`
    flood_backlog,         // the largest backlog of a real-time thread beside busy ordinary threads
    flood_whole,           // the largest backlog of that thread from its first callback, which creates library threads
    flood_others,          // time of a million loops of the busy threads of flood_backlog
    neighbour,             // time from call_rcu() to the callback's return, beside a slow callback of another thread
    thread_memory,         // bytes for each idle registered thread
    thread_scan,           // synchronize_rcu() among 4,096 idle registered threads
    crowd_idle,            // synchronize_rcu() among `threads` idle threads
    crowd_now_and_then,    // synchronize_rcu() among `threads` threads that read occasionally
    crowd_queueing,        // CPU time of a callback while each of `threads` threads queues some
    first_section,         // time of an idle thread's first section: the median
    first_section_late,    // time of an idle thread's first section: the slowest of a hundred
    cell_read,             // C++: reading a cell
    cell_update,           // C++: replacing a cell's value by a changed copy, until the old value is freed
    cell_update_busy,      // C++: as cell_update, beside a reader on another CPU
};
constexpr int kinds = static_cast<int>(Kind::cell_update_busy) + 1;

using MakeWork = std::unique_ptr<Work> (*)(const Parameters &);

struct Peer {
    const char *name;
    const char *what; // a description, which the report prints
    const char *(*version)();
    // Called once in a process, before any work. Returns false with a reason if the settings are refused.
    bool (*configure)(const Settings &settings, std::string &error);
    MakeWork work[kinds]; // indexed by Kind; nullptr: the library lacks an operation that the work needs
};

const std::vector<const Peer *> &all_peers();
// configure() of libraries without settings.
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
