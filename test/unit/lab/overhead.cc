// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of `rtrcu overhead`: names of functions, samples of the profile, locks, and the historical layers.
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <thread>

#include "overhead/historical.h"
#include "overhead/profile.h"
#include "overhead/spin_lock.h"
#include "overhead/symbols.h"
#include "overhead/sync.h"

using namespace lab;
using namespace lab::overhead;

TEST(OverheadSymbols, ShortNameDropsNamespacesArgumentsAndSuffixes)
{
    EXPECT_EQ(short_name("lab::RouteCache<lab::overhead::RcuSync>::miss(unsigned long, unsigned int)"),
              "RouteCache::miss");
    EXPECT_EQ(
        short_name("int lab::overhead::route_packet<lab::overhead::RcuSync>(lab::RouteCache<lab::overhead::RcuSync>&)"),
        "route_packet");
    EXPECT_EQ(short_name("lab::PrefixTable::find(unsigned int) const"), "PrefixTable::find");
    EXPECT_EQ(short_name("lab::overhead::(anonymous namespace)::reclaim_entry(lab::RetiredHead*)"), "reclaim_entry");
    EXPECT_EQ(short_name("gp_scan.part.0"), "gp_scan");
    EXPECT_EQ(short_name("__sched_yield"), "sched_yield");
}

TEST(OverheadSymbols, EachFunctionHasItsKindOfWork)
{
    EXPECT_EQ(classify("route_packet", false), Work::lookup);
    EXPECT_EQ(classify("ReadWriteLock::read_lock_slowly", false), Work::lookup);
    EXPECT_EQ(classify("ReadWriteLock::write_lock_slowly", false), Work::update);
    EXPECT_EQ(classify("RouteCache::miss", false), Work::update);
    EXPECT_EQ(classify("[libc.so.6]", false), Work::update);
    EXPECT_EQ(classify("rtrcu_call", true), Work::rcu);
    EXPECT_EQ(classify("turn", true), Work::rcu);
    EXPECT_EQ(classify("turn", false), Work::other);
    EXPECT_EQ(classify("GlobalQueue::enqueue", false), Work::rcu);
    EXPECT_EQ(classify("GlobalQueue::lock", false), Work::rcu);
    EXPECT_EQ(classify("forwarder_body", false), Work::traffic);
}

[[gnu::noinline]] static int a_function_of_this_test(int value)
{
    asm volatile("" : "+r"(value));
    return value + 1;
}

TEST(OverheadSymbols, FindsFunctionsOfTheRunningProgram)
{
    const Symbols symbols;
    ASSERT_TRUE(symbols.named());
    const auto address = reinterpret_cast<uint64_t>(&a_function_of_this_test);
    EXPECT_EQ(symbols.find(address + 1).name, "a_function_of_this_test");
    EXPECT_EQ(symbols.find(reinterpret_cast<uint64_t>(&rtrcu_call) + 1).work, Work::rcu);
    EXPECT_EQ(symbols.find(8).name, "[unknown]");
}

static std::vector<char> record_of(uint32_t type, const std::vector<uint64_t> &words)
{
    perf_event_header header{};
    header.type = type;
    header.size = static_cast<uint16_t>(sizeof(header) + words.size() * sizeof(uint64_t));
    std::vector<char> record(header.size);
    std::memcpy(record.data(), &header, sizeof(header));
    std::memcpy(record.data() + sizeof(header), words.data(), words.size() * sizeof(uint64_t));
    return record;
}

TEST(OverheadProfile, ParsesSamplesAndLostCounts)
{
    Sample sample{};
    uint64_t lost = 0;
    const uint64_t thread = uint64_t{77} << 32 | 5;
    ASSERT_TRUE(
        parse_sample(record_of(PERF_RECORD_SAMPLE, {0x1000, thread, PERF_SAMPLE_REGS_ABI_64, 0x2000}), sample, lost));
    EXPECT_EQ(sample.address, 0x2000u) << "the user's instruction pointer, not the kernel's";
    EXPECT_EQ(sample.thread_id, 77u);
    ASSERT_TRUE(parse_sample(record_of(PERF_RECORD_SAMPLE, {0x1000, thread, PERF_SAMPLE_REGS_ABI_NONE}), sample, lost));
    EXPECT_EQ(sample.address, 0x1000u);
    EXPECT_FALSE(parse_sample(record_of(PERF_RECORD_SAMPLE, {0x1000}), sample, lost)) << "the record is truncated";
    EXPECT_FALSE(parse_sample(record_of(PERF_RECORD_LOST, {1, 9}), sample, lost));
    EXPECT_EQ(lost, 9u);
}

