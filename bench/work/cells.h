// SPDX-License-Identifier: MIT OR Apache-2.0
// A value that many threads read and few replace, in C++: a read, and an update that stores a changed copy.
//
// A peer's class has, besides begin() and end():
//   read()     one word of the value, under the peer's protection
//   update()   replace the value by a changed copy; safe among several updaters
//   settle()   wait until replaced values have been freed
// and the type Readers, if its readers are another kind of thread than its updater.
#pragma once

#include <atomic>

#include "harness/work.h"
#include "measure/clock.h"

namespace bench
{

// The value: two cache lines, such as a route or a small configuration.
struct CellValue {
    uint64_t words[16] = {};
    void change()
    {
        words[0]++;
    }
};

template <class P> struct CellReadersOf {
    using Type = P;
};
template <class P>
concept HasReaders = requires
{
    typename P::Readers;
};
template <HasReaders P> struct CellReadersOf<P> {
    using Type = typename P::Readers;
};

// A reader on the other CPU, which reads continuously while this object lives. With `wanted` false there is no reader.
template <class P> class CellReader
{
  public:
    CellReader(bool wanted, int cpu)
    {
        if (!wanted)
            return;
        thread_ = std::thread([this, cpu] {
            lab::pin_to_cpus({cpu});
            P::begin();
            while (!stop_.load(std::memory_order_relaxed)) {
                sum_ += P::read();
                seen_.store(true, std::memory_order_relaxed);
            }
            P::end();
        });
        while (!seen_.load(std::memory_order_relaxed))
            std::this_thread::yield();
    }
    ~CellReader()
    {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
    }
    CellReader(const CellReader &) = delete;
    CellReader &operator=(const CellReader &) = delete;

  private:
    std::atomic<bool> stop_{false}, seen_{false};
    uint64_t sum_ = 0;
    std::thread thread_;
};

// Measures a read in nanoseconds, net of the empty loop; the median over short blocks.
template <class P> class CellReadWork : public Work
{
  public:
    explicit CellReadWork(const Parameters &parameters) : parameters_(parameters)
    {
        P::update();
        P::settle();
    }
    Measured round() override
    {
        const auto [with, without] =
            in_turn<P>(parameters_.cpu, parameters_.quick ? 51 : 201, time_block<true>, time_block<false>);
        return {(with - without) / iterations, without / iterations};
    }

  private:
    static constexpr uint64_t iterations = 5'000;

    template <bool With> [[gnu::noinline, gnu::aligned(64)]] static uint64_t loop()
    {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < iterations; i++) {
            if constexpr (With)
                sum += P::read();
            else
                sum += i;
            asm volatile("" : "+r"(sum)::"memory");
        }
        return sum;
    }
    template <bool With> static uint64_t time_block()
    {
        int64_t start = lab::now_ns();
        (void)loop<With>();
        return static_cast<uint64_t>(lab::now_ns() - start);
    }

    const Parameters parameters_;
};

// Measures an update in nanoseconds, from the first update until the value that the last update replaced has been
// freed.
template <class P, bool Busy> class CellUpdateWork : public Work
{
  public:
    explicit CellUpdateWork(const Parameters &parameters) : parameters_(parameters)
    {
        P::update(); // creates the library's threads before the measured thread binds itself to a CPU
        P::settle();
    }
    Measured round() override
    {
        const uint64_t operations = parameters_.quick ? 40'000 : 200'000;
        int64_t taken = 0;
        CellReader<typename CellReadersOf<P>::Type> reader(Busy, parameters_.other_cpu);
        on_thread(Busy ? parameters_.cpu : -1, [&] {
            P::begin();
            int64_t start = lab::now_ns();
            for (uint64_t n = 0; n < operations; n++)
                P::update();
            P::settle();
            taken = lab::now_ns() - start;
            P::end();
        });
        return {static_cast<double>(taken) / static_cast<double>(operations)};
    }

  private:
    const Parameters parameters_;
};

} // namespace bench
