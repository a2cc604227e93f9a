// SPDX-License-Identifier: MIT OR Apache-2.0
// The bodies of the companion threads.  They are created while the loop is still an ordinary thread, and end with the
// round.
#include "probe/companion.h"

#include <algorithm>

#include "measure/clock.h"
#include "machine/realtime.h"
#include "probe/trace.h"

namespace lab
{

// While callbacks of more bursts than this are pending, the reader starts no new burst.
constexpr uint64_t backlog_bursts_max = 20;

ThreadProbe::ThreadProbe(int cpu, bool fifo, int64_t begin_ns, int64_t end_ns, int64_t period_ns,
                         SharedArray<uint32_t> &late)
{
    thread_ = std::thread([=, &late] {
        pin_to_cpus({cpu});
        if (fifo)
            (void)enter_fifo(thread_probe_priority);
        // The due times are shifted against the loop's due times by an odd fraction of the period.
        for (int64_t due = begin_ns + period_ns * 3 / 7; due < end_ns; due += period_ns) {
            timespec when = to_timespec(due);
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
            int64_t late_ns = now_ns() - due;
            late.push(static_cast<uint32_t>(std::clamp<int64_t>(late_ns, 0, UINT32_MAX)));
        }
    });
}

ThreadProbe::~ThreadProbe()
{
    thread_.join();
}

LongReader::LongReader(const Peer &peer, Workload &workload, uint64_t burst, int64_t section_ns, bool asleep,
                       std::vector<int> cpus)
    : peer_(peer), workload_(workload), burst_(burst), section_ns_(section_ns), asleep_(asleep), thread_([this, cpus] {
          pin_to_cpus(cpus);
          peer_.thread_begin(ThreadRole::reader);
          if (burst_ == 0)
              run_dumps();
          else
              run_bursts();
          peer_.thread_end();
      })
{
}

LongReader::~LongReader()
{
    stop_ = true;
    thread_.join();
}

void LongReader::run_dumps()
{
    const Section section = peer_.section(ThreadRole::reader);
    while (!stop_) {
        section.lock();
        const int64_t begin = now_ns(), end = begin + section_ns_;
        while (!stop_ && now_ns() < end) {
            if (asleep_)
                pause_ns(std::min<int64_t>(section_ns_, 1'000'000));
            else
                read_ += workload_.dump(stop_);
        }
        section.unlock();
        round_trace.section(begin, now_ns());
    }
}

void LongReader::run_bursts()
{
    const Section section = peer_.section(ThreadRole::reader);
    while (!stop_) {
        section.lock();
        const int64_t begin = now_ns();
        workload_.allow_removals(burst_);
        const uint64_t end = workload_.queued() + burst_;
        while (!stop_ && workload_.queued() < end)
            pause_ns(50'000);
        section.unlock();
        round_trace.section(begin, now_ns());
        bursts_++;
        // Wait for the burst's callbacks at most 10 ms, so that a slow back-end does not stop the flood, unless more
        // than backlog_bursts_max bursts are pending.
        const int64_t give_up = now_ns() + (&peer_ == &none_peer ? 0 : 10'000'000);
        while (!stop_ && callback_meter.invoked() < end &&
               (now_ns() < give_up || end - callback_meter.invoked() > backlog_bursts_max * burst_))
            pause_ns(50'000);
    }
    workload_.allow_removals(0);
}

KeepAwake::KeepAwake(int cpu)
    : thread_([this, cpu] {
          pin_to_cpus({cpu});
          enter_idle();
          while (!stop_.load(std::memory_order_relaxed))
              for (int i = 0; i < 1000; i++)
                  asm volatile("" ::: "memory");
      })
{
}

KeepAwake::~KeepAwake()
{
    stop_ = true;
    // Raise the thread above idle priority: on a busy machine a thread at idle priority would see stop_ much later.
    raise_above_idle(thread_.native_handle());
    thread_.join();
}

} // namespace lab
