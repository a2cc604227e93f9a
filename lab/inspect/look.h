// SPDX-License-Identifier: MIT OR Apache-2.0
// One look at the library inside a process: counters, threads, parked tasks, who is in whose way.
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
    uint64_t number = 0;  // of the one under way, or of the next
    int64_t began_ns = 0; // CLOCK_MONOTONIC: of the one under way, or of the last
    uint64_t completed = 0, busy = 0, at_once = 0, unfenced = 0, slept = 0, by_caller = 0, waiters = 0;
    int64_t last_ns = 0, longest_ns = 0;
    uint64_t sum_ns = 0;    // of what the histogram counts
    bool anonymous = false; // it waits for readers without a record
    std::vector<uint64_t> histogram;
};

struct Thread {
    int id = 0; // as its process numbers it
    std::string name;
    bool is_registered = false; // else it has gone, and has left callbacks
    bool has_deadline = false;
    uint32_t nesting = 0;
    bool is_quiescent_state = false; // online
    bool is_boosted = false;
    std::array<bool, kinds> is_waited_for{};
    uint64_t entered = 0;   // where its section began, in programs built with RTRCU_DEBUG
    int64_t entered_ns = 0; // when, 0: not known
    uint64_t queued = 0, invoked = 0, slow_calls = 0;
    bool has_ready = false;
    int64_t oldest_ns = 0; // when its oldest callback was queued; 0: it has none
    int invoker = 0;
    uint64_t function = 0; // that is called now
    uint64_t longest_ns = 0, longest_function = 0;
    uint32_t parked = 0;

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
    std::string name;
    std::array<bool, kinds> is_waited_for{};
    int thread = 0; // where it parked, 0: on a leaf's list
};

struct Domain {
    std::string name;
    std::array<GracePeriods, kinds> gp;
    std::map<std::string, uint64_t> counters; // by the block's names
    std::vector<uint64_t> waits;              // callback.wait_us_log2 of all leaves
    std::vector<Thread> threads;
    std::vector<Task> tasks;
    int64_t oldest_ns = 0; // when the oldest callback was queued that is no thread's of the above; 0: there is none
    int64_t at_ns = 0;     // behind the look: nothing that was found has happened later

    // Since the process began, of threads that have gone too.
    uint64_t queued = 0, invoked = 0, slow_calls = 0;
    uint64_t longest_ns = 0, longest_function = 0; // of callbacks

    uint64_t counter(const std::string &counter_name) const;
    uint64_t pending() const
    {
        return queued > invoked ? queued - invoked : 0;
    }
    // Of threads: how many have callbacks that are ready, are inside, are in the way of a grace period?
    std::size_t ready() const, inside() const, waited_for() const;
    // Of the oldest callback, 0: there is none.
    int64_t oldest_age_ns() const;
    // How long the thread has been inside, where that is known.
    int64_t inside_ns(const Thread &thread) const;
    // Of those that have ended and those under way, and where it began; nothing: none was measured.
    struct Section {
        int64_t ns;
        uint64_t began_at;
    };
    std::optional<Section> longest_section() const;
};

// In order: no domain has begun, where the library has not been initialized yet.
std::vector<Domain> look(const Memory &memory, const Block &block);

// The flavours of liburcu that this domain has adopted.
std::vector<Domain> look_at_adopted(const Memory &memory, const Block &block, uint64_t domain);

// Of a histogram in quarters of octaves; 0 where it is empty.
double quantile_ns(const std::vector<uint64_t> &histogram, double quantile);
double bucket_begin_ns(std::size_t bucket);
// What came between two looks, or all of the later one where nothing did.
std::vector<uint64_t> since(const std::vector<uint64_t> &before, const std::vector<uint64_t> &now);

} // namespace lab::inspect
