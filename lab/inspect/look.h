// SPDX-License-Identifier: MIT OR Apache-2.0
// One view of the library inside a process: counters, threads, parked tasks, holdouts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inspect/block.h"

namespace lab::inspect
{

enum Kind { normal, expedited, kinds };
constexpr std::array<const char *, kinds> kind_names{"normal", "expedited"};

// The grace periods of one kind.
struct GracePeriods {
    bool running = false;
    uint64_t number = 0;  // number of the running grace period, or of the next grace period
    int64_t began_ns = 0; // CLOCK_MONOTONIC: begin of the running grace period, or of the last grace period
    uint64_t completed = 0, busy = 0, at_once = 0, unfenced = 0, slept = 0, by_caller = 0, waiters = 0;
    int64_t last_ns = 0, longest_ns = 0;
    uint64_t sum_ns = 0;    // sum of the durations in the histogram
    bool anonymous = false; // the grace period waits for readers without a record
    std::vector<uint64_t> histogram;
};

// The counters that rtrcu_thread_stats() returns to the thread itself.
struct ThreadStats {
    uint64_t slow_paths = 0, system_calls = 0, callback_ns = 0, batch_ns_max = 0, boosts = 0, lock_waits = 0;
};

struct Thread {
    int id = 0; // the thread's id in the PID namespace of its process
    std::string name;
    bool is_registered = false; // false: the thread has exited, but some of its callbacks have not returned
    bool has_deadline = false;
    uint32_t nesting = 0;
    bool is_quiescent_state = false; // the thread is online in the quiescent-state discipline
    bool is_boosted = false;
    std::array<bool, kinds> is_waited_for{};
    uint64_t entered = 0;   // code address at which its section began, if the program was built with RTRCU_DEBUG
    int64_t entered_ns = 0; // when its section began; 0: not known
    uint64_t queued = 0, invoked = 0, slow_calls = 0;
    bool has_ready = false;
    int64_t oldest_ns = 0; // when its oldest callback was queued; 0: none is queued
    int invoker = 0;
    uint64_t function = 0; // function of the callback that runs or ran last; 0: no thread invokes its callbacks
    uint64_t longest_ns = 0, longest_function = 0;
    uint32_t parked = 0;
    std::optional<ThreadStats> stats; // empty: the thread has ended, or its library does not show them

    bool is_inside() const
    {
        return nesting != 0 || is_quiescent_state;
    }
    uint64_t pending() const
    {
        return queued > invoked ? queued - invoked : 0;
    }
};

struct Task {
    uint64_t address = 0; // address of its struct rcu_task in the process
    std::string name;
    std::array<bool, kinds> is_waited_for{};
    int thread = 0; // the thread on which it parked; 0: it is on a leaf's list
};

struct Domain {
    std::string name;
    std::array<GracePeriods, kinds> gp;
    std::map<std::string, uint64_t> counters; // each by its name in the block
    std::vector<uint64_t> waits;              // callback.wait_us_log2, summed over all leaves
    std::vector<Thread> threads;
    std::vector<Task> tasks;
    uint64_t sections = 0; // open sections of threads that have no record
    int64_t oldest_ns =
        0; // queueing time of the oldest callback that belongs to none of the threads above; 0: there is none
    int64_t at_ns = 0; // CLOCK_MONOTONIC after everything was read: all recorded times are earlier

    // Totals since the process began, including threads that have ended.
    uint64_t queued = 0, invoked = 0, slow_calls = 0;
    uint64_t longest_ns = 0, longest_function = 0; // the longest callback: its time and its function

    uint64_t counter(const std::string &counter_name) const;
    uint64_t pending() const
    {
        return queued > invoked ? queued - invoked : 0;
    }
    // The numbers of threads with callbacks that are ready, of threads inside a section, and of threads for which a
    // grace period waits.
    std::size_t ready() const, inside() const, waited_for() const;
    // Returns the age of the oldest callback; 0: there is none.
    int64_t oldest_age_ns() const;
    // Returns how long the thread has been inside its section; 0 if that is not known.
    int64_t inside_ns(const Thread &thread) const;
    // The longest section, ended or not, and where it began; empty: none was measured.
    struct Section {
        int64_t ns;
        uint64_t began_at;
    };
    std::optional<Section> longest_section() const;
};

// Reads all domains, in order.  A domain is missing as long as the library has not initialized it.
std::vector<Domain> look(const Memory &memory, const Block &block);

// Read the domains that the program defines, and the liburcu flavours that this domain runs.
std::vector<Domain> look_at_own(const Memory &memory, const Block &block, uint64_t domain);
std::vector<Domain> look_at_adopted(const Memory &memory, const Block &block, uint64_t domain);

// Returns a quantile, in nanoseconds, of a histogram with four buckets per octave; 0 if the histogram is empty.
double quantile_ns(const std::vector<uint64_t> &histogram, double quantile);
double bucket_begin_ns(std::size_t bucket);
// Returns the increase of each bucket from `before` to `now`; `now` itself if `before` is empty or no bucket changed.
std::vector<uint64_t> since(const std::vector<uint64_t> &before, const std::vector<uint64_t> &now);

} // namespace lab::inspect
