// SPDX-License-Identifier: MIT OR Apache-2.0
// The threads that run beside the event loop for one round: the control probe; the long reader, or the reader that
// collects a burst; and the thread that keeps the CPU awake.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "measure/callback_meter.h"
#include "peer/peer.h"
#include "probe/shared_array.h"
#include "workload/workload.h"

namespace lab
{

// A SCHED_FIFO thread on the loop's CPU, with a higher priority than the loop.  It sleeps until absolute times and
// records how late it wakes.
class ThreadProbe
{
  public:
    ThreadProbe(int cpu, bool fifo, int64_t begin_ns, int64_t end_ns, int64_t period_ns, SharedArray<uint32_t> &late);
    ~ThreadProbe();

  private:
    std::thread thread_;
};

// A thread whose long sections make grace periods long: in each section it reads the whole structure, again and again
// for at least `section_ns`.  If `burst` is not 0, each section lasts until `burst` more objects are retired; then the
// thread unlocks and waits for their callbacks, usually at most 10 ms.
class LongReader
{
  public:
    // `asleep`: the reader sleeps in its sections, so that it takes no CPU time from other threads.
    LongReader(const Peer &peer, Workload &workload, uint64_t burst, int64_t section_ns, bool asleep,
               std::vector<int> cpus);
    ~LongReader();
    uint64_t bursts() const
    {
        return bursts_.load(std::memory_order_relaxed);
    }

  private:
    void run_dumps();
    void run_bursts();

    const Peer &peer_;
    Workload &workload_;
    const uint64_t burst_;
    const int64_t section_ns_;
    const bool asleep_;
    std::atomic<bool> stop_{false};
    std::atomic<uint64_t> bursts_{0};
    std::atomic<uint64_t> read_{0};
    std::thread thread_;
};

// A thread that spins at idle priority, so that the virtual CPU is never halted: waking a halted CPU takes longer than
// the times that are measured.
class KeepAwake
{
  public:
    explicit KeepAwake(int cpu);
    ~KeepAwake();

  private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

} // namespace lab
