// SPDX-License-Identifier: MIT OR Apache-2.0
// Timers on thread CPU clocks, and the handler of their signal.
//
// The kernel checks such timers only at its tick, so there are fewer samples than the period implies. Each sample
// stands
// for the time since the one before, which the handler computes from the overrun count.
#include "overhead/profile_signal.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "measure/clock.h"

namespace lab::overhead
{
namespace
{

constexpr std::size_t capacity = 1 << 16;

// The samples.  The signal handlers of all threads write them, each sample to a separate element.
struct Noted {
    Sample samples[capacity];
    std::atomic<std::size_t> count{0};
    std::atomic<bool> on{false};
};
Noted noted;
thread_local timer_t own_timer;
thread_local bool has_timer = false;

uint64_t address_of(const void *context)
{
    const auto *machine = &static_cast<const ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
    return static_cast<uint64_t>(machine->gregs[REG_RIP]);
#elif defined(__aarch64__)
    return machine->pc;
#else
    return 0;
#endif
}

void on_signal(int, siginfo_t *information, void *context)
{
    if (!noted.on.load(std::memory_order_relaxed))
        return;
    const int saved = errno;
    const auto thread_id = static_cast<uint32_t>(syscall(SYS_gettid));
    // Record one sample for each expiry of the timer, including the expiries that the kernel merged into this signal.
    const auto steps = static_cast<std::size_t>(1 + std::max(information->si_overrun, 0));
    std::size_t at = noted.count.fetch_add(steps, std::memory_order_relaxed);
    for (std::size_t i = at; i < std::min(at + steps, capacity); i++)
        noted.samples[i] = {address_of(context), thread_id};
    errno = saved;
}

class SignalProfile : public Profile
{
  public:
    explicit SignalProfile(int64_t period_ns) : period_ns_(period_ns)
    {
        struct sigaction action {
        };
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        sigaction(SIGPROF, &action, nullptr);
        noted.count = 0;
    }
    ~SignalProfile() override
    {
        noted.on = false;
        signal(SIGPROF, SIG_IGN);
    }
    void begin() override
    {
        noted.on = true;
    }
    void end() override
    {
        noted.on = false;
    }
    void thread_begins() override
    {
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGPROF;
        event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
        clockid_t clock;
        if (pthread_getcpuclockid(pthread_self(), &clock) != 0 || timer_create(clock, &event, &own_timer) != 0)
            return;
        has_timer = true;
        const itimerspec period = {to_timespec(period_ns_), to_timespec(period_ns_)};
        timer_settime(own_timer, 0, &period, nullptr);
    }
    void thread_ends() override
    {
        if (has_timer)
            timer_delete(own_timer);
        has_timer = false;
    }
    std::vector<Sample> samples() override
    {
        const std::size_t count = noted.count.load(std::memory_order_acquire);
        return {noted.samples, noted.samples + std::min(count, capacity)};
    }
    uint64_t lost() const override
    {
        const std::size_t count = noted.count.load(std::memory_order_relaxed);
        return count > capacity ? count - capacity : 0;
    }
    int64_t period_ns() const override
    {
        return period_ns_;
    }
    const char *source() const override
    {
        return "signal";
    }

  private:
    const int64_t period_ns_;
};

} // namespace

std::unique_ptr<Profile> open_signal_profile(int64_t period_ns)
{
    return std::make_unique<SignalProfile>(period_ns);
}

} // namespace lab::overhead
