// SPDX-License-Identifier: MIT OR Apache-2.0
// The time of synchronize_rcu(): alone, beside a busy reader, and among many idle threads; and the memory of these.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <stdexcept>

#include "harness/work.h"
#include "measure/clock.h"

namespace bench
{

// `before` establishes the state in which each sample must begin.
template <class P, class Before> double median_synchronize_us(int samples, const Before &before)
{
    std::vector<uint64_t> taken;
    for (int i = 0; i < samples; i++) {
        before();
        int64_t start = lab::now_ns();
        P::synchronize();
        taken.push_back(static_cast<uint64_t>(lab::now_ns() - start));
    }
    return median(taken) / 1000;
}

enum class Reader { none, no_reader, tight, hold, quiescent };
constexpr int64_t hold_ns = 20'000;

// A reader that reads continuously on its own CPU while this object lives.
template <class P, Reader reader> class BusyReader
{
  public:
    explicit BusyReader(int cpu) : thread_([this, cpu] { run(cpu); })
    {
    }
    // Waits until the reader has just made progress, since a preempted reader would not be busy.
    void see_it_run() const
    {
        const uint64_t seen = sections_.load(std::memory_order_relaxed);
        while (sections_.load(std::memory_order_relaxed) - seen < 2)
            compiler_fence();
    }
    ~BusyReader()
    {
        stop_ = true;
        thread_.join();
    }

  private:
    void run(int cpu)
    {
        lab::pin_to_cpus({cpu});
        P::begin();
        for (uint64_t n = 0; !stop_.load(std::memory_order_relaxed); n++) {
            for (int i = 0; i < (reader == Reader::tight ? 64 : 1); i++)
                section();
            sections_.store(n, std::memory_order_relaxed);
        }
        P::end();
    }
    static void section()
    {
        if constexpr (reader == Reader::quiescent) {
            P::turn();
            return;
        }
        P::lock();
        if constexpr (reader == Reader::hold) {
            int64_t end = lab::now_ns() + hold_ns;
            while (lab::now_ns() < end)
                compiler_fence();
        }
        compiler_fence();
        P::unlock();
    }

    std::atomic<bool> stop_{false};
    std::atomic<uint64_t> sections_{0};
    std::thread thread_;
};

// Measures synchronize_rcu(): the median of a round, in microseconds.
template <class P, Reader reader> class SynchronizeWork : public Work
{
  public:
    explicit SynchronizeWork(const Parameters &parameters) : parameters_(parameters)
    {
    }
    Measured round() override
    {
        Measured measured;
        if constexpr (reader == Reader::none || reader == Reader::no_reader) {
            measured.value = alone(); // on the process's only thread
        } else {
            on_thread(parameters_.cpu, [&] { measured.value = against_reader(); });
        }
        return measured;
    }

  private:
    double alone()
    {
        lab::pin_to_cpus({parameters_.cpu});
        if constexpr (reader == Reader::none)
            P::begin();
        double result = median_synchronize_us<P>(parameters_.quick ? 500 : 4'000, [] {});
        if constexpr (reader == Reader::none)
            P::end();
        return result;
    }
    double against_reader()
    {
        if constexpr (reader != Reader::quiescent) // otherwise the grace period would wait for this thread too
            P::begin();
        double result;
        {
            BusyReader<P, reader> busy(parameters_.other_cpu);
            result = median_synchronize_us<P>(parameters_.quick ? 201 : 1'001, [&] { busy.see_it_run(); });
        }
        if constexpr (reader != Reader::quiescent)
            P::end();
        return result;
    }

    const Parameters parameters_;
};

// Threads that sleep until the next step; a step ends when all of them have done it; after the last step they exit.
class IdleThreads
{
  public:
    using Step = void (*)();
    IdleThreads(std::size_t count, std::vector<Step> steps) : steps_(std::move(steps))
    {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 128 * 1024);
        for (std::size_t i = 0; i < count; i++) {
            pthread_t thread;
            if (pthread_create(&thread, &attributes, body, this) != 0)
                throw std::runtime_error("fewer threads than the figure needs: raise the process limit (ulimit -u)");
            threads_.push_back(thread);
        }
        pthread_attr_destroy(&attributes);
    }
    ~IdleThreads()
    {
        while (number_ < steps_.size())
            step();
        for (pthread_t thread : threads_)
            pthread_join(thread, nullptr);
    }
    void step()
    {
        std::unique_lock hold(mutex_);
        done_ = 0;
        number_++;
        go_.notify_all();
        finished_.wait(hold, [&] { return done_ == threads_.size(); });
    }

  private:
    static void *body(void *self)
    {
        static_cast<IdleThreads *>(self)->run();
        return nullptr;
    }
    void run()
    {
        for (std::size_t number = 0; number < steps_.size(); number++) {
            {
                std::unique_lock hold(mutex_);
                go_.wait(hold, [&] { return number_ > number; });
            }
            steps_[number]();
            std::unique_lock hold(mutex_);
            if (++done_ == threads_.size())
                finished_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable go_, finished_;
    std::size_t number_ = 0, done_ = 0;
    const std::vector<Step> steps_;
    std::vector<pthread_t> threads_;
};

// Returns the exact number of resident bytes of this process; cheaper counters are kept for each CPU and are late.
inline double resident_bytes()
{
    std::ifstream file("/proc/self/smaps_rollup");
    for (std::string line; std::getline(file, line);)
        if (line.rfind("Rss:", 0) == 0)
            return std::stod(line.substr(4)) * 1024;
    throw std::runtime_error("/proc/self/smaps_rollup has no line Rss: this figure needs Linux 4.14 or newer");
}

// Measures registered threads that sleep. The value is the number of bytes that registration adds for each thread, or
// the median of synchronize_rcu() in microseconds. Each round is a new process, since memory is not returned to the
// kernel.
template <class P, bool Memory> class ManyThreadsWork : public Work
{
  public:
    explicit ManyThreadsWork(const Parameters &parameters) : parameters_(parameters)
    {
    }
    Measured round() override
    {
        Measured measured;
        IdleThreads threads(count, {touch_stack, become_reader, P::end});
        threads.step();
        double before = resident_bytes();
        threads.step();
        double after = resident_bytes();
        measured.value = Memory ? (after - before) / count : scan();
        return measured;
    }

  private:
    static constexpr std::size_t count = 4'096;

    // Makes the thread's stack resident before the first reading of memory, so that the stack does not count.
    [[gnu::noinline]] static void touch_stack()
    {
        char deep[24 * 1024];
        asm volatile("" ::"r"(deep) : "memory");
        for (std::size_t i = 0; i < sizeof(deep); i += 1024)
            const_cast<volatile char *>(deep)[i] = 1;
    }
    static void become_reader()
    {
        P::begin();
        P::lock();
        P::unlock();
    }
    double scan()
    {
        double result = 0;
        on_thread(parameters_.cpu, [&] {
            P::begin();
            result = median_synchronize_us<P>(parameters_.quick ? 101 : 1'001, [] {});
            P::end();
        });
        return result;
    }

    const Parameters parameters_;
};

} // namespace bench
