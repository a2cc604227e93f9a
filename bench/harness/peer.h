// SPDX-License-Identifier: MIT OR Apache-2.0
// The libraries under test, as rows of one table of functions; each row is made from a class of inline functions.
//
// A peer's class P has what its library offers, and its row gets the works that need no more than that:
//   begin() end()          a thread becomes a reader and stops being one; begin() alone is needed by every work
//   lock() unlock()        a read-side critical section
//   synchronize()          wait for a grace period
//   Head call() barrier()  callbacks
//   turn()                 what an event loop does once a turn: a quiescent state, where the library knows that
//   read() update() settle()   one value that many read and few replace; see work/cells.h
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
    lookup,                // hash lookups, each in a section, each waiting for the last
    lookup_overlapped,     // the same, several under way at once
    synchronize,           // nobody else runs
    synchronize_nobody,    // nor is the caller a reader
    synchronize_quiescent, // a reader that says quiescent states
    synchronize_busy,      // a reader on another CPU locks and unlocks without a break
    synchronize_hold,      // that reader holds sections of 20 us
    enqueue,               // call_rcu() alone
    update,                // malloc, exchange, call_rcu(), free, through the barrier
    update_cpu,            // the same in CPU time of all threads
    backlog,               // the largest backlog of that loop
    thread_memory,         // bytes an idle registered thread costs
    thread_scan,           // synchronize_rcu() among 4,096 idle registered threads
    crowd_idle,            // synchronize_rcu() among so many threads that rest
    crowd_now_and_then,    // that read now and then
    crowd_queueing,        // callbacks, where each of so many threads queues some
    first_section,         // of a thread that was put to sleep: the median
    first_section_late,    // the same in the slow one of a hundred
    cell_read,             // C++: one value that many read and few replace
    cell_update,           // a changed copy in its place, through the old one's free
    cell_update_busy,      // the same beside a reader on another CPU
};
constexpr int kinds = static_cast<int>(Kind::cell_update_busy) + 1;

using MakeWork = std::unique_ptr<Work> (*)(const Parameters &);

struct Peer {
    const char *name;
    const char *what; // for the reader of the report
    const char *(*version)();
    // Once a process, before any work.  False with a reason when the settings are refused.
    bool (*configure)(const Settings &settings, std::string &error);
    MakeWork work[kinds]; // nullptr where the library has not what the work needs
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
