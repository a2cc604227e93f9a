// SPDX-License-Identifier: MIT OR Apache-2.0
// A SCHED_FIFO thread that queues callbacks at absolute due times, and busy ordinary threads beside it.
//
// The benchmarks compile it too, for their figures flood-fifo*.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include "measure/clock.h"

namespace lab
{

namespace fifo_flood
{

constexpr int priority = 5;             // above the library's real-time threads, whose priorities are 1 and 2
constexpr int64_t callback_ns = 10'000; // time per callback: the thread queues one callback for each such interval
constexpr int64_t due_ns = 1'000'000;   // period: the thread wakes, queues the callbacks of the past period, and sleeps
constexpr int64_t settled_ns = 300'000'000; // by this time after the start, the back-end has created its threads
constexpr std::size_t busy_threads = 4;

// Makes the calling thread SCHED_FIFO, in a way that threads which it creates inherit the class.  Returns false if the
// kernel refuses.
inline bool enter_class_to_inherit()
{
    sched_param parameter{};
    parameter.sched_priority = priority;
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter) == 0;
}

// Calls `queue` for each callback.  After each due time, calls `note` with the due time and the number of callbacks
// queued so far.  A due time that has already passed is served without a sleep, so that no due time is skipped.
template <class Queue, class Note> void run(int64_t start_ns, int64_t length_ns, Queue queue, Note note)
{
    int64_t queued = 0;
    for (int64_t due = start_ns + due_ns; due <= start_ns + length_ns; due += due_ns) {
        const timespec until = to_timespec(due);
        // repeated if a signal interrupts the sleep
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0)
            ;
        for (; queued < (due - start_ns) / callback_ns; queued++)
            queue();
        note(due, queued);
    }
}

// Ordinary threads that count loops until the object is destroyed.
class BusyThreads
{
  public:
    BusyThreads()
    {
        for (std::size_t i = 0; i < busy_threads; i++)
            threads_[i] = std::thread([this, &loops = loops_[i].value] {
                while (!stop_.load(std::memory_order_relaxed)) // ends when stop() is called
                    loops.store(loops.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            });
    }
    ~BusyThreads()
    {
        stop();
    }
    BusyThreads(const BusyThreads &) = delete;
    BusyThreads &operator=(const BusyThreads &) = delete;

    void stop()
    {
        stop_.store(true, std::memory_order_relaxed);
        for (std::thread &thread : threads_)
            if (thread.joinable())
                thread.join();
    }
    // Returns the number of loops that all threads have counted so far.
    uint64_t loops() const
    {
        uint64_t sum = 0;
        for (const Loops &loops : loops_)
            sum += loops.value.load(std::memory_order_relaxed);
        return sum;
    }

    // Returns the CPU time that all threads have used so far.
    int64_t cpu_ns()
    {
        int64_t sum = 0;
        for (std::thread &thread : threads_)
            if (clockid_t clock{}; pthread_getcpuclockid(thread.native_handle(), &clock) == 0)
                sum += clock_ns(clock);
        return sum;
    }

  private:
    struct alignas(128) Loops {
        std::atomic<uint64_t> value{0};
    };
    std::atomic<bool> stop_{false};
    std::array<Loops, busy_threads> loops_{};
    std::array<std::thread, busy_threads> threads_;
};

} // namespace fifo_flood

} // namespace lab
