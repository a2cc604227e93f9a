// SPDX-License-Identifier: MIT OR Apache-2.0
// CPU time by function: samples of the whole process at equal intervals of CPU time.
//
// The kernel's software CPU clock (perf_event_open) samples every thread, including those that libraries create later,
// and names the user-space function even while the kernel works on its behalf.  If that is refused, the threads that
// request it get timers on their CPU clocks, which send a signal; other threads are not sampled then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lab::overhead
{

struct Sample {
    uint64_t address; // user-space address of the instruction
    uint32_t thread_id;
};

class Profile
{
  public:
    virtual ~Profile() = default;
    virtual void begin() = 0;
    virtual void end() = 0;
    // Called by a thread that is to be sampled; it must call thread_ends() before it ends.
    virtual void thread_begins()
    {
    }
    virtual void thread_ends()
    {
    }
    // Reads the kernel's ring, which holds half a second of samples; called repeatedly between begin() and end().
    virtual void collect()
    {
    }
    // Returns all samples; called after end().
    virtual std::vector<Sample> samples() = 0;
    virtual uint64_t lost() const = 0;
    virtual int64_t period_ns() const = 0;
    virtual const char *source() const = 0; // "perf" or "signal"
};

// Opens a perf profile, or else a profile by timer signals, or else a profile without samples.  Never fails.
std::unique_ptr<Profile> open_profile(const std::vector<int> &cpus, int64_t period_ns, bool allow_perf);

// Parses one record of the kernel's ring, without its header; returns false if it is not a sample.  The user address is
// that of the saved registers, or the sampled address if the kernel saved no registers.
bool parse_sample(const std::vector<char> &record, Sample &sample, uint64_t &lost);

} // namespace lab::overhead