// A thread runs for 100 ms of CPU time; the profile must contain samples, and those of signals only that thread's.
static void expect_profile_sees_work(bool allow_perf)
{
    const auto profile = open_profile({0, 1}, 1'000'000, allow_perf);
    uint64_t thread_id = 0;
    std::thread worker([&] {
        thread_id = static_cast<uint64_t>(gettid());
        profile->thread_begins();
        profile->begin();
        timespec spent{};
        for (int value = 0; spent.tv_nsec < 100'000'000 && spent.tv_sec == 0; value = a_function_of_this_test(value))
            if (value % 1024 == 0)
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
        profile->end();
        profile->thread_ends();
    });
    worker.join();
    const std::vector<Sample> samples = profile->samples();
    ASSERT_FALSE(samples.empty()) << profile->source();
    for (const Sample &sample : samples)
        EXPECT_TRUE(sample.thread_id == thread_id || std::strcmp(profile->source(), "perf") == 0);
}

TEST(OverheadProfile, PerfSamplesAThreadThatRuns)
{
    expect_profile_sees_work(true);
}

TEST(OverheadProfile, SignalsSampleAThreadThatRuns)
{
    expect_profile_sees_work(false);
}

static std::atomic<uint64_t> reclaimed{0};

static void count_and_free(RetiredHead *head)
{
    reclaimed++;
    std::free(head);
}

static RetiredHead *new_head()
{
    return static_cast<RetiredHead *>(std::malloc(sizeof(RetiredHead)));
}

// The global queue passes a batch to call_rcu() with one callback, its carrier. A carrier may queue the next one,
// for which rcu_barrier() does not wait: hence the loop of barriers.
template <class Retire> static void expect_each_runs_once(Retire retire)
{
    constexpr int threads = 4, each = 2000;
    reclaimed = 0;
    std::vector<std::thread> producers;
    for (int i = 0; i < threads; i++)
        producers.emplace_back([&] {
            for (int n = 0; n < each; n++)
                retire(new_head());
        });
    for (std::thread &producer : producers)
        producer.join();
    for (int i = 0; i < 1000 && reclaimed < threads * each; i++)
        rcu_barrier();
    EXPECT_EQ(reclaimed, static_cast<uint64_t>(threads * each));
}

TEST(OverheadHistorical, GlobalQueueRunsEachCallbackOnce)
{
    const uint64_t before = global_queue.invoked();
    expect_each_runs_once(retire_globally<count_and_free>);
    EXPECT_EQ(global_queue.backlog(), 0u);
    EXPECT_EQ(global_queue.invoked() - before, reclaimed) << "it counts callbacks, not carriers";
}

TEST(OverheadHistorical, GlobalCounterReturnsToZero)
{
    expect_each_runs_once(retire_counted<count_and_free>);
    EXPECT_EQ(global_counter, 0u);
}

// No callback of the queue runs while an earlier reader is inside.
TEST(OverheadHistorical, GlobalQueueWaitsForReaders)
{
    reclaimed = 0;
    rcu_read_lock();
    retire_globally<count_and_free>(new_head());
    const unsigned long cookie = start_poll_synchronize_rcu();
    EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
    EXPECT_EQ(reclaimed, 0u);
    rcu_read_unlock();
    rcu_barrier();
    EXPECT_EQ(reclaimed, 1u);
}

template <class Lock, class Unlock> static uint64_t count_under(Lock lock, Unlock unlock)
{
    constexpr int threads = 4, each = 20'000;
    uint64_t count = 0; // not atomic, since the lock protects it
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++)
        workers.emplace_back([&] {
            for (int n = 0; n < each; n++) {
                lock();
                count = count + 1;
                unlock();
            }
        });
    for (std::thread &worker : workers)
        worker.join();
    return count;
}

TEST(OverheadLocks, SpinAndWriteLocksAreExclusive)
{
    SpinLock spin;
    EXPECT_EQ(count_under([&] { spin.lock(); }, [&] { spin.unlock(); }), 80'000u);
    ReadWriteLock lock;
    EXPECT_EQ(count_under([&] { lock.write_lock(); }, [&] { lock.write_unlock(); }), 80'000u);
}

TEST(OverheadLocks, ReadersSeeWholeUpdates)
{
    ReadWriteLock lock;
    uint64_t first = 0, second = 0;
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (int n = 0; n < 20'000; n++) {
            lock.write_lock();
            first++;
            second++;
            lock.write_unlock();
        }
        stop = true;
    });
    uint64_t differences = 0;
    while (!stop) {
        lock.read_lock();
        differences += first != second;
        lock.read_unlock();
    }
    writer.join();
    EXPECT_EQ(differences, 0u);
}

// retire() drops the cache's reference; the packet's is left.
TEST(OverheadLocks, ReferenceOfAPacketKeepsARetiredEntry)
{
    CountedChainSync sync(1);
    auto *entry = new (std::malloc(sizeof(RouteEntry))) RouteEntry{};
    sync.hold(entry);
    sync.retire(entry);
    EXPECT_EQ(entry->references, 0u) << "only the packet's reference is left, and the entry is not freed";
    sync.release(entry);
}
