// SPDX-License-Identifier: MIT OR Apache-2.0
// Where CPU time goes, by function: samples of the whole process at equal steps of CPU time.
//
// The kernel's software CPU clock (perf_event_open) samples every thread, including those made later by others, and
// names the user-space function even while the kernel works for it.  Where that is refused, timers on the CPU clocks of
// the threads that request one send a signal instead; other threads are then missing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lab::overhead
{

struct Sample {
    uint64_t address; // in user space
    uint32_t thread_id;
};

class Profile
{
  public:
    virtual ~Profile() = default;
    virtual void begin() = 0;
    virtual void end() = 0;
    // A thread that wants to be seen, in that thread; to be left in it before it ends.
    virtual void thread_begins()
    {
    }
    virtual void thread_ends()
    {
    }
    // Between begin() and end(), now and then: the kernel's ring holds no more than half a second.
    virtual void collect()
    {
    }
    // After end().
    virtual std::vector<Sample> samples() = 0;
    virtual uint64_t lost() const = 0;
    virtual int64_t period_ns() const = 0;
    virtual const char *source() const = 0; // "perf" or "signal"
};

// Never fails: falls back, and at last to a profile without samples.
std::unique_ptr<Profile> open_profile(const std::vector<int> &cpus, int64_t period_ns, bool allow_perf);

// One record of the kernel's ring, as it lies there behind its header; false where it is no sample.
// Layout: user address is that of the registers, or the sampled one where the kernel kept no registers.
bool parse_sample(const std::vector<char> &record, Sample &sample, uint64_t &lost);

} // namespace lab::overhead
