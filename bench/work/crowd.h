// SPDX-License-Identifier: MIT OR Apache-2.0
// A library with many threads: which have read once and are idle, which read now and then, or which queue callbacks.
#pragma once

#include <time.h>

#include "work/callbacks.h"
#include "work/synchronize.h"

namespace bench
{

enum class Crowd { idle, now_and_then, queueing };

// Lets all threads read: ten thousand sections per second in total, but at most a thousand by each thread.
template <class P> class NowAndThen
{
  public:
    explicit NowAndThen(IdleThreads &threads, std::size_t count)
    {
        const long long period_ns = std::max<long long>(1'000'000, static_cast<long long>(count) * 100'000);
        period_ = {static_cast<time_t>(period_ns / 1'000'000'000), static_cast<long>(period_ns % 1'000'000'000)};
        stop_ = false;
        runner_ = std::thread([&threads] { threads.step(); });
    }
    ~NowAndThen()
    {
        stop_ = true;
        runner_.join();
    }
    static void read_until_stopped()
    {
        while (!stop_.load(std::memory_order_relaxed)) {
            P::lock();
            compiler_fence();
            P::unlock();
            nanosleep(&period_, nullptr);
        }
    }

  private:
    static inline std::atomic<bool> stop_{false};
    static inline timespec period_{};
    std::thread runner_;
};

// Measures a crowd of threads. While they are idle or read: the median of synchronize_rcu() in microseconds. While they
// queue: the CPU time of all threads per callback, in nanoseconds, from call_rcu() to free(); each thread is woken,
// queues some callbacks and sleeps again.
template <class P, Crowd crowd> class CrowdWork : public Work
{
  public:
    explicit CrowdWork(const Parameters &parameters) : parameters_(parameters)
    {
        if constexpr (crowd == Crowd::queueing)
            start_library_threads<P>();
    }
    Measured round() override
    {
        const std::size_t count = parameters_.threads;
        Measured measured;
        if constexpr (crowd == Crowd::idle) {
            IdleThreads threads(count, {become_reader, P::end});
            threads.step();
            measured.value = synchronize();
        } else if constexpr (crowd == Crowd::now_and_then) {
            IdleThreads threads(count, {become_reader, NowAndThen<P>::read_until_stopped, P::end});
            threads.step();
            NowAndThen<P> reading(threads, count);
            measured.value = synchronize();
        } else {
            IdleThreads threads(count, {become_reader, queue_some, queue_some, P::end});
            threads.step();
            time_queueing(threads);
            measured.value = time_queueing(threads) / static_cast<double>(count * each);
        }
        return measured;
    }

  private:
    static constexpr std::size_t each = 64;

    static void become_reader()
    {
        P::begin();
        P::lock();
        P::unlock();
    }
    static void queue_some()
    {
        for (std::size_t i = 0; i < each; i++) {
            auto *object = static_cast<Object<P> *>(std::malloc(sizeof(Object<P>)));
            P::call(&object->head, [](typename P::Head *head) { std::free(reinterpret_cast<Object<P> *>(head)); });
        }
    }
    static double time_queueing(IdleThreads &threads)
    {
        const int64_t start = lab::process_cpu_ns();
        threads.step();
        on_thread(-1, [] {
            P::begin();
            P::barrier();
            P::end();
        });
        return static_cast<double>(lab::process_cpu_ns() - start);
    }
    double synchronize()
    {
        double result = 0;
        on_thread(parameters_.cpu, [&] {
            P::begin();
            result = median_synchronize_us<P>(parameters_.quick ? 51 : 501, [] {});
            P::end();
        });
        return result;
    }

    const Parameters parameters_;
};

} // namespace bench
