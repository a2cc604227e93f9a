// SPDX-License-Identifier: MIT OR Apache-2.0
// A real-time thread queues 100,000 callbacks per second beside four busy threads: its backlog, and their progress.
#pragma once

#include <array>
#include <stdexcept>

#include "work/callbacks.h"

namespace bench
{

enum class Flood {
    backlog, // the largest, after the first 0.3 s
    whole,   // the largest, from the first call on, which creates the library's threads
    others,  // nanoseconds for each million loops of the busy threads together
};

template <class P, Flood flood> class FloodWork : public Work
{
  public:
    explicit FloodWork(const Parameters &parameters) : length_ns_(parameters.quick ? 600'000'000 : 1'500'000'000)
    {
    }
    Measured round() override
    {
        std::array<Busy, 4> loops{};
        std::array<std::thread, 4> busy;
        stop_ = false;
        for (std::size_t i = 0; i < busy.size(); i++)
            busy[i] = std::thread([&loop = loops[i]] { loop.run(); });
        bool permitted = false;
        std::thread updater([&] {
            permitted = enter_class_to_inherit();
            if (permitted)
                update();
        });
        updater.join();
        stop_ = true;
        for (std::thread &thread : busy)
            thread.join();
        if (!permitted)
            throw std::runtime_error(lab::realtime_refusal());
        return {value(loops)};
    }

  private:
    struct alignas(128) Busy {
        uint64_t loops = 0;
        void run()
        {
            for (; !stop_.load(std::memory_order_relaxed); compiler_fence())
                loops++;
        }
    };

    static constexpr int priority = 5; // with the driver's 1 and its guard's 2 below it
    static constexpr int64_t interval_ns = 10'000, settled_ns = 300'000'000;
    static constexpr std::chrono::milliseconds pause{1};

    // Without the flag that the lab's own threads have: a worker that liburcu creates inherits the class, as it does in
    // a program.
    static bool enter_class_to_inherit()
    {
        sched_param parameter{};
        parameter.sched_priority = priority;
        return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter) == 0;
    }
    static void reclaim(typename P::Head *head)
    {
        std::free(reinterpret_cast<Object<P> *>(head));
        returned_.fetch_add(1, std::memory_order_relaxed);
    }
    void update()
    {
        P::begin();
        const int64_t start = lab::now_ns();
        int64_t queued = 0;
        largest_ = largest_later_ = 0;
        returned_ = 0;
        for (int64_t elapsed = 0; elapsed < length_ns_; elapsed = lab::now_ns() - start) {
            for (; queued < elapsed / interval_ns; queued++)
                P::call(&static_cast<Object<P> *>(std::malloc(sizeof(Object<P>)))->head, reclaim);
            const int64_t backlog = queued - returned_;
            largest_ = std::max(largest_, backlog);
            if (elapsed >= settled_ns)
                largest_later_ = std::max(largest_later_, backlog);
            std::this_thread::sleep_for(pause);
        }
        P::barrier();
        P::end();
    }
    double value(const std::array<Busy, 4> &loops) const
    {
        uint64_t sum = 1;
        for (const Busy &busy : loops)
            sum += busy.loops;
        if constexpr (flood == Flood::others)
            return static_cast<double>(length_ns_) * 1e6 / static_cast<double>(sum);
        return static_cast<double>(flood == Flood::whole ? largest_ : largest_later_);
    }

    static inline std::atomic<bool> stop_{false};
    static inline std::atomic<int64_t> returned_{0};
    const int64_t length_ns_;
    int64_t largest_ = 0, largest_later_ = 0;
};

} // namespace bench
