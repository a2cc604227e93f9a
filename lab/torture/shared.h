// SPDX-License-Identifier: MIT OR Apache-2.0
// State that a scenario's process and its parent share: counts, errors of each check, the current action of every
// actor.
//
// It is in shared memory, so that the parent can read the figures of a process that crashed or was killed, and the
// errors
// of a forked child are counted with the others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace lab::torture
{

constexpr std::size_t pipe_length = 10; // an element that has reached this age is free again
constexpr std::size_t actors_max = 256;

// The checkers, each with the error that it finds.
enum class Check : uint32_t {
    age,       // a reader saw an element that was replaced more than one grace period before
    mark,      // a reader saw an element that had been reused, or was not filled in yet
    canary,    // a reader saw memory that was freed or not filled in
    census,    // a grace period ended while a reader was in a section, or before the stores of a reader that had left
               // were visible
    cookie,    // a cookie was reported complete too early, too late, or never
    early,     // a callback ran before its grace period had ended
    twice,     // a callback ran that was not queued
    lost,      // a callback had not run by the end
    barrier,   // rcu_barrier() returned before a callback that was queued before it
    litmus,    // a grace period did not wait for a reader that had just entered its section
    leak,      // memory or elements were not freed by the end
    progress,  // grace periods or callbacks made no progress
    table,     // an entry of a hash table was not found, or visited more than once
    late,      // grace periods ended long after the sections that they waited for
    boost,     // a reader that held up a grace period was not boosted
    stall,     // a stall was not reported
    fork,      // a forked child failed its check
    configure, // settings were refused or did not take effect
    hang,      // an actor did not return from a call
    crash,     // the process died
    count
};
constexpr std::size_t checks_count = static_cast<std::size_t>(Check::count);
const char *name_of(Check check);
const char *sentence_of(Check check);

// The present action of an actor; the report about a hang shows it.
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
    std::atomic<uint64_t> beats; // incremented while the actor makes progress
    std::atomic<uint64_t> reads;
    std::atomic<uint64_t> updates;
    std::atomic<uint64_t> near_misses;
    std::atomic<uint64_t> parks;                             // tasks that the actor parked inside a section
    std::array<std::atomic<uint64_t>, pipe_length + 1> pipe; // ages of the elements that the actor's sections saw
};

struct SharedResult {
    std::array<std::atomic<uint64_t>, checks_count> errors;
    std::atomic<int64_t> first_error_ns; // CLOCK_MONOTONIC; 0: no error so far
    std::atomic<uint64_t> grace_periods; // of both kinds
    std::atomic<uint64_t> expedited_grace_periods;
    std::atomic<uint64_t> boosts;
    std::atomic<uint64_t> resizes;        // resizes of the hash table
    std::atomic<uint64_t> carriers_ended; // carriers that exited while tasks parked on them may have been inside
    std::atomic<uint64_t> callbacks_queued;
    std::atomic<uint64_t> callbacks_invoked;
    std::atomic<uint64_t> forks;
    std::atomic<uint64_t> stalls_reported;
    std::atomic<uint64_t> reconfigurations;
    std::atomic<uint32_t> skipped;  // 1: the machine does not permit what the scenario needs
    std::atomic<uint32_t> finished; // 1: the scenario ran to its end
    std::atomic<uint32_t> actors;   // records in use
    std::array<ActorRecord, actors_max> actor;
};

// A mapping of shared memory by a file descriptor that survives exec.
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
