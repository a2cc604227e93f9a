// SPDX-License-Identifier: MIT OR Apache-2.0
// What a scenario's process and its parent both see: counts, errors by checker, what every actor does right now.
//
// It lies in shared memory, so that the parent has the figures of a process that crashed or had to be ended, and a
// forked child's errors are counted with the others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace lab::torture
{

constexpr std::size_t pipe_length = 10; // an element that has aged so far is used again
constexpr std::size_t actors_max = 256;

// What can be found wrong.
enum class Check : uint32_t {
    age,       // a reader saw an element older than one grace period
    mark,      // a reader saw an element that was not ready to be published
    canary,    // a reader saw memory that had been given back, or was not filled in
    census,    // a grace period ended while a reader was in a section, or its stores came later
    cookie,    // a cookie was reported complete too early, too late, or never
    early,     // a callback ran before the grace period that was due to it
    twice,     // a callback ran that was not queued
    lost,      // a callback had not run at the end
    barrier,   // rcu_barrier() returned before a callback that was queued before it
    litmus,    // a reader that had just begun was not seen
    leak,      // memory or elements missing at the end
    progress,  // grace periods or callbacks did not go on
    late,      // grace periods ended long after their readers
    boost,     // a reader that held up a grace period was not boosted
    stall,     // a stall was not reported
    fork,      // a forked child did not pass its check
    configure, // a configuration was refused or did not come into force
    hang,      // an actor did not come back
    crash,     // the process died
    count
};
constexpr std::size_t checks_count = static_cast<std::size_t>(Check::count);
const char *name_of(Check check);
const char *sentence_of(Check check);

// What an actor is doing; shown when it hangs.
enum class Doing : uint32_t {
    nothing,
    paused,
    resting,
    reading,
    synchronize,
    expedited,
    call,
    cond,
    polling,
    barrier,
    processing,
    registering,
    joining,
    configuring,
    forking,
    waiting_for_child,
    finished,
    count
};
const char *name_of(Doing doing);

struct ActorRecord {
    std::array<char, 24> name;
    std::atomic<int32_t> thread_id;
    std::atomic<uint32_t> doing;
    std::atomic<uint64_t> beats; // rises as long as the actor moves
    std::atomic<uint64_t> reads;
    std::atomic<uint64_t> updates;
    std::atomic<uint64_t> near_misses;
    std::atomic<uint64_t> parks;                             // tasks that it parked inside a section
    std::array<std::atomic<uint64_t>, pipe_length + 1> pipe; // ages that its sections saw
};

struct SharedResult {
    std::array<std::atomic<uint64_t>, checks_count> errors;
    std::atomic<int64_t> first_error_ns; // CLOCK_MONOTONIC, 0 = none
    std::atomic<uint64_t> grace_periods; // of both kinds
    std::atomic<uint64_t> expedited_grace_periods;
    std::atomic<uint64_t> boosts;
    std::atomic<uint64_t> carriers_ended; // while tasks that parked there may have been inside
    std::atomic<uint64_t> callbacks_queued;
    std::atomic<uint64_t> callbacks_invoked;
    std::atomic<uint64_t> forks;
    std::atomic<uint64_t> stalls_reported;
    std::atomic<uint64_t> reconfigurations;
    std::atomic<uint32_t> skipped;  // 1: the machine does not allow what the scenario is for
    std::atomic<uint32_t> finished; // 1: the process came to its regular end
    std::atomic<uint32_t> actors;   // records in use
    std::array<ActorRecord, actors_max> actor;
};

// A mapping of shared memory behind a file descriptor that survives exec.
class SharedMemory
{
  public:
    static SharedMemory create();
    static SharedMemory open(int descriptor);
    SharedMemory(SharedMemory &&other) noexcept;
    SharedMemory &operator=(SharedMemory &&) = delete;
    ~SharedMemory();

    SharedResult &result() const
    {
        return *result_;
    }
    int descriptor() const
    {
        return descriptor_;
    }

  private:
    explicit SharedMemory(int descriptor);
    int descriptor_;
    SharedResult *result_;
};

struct Totals {
    uint64_t reads = 0, updates = 0, near_misses = 0, errors = 0, parks = 0;
    std::array<uint64_t, pipe_length + 1> pipe{};
};
Totals totals_of(const SharedResult &result);

} // namespace lab::torture
