// SPDX-License-Identifier: MIT OR Apache-2.0
// The cost of callbacks to the thread that queues them: the call alone, and a whole update until its free().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "harness/work.h"
#include "measure/clock.h"

namespace bench
{

// An object that is replaced and reclaimed: the head, and a payload.
template <class P> struct Object {
    typename P::Head head; // first, so that a callback's argument is the object
    uint64_t payload[5];
};

// Lets the library create its threads before the measured thread binds itself to a CPU, so that they do not inherit the
// binding.
template <class P> void start_library_threads()
{
    static Object<P> first;
    on_thread(-1, [] {
        P::begin();
        P::call(&first.head, [](typename P::Head *) {});
        P::barrier();
        P::end();
    });
}

// Measures call_rcu() in nanoseconds of the thread's own CPU time, kernel included; the callbacks run on another CPU.
template <class P> class EnqueueWork : public Work
{
  public:
    explicit EnqueueWork(const Parameters &parameters) : parameters_(parameters), objects_(batch)
    {
        start_library_threads<P>();
    }
    Measured round() override
    {
        std::vector<uint64_t> taken;
        on_thread(-1, [&] {
            P::begin();
            for (int i = 0; i < (parameters_.quick ? 11 : 41); i++)
                taken.push_back(time_batch());
            P::end();
        });
        return {median(taken) / batch};
    }

  private:
    static constexpr std::size_t batch = 4'096; // callbacks between two barriers: too few for backpressure

    uint64_t time_batch()
    {
        int64_t start = lab::thread_cpu_ns();
        for (Object<P> &object : objects_)
            P::call(&object.head, [](typename P::Head *) {});
        int64_t taken = lab::thread_cpu_ns() - start;
        P::barrier();
        return static_cast<uint64_t>(taken);
    }

    const Parameters parameters_;
    std::vector<Object<P>> objects_;
};

// The event loop of an updater: every operation creates an object, publishes it, and retires the object that it
// replaces.
template <class P, bool Counted> class UpdateLoop
{
  public:
    static constexpr uint64_t operations_a_turn = 64;

    // Returns the largest backlog, if it is counted.
    uint64_t run(uint64_t operations)
    {
        uint64_t largest = 0;
        for (uint64_t n = 0; n < operations; n++) {
            auto *fresh = static_cast<Object<P> *>(std::malloc(sizeof(Object<P>)));
            fresh->payload[0] = n;
            Object<P> *old = slots_[n % slots].exchange(fresh, std::memory_order_acq_rel);
            if (old != nullptr)
                retire(old, largest);
            if (n % operations_a_turn == operations_a_turn - 1)
                P::turn();
        }
        return largest;
    }

  private:
    static constexpr std::size_t slots = 1'024;

    void retire(Object<P> *old, uint64_t &largest)
    {
        P::call(&old->head, reclaim);
        if constexpr (Counted) {
            uint64_t backlog = ++retired_ - returned_.load(std::memory_order_acquire);
            largest = std::max(largest, backlog);
        }
    }
    static void reclaim(typename P::Head *head)
    {
        std::free(reinterpret_cast<Object<P> *>(head));
        if constexpr (Counted)
            returned_.fetch_add(1, std::memory_order_release);
    }

    static inline std::atomic<uint64_t> returned_{0}; // static, since a process has one loop
    uint64_t retired_ = 0;
    std::atomic<Object<P> *> slots_[slots] = {};
};

// Measures an operation in nanoseconds, from the first operation to the return of the barrier after the last: by the
// clock, or by the CPU time of all threads, which excludes other programs.
template <class P, bool Cpu> class UpdateWork : public Work
{
  public:
    explicit UpdateWork(const Parameters &parameters) : parameters_(parameters)
    {
        start_library_threads<P>();
    }
    Measured round() override
    {
        const uint64_t operations = parameters_.quick ? 100'000 : 500'000;
        int64_t taken = 0;
        on_thread(-1, [&] {
            P::begin();
            int64_t start = now();
            loop_.run(operations);
            P::barrier();
            taken = now() - start;
            P::end();
        });
        return {static_cast<double>(taken) / static_cast<double>(operations)};
    }

  private:
    static int64_t now()
    {
        return Cpu ? lab::process_cpu_ns() : lab::now_ns();
    }

    const Parameters parameters_;
    UpdateLoop<P, false> loop_;
};

// Measures the milliseconds from call_rcu() to the callback's return, while a callback of another thread on the same
// CPU sleeps.
template <class P> class NeighbourWork : public Work
{
  public:
    explicit NeighbourWork(const Parameters &parameters) : parameters_(parameters)
    {
        start_library_threads<P>();
    }
    Measured round() override
    {
        int64_t taken = 0;
        begun_ = returned_ = false;
        on_thread(parameters_.cpu, [&] { queue_and_wait(slow_, run_slowly, begun_); });
        on_thread(parameters_.cpu, [&] {
            int64_t start = lab::now_ns();
            queue_and_wait(quick_, return_at_once, returned_);
            taken = lab::now_ns() - start;
            P::barrier();
        });
        return {static_cast<double>(taken) / 1e6};
    }

  private:
    static constexpr std::chrono::milliseconds slow_time{600}, look_every{1};

    static void queue_and_wait(Object<P> &object, void (*function)(typename P::Head *), const std::atomic<bool> &done)
    {
        P::begin();
        P::call(&object.head, function);
        while (!done)
            std::this_thread::sleep_for(look_every);
        P::end();
    }
    static void run_slowly(typename P::Head *)
    {
        begun_ = true;
        std::this_thread::sleep_for(slow_time);
    }
    static void return_at_once(typename P::Head *)
    {
        returned_ = true;
    }

    static inline std::atomic<bool> begun_, returned_;
    const Parameters parameters_;
    Object<P> slow_, quick_;
};

// Measures the backlog: the largest number of callbacks that were queued and had not returned.
template <class P> class BacklogWork : public Work
{
  public:
    explicit BacklogWork(const Parameters &parameters) : parameters_(parameters)
    {
        start_library_threads<P>();
    }
    Measured round() override
    {
        uint64_t largest = 0;
        on_thread(-1, [&] {
            P::begin();
            largest = loop_.run(parameters_.quick ? 500'000 : 2'000'000);
            P::barrier();
            P::end();
        });
        return {static_cast<double>(largest)};
    }

  private:
    const Parameters parameters_;
    UpdateLoop<P, true> loop_;
};

} // namespace bench
