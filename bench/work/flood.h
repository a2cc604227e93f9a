// SPDX-License-Identifier: MIT OR Apache-2.0
// A real-time thread queues 100,000 callbacks per second beside four busy threads: its backlog, and their progress.
#pragma once

#include <stdexcept>

#include "probe/fifo_flood.h"
#include "work/callbacks.h"

namespace bench
{

enum class Flood {
    backlog, // the largest backlog after the first 0.3 s
    whole,   // the largest backlog from the first call on, which creates the library's threads
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
        lab::fifo_flood::BusyThreads busy;
        bool permitted = false;
        std::thread updater([&] {
            permitted = lab::fifo_flood::enter_class_to_inherit();
            if (permitted)
                update();
        });
        updater.join();
        busy.stop();
        if (!permitted)
            throw std::runtime_error("the kernel refuses SCHED_FIFO to this user: run as root, or give the program "
                                     "CAP_SYS_NICE");
        return {value(busy.loops())};
    }

  private:
    static void reclaim(typename P::Head *head)
    {
        std::free(reinterpret_cast<Object<P> *>(head));
        returned_.fetch_add(1, std::memory_order_relaxed);
    }
    void update()
    {
        P::begin();
        const int64_t start = lab::now_ns();
        largest_ = largest_later_ = 0;
        returned_ = 0;
        lab::fifo_flood::run(
            start, length_ns_,
            [] { P::call(&static_cast<Object<P> *>(std::malloc(sizeof(Object<P>)))->head, reclaim); },
            [&](int64_t due, int64_t queued) {
                const int64_t backlog = queued - returned_;
                largest_ = std::max(largest_, backlog);
                if (due - start >= lab::fifo_flood::settled_ns)
                    largest_later_ = std::max(largest_later_, backlog);
            });
        P::barrier();
        P::end();
    }
    double value(uint64_t loops) const
    {
        if constexpr (flood == Flood::others)
            return static_cast<double>(length_ns_) * 1e6 / static_cast<double>(loops + 1);
        return static_cast<double>(flood == Flood::whole ? largest_ : largest_later_);
    }

    static inline std::atomic<int64_t> returned_{0};
    const int64_t length_ns_;
    int64_t largest_ = 0, largest_later_ = 0;
};

} // namespace bench
