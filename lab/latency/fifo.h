// SPDX-License-Identifier: MIT OR Apache-2.0
// A FIFO updater beside ordinary threads: its variants, and one round of a variant in a process of its own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "peer/peer.h"
#include "probe/fifo_flood.h"

namespace lab::latency
{

constexpr int64_t fifo_round_ns = 1'500'000'000, fifo_quick_round_ns = 600'000'000;
constexpr std::size_t fifo_due_times = fifo_round_ns / fifo_flood::due_ns;

struct FifoVariant {
    const char *name;
    const Peer *peer;
    PeerSettings settings; // applied after the user's settings, which they override
    const char *what;
};
extern const char *const fifo_ours, *const fifo_ordinary, *const fifo_liburcu;
const std::vector<FifoVariant> &fifo_variants();

// What a round's process writes for its parent.
struct FifoRound {
    uint32_t due_times;
    std::array<uint32_t, fifo_due_times> late_ns; // time from each due time until its callbacks were queued
    std::array<uint32_t, fifo_due_times> backlog; // waiting callbacks after each due time
    uint64_t queued, unfinished;                  // callbacks queued; callbacks that had not returned after drain_ns
    uint32_t age_p99_us, age_max_us;              // time from call_rcu() to the begin of the callback
    uint64_t loops;                               // loops that the ordinary threads ran
    int64_t loops_cpu_ns;                         // CPU time of the ordinary threads
    int64_t others_ns;                            // CPU time of other processes, and stolen time
    int64_t wall_ns, helper_cpu_ns;               // length of the round; CPU time of the back-end's threads
    uint32_t helpers, helpers_realtime;           // back-end threads that used 1 ms; real-time threads among them
};

// Returns false with a reason if the process failed or was ended.
bool run_fifo_round(const FifoVariant &variant, const PeerSettings &settings, int64_t length_ns, FifoRound &round,
                    std::string &error);

} // namespace lab::latency
