// SPDX-License-Identifier: MIT OR Apache-2.0
// The cost of a read-side critical section: alone, in instructions, and around a hash lookup.
#pragma once

#include <algorithm>
#include <atomic>
#include <random>

#include "harness/work.h"
#include "measure/clock.h"

namespace bench
{

// The body of every loop below. With `Sections` false the loop has no lock and unlock.
template <class P, bool Sections> [[gnu::always_inline]] inline void section_loop(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if constexpr (Sections)
            P::lock();
        compiler_fence();
        if constexpr (Sections)
            P::unlock();
    }
}

// The loop as a separate function. The functions with and without sections have the same alignment, so that both loops
// cross the same cache-line boundaries.
template <class P, bool Sections> [[gnu::noinline, gnu::aligned(64)]] void section_loop_alone(uint64_t count)
{
    section_loop<P, Sections>(count);
}

// Measures an iteration in nanoseconds: the median of short blocks, so that preempted blocks do not count. The
// reference is the empty loop; the value is the iteration less the reference.
template <class P, bool Sections> class SectionWork : public Work
{
  public:
    explicit SectionWork(const Parameters &parameters) : parameters_(parameters)
    {
    }
    Measured round() override
    {
        const auto [with, without] =
            in_turn<P>(parameters_.cpu, parameters_.quick ? 51 : 201, time_block<Sections>, time_block<false>);
        return {(Sections ? with - without : with) / iterations, without / iterations};
    }

  private:
    static constexpr uint64_t iterations = 20'000;

    template <bool With> static uint64_t time_block()
    {
        int64_t start = lab::now_ns();
        section_loop_alone<P, With>(iterations);
        return static_cast<uint64_t>(lab::now_ns() - start);
    }

    const Parameters parameters_;
};

// Two functions in linker sections of their own, so that their machine code can be measured and compared.
#define BENCH_SECTION_CODE(name, P)                                                                                    \
    [[gnu::noinline, gnu::used, gnu::section("bench_" #name "_with")]] void name##_with(uint64_t count)                \
    {                                                                                                                  \
        bench::section_loop<P, true>(count);                                                                           \
    }                                                                                                                  \
    [[gnu::noinline, gnu::used, gnu::section("bench_" #name "_without")]] void name##_without(uint64_t count)          \
    {                                                                                                                  \
        bench::section_loop<P, false>(count);                                                                          \
    }                                                                                                                  \
    extern "C" const char __start_bench_##name##_with[], __stop_bench_##name##_with[];                                 \
    extern "C" const char __start_bench_##name##_without[], __stop_bench_##name##_without[];                           \
    constexpr bench::CodeRange name##_code[] = {                                                                       \
        {__start_bench_##name##_with, __stop_bench_##name##_with},                                                     \
        {__start_bench_##name##_without, __stop_bench_##name##_without},                                               \
    };

struct CodeRange {
    const char *begin, *end;
    std::size_t size() const
    {
        return static_cast<std::size_t>(end - begin);
    }
};

// Returns the number of bytes that differ between the loop with sections and the loop without: 0 means the same
// instructions.
class SectionCode : public Work
{
  public:
    SectionCode(const CodeRange &with, const CodeRange &without) : with_(with), without_(without)
    {
    }
    Measured round() override
    {
        const std::size_t common = std::min(with_.size(), without_.size());
        std::size_t differ = std::max(with_.size(), without_.size()) - common;
        for (std::size_t i = 0; i < common; i++)
            differ += with_.begin[i] != without_.begin[i];
        return {static_cast<double>(differ), static_cast<double>(without_.size())};
    }

  private:
    CodeRange with_, without_;
};

// A table of 1 Mi entries, and lookups of random keys that all exist.
class HashTable
{
  public:
    static constexpr std::size_t entries = 1u << 20;

    explicit HashTable(uint64_t seed) : nodes_(entries), buckets_(entries)
    {
        std::mt19937_64 random(seed);
        for (Node &node : nodes_) {
            node.key = random();
            node.value = node.key ^ seed;
            node.next = buckets_[index(node.key)].load();
            buckets_[index(node.key)] = &node;
        }
        for (std::size_t i = 0; i < entries; i++)
            keys_.push_back(nodes_[random() % entries].key);
    }
    [[gnu::always_inline]] uint64_t find(uint64_t key) const
    {
        const Node *node = buckets_[index(key)].load(std::memory_order_acquire);
        while (node != nullptr && node->key != key)
            node = node->next.load(std::memory_order_acquire);
        return node != nullptr ? node->value : 0;
    }
    uint64_t key(std::size_t at) const
    {
        return keys_[at % entries];
    }

  private:
    struct Node {
        std::atomic<Node *> next;
        uint64_t key, value;
    };
    static std::size_t index(uint64_t key)
    {
        return key * UINT64_C(0x9e3779b97f4a7c15) >> 44;
    }

    std::vector<Node> nodes_;
    std::vector<std::atomic<Node *>> buckets_;
    std::vector<uint64_t> keys_;
};

enum class Lookups {
    chained,    // each result decides the next key: the time is a lookup's latency
    overlapped, // keys are known in advance, so the CPU overlaps lookups: every instruction between them counts
};

// Measures a lookup inside a section in nanoseconds; the reference is the same lookup without a section.
template <class P, Lookups order> class LookupWork : public Work
{
  public:
    explicit LookupWork(const Parameters &parameters) : parameters_(parameters), table_(parameters.seed)
    {
    }
    Measured round() override
    {
        const auto [with, without] = in_turn<P>(
            parameters_.cpu, parameters_.quick ? 201 : 801, [this] { return time_block<true>(); },
            [this] { return time_block<false>(); });
        return {with / lookups, without / lookups};
    }

  private:
    static constexpr std::size_t lookups = 200; // short enough that most blocks run undisturbed

    template <bool Sections> [[gnu::noinline]] uint64_t time_block()
    {
        std::size_t at = at_;
        uint64_t result = 0;
        int64_t start = lab::now_ns();
        for (std::size_t i = 0; i < lookups; i++) {
            at = order == Lookups::chained ? at + (result & 7) + 1 : at + 1;
            if constexpr (Sections)
                P::lock();
            result += table_.find(table_.key(at));
            if constexpr (Sections)
                P::unlock();
        }
        int64_t taken = lab::now_ns() - start;
        at_ = at + result;
        return static_cast<uint64_t>(taken);
    }

    const Parameters parameters_;
    const HashTable table_;
    std::size_t at_ = 0;
};

} // namespace bench
