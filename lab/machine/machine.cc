// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads facts about the machine from the kernel, and changes nothing.
#include "machine/machine.h"

#include <linux/membarrier.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fstream>
#include <thread>

#include "measure/clock.h"
#include "machine/realtime.h"

namespace lab
{

static std::string first_line(const char *path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

static std::string cpuinfo_value(const std::string &key)
{
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.rfind(key, 0) == 0 && line.find(": ") != std::string::npos)
            return line.substr(line.find(": ") + 2);
    return {};
}

static int64_t cost_ns(clockid_t clock)
{
    constexpr int reads = 2000;
    int64_t start = now_ns();
    for (int i = 0; i < reads; i++)
        (void)clock_ns(clock);
    return (now_ns() - start) / reads;
}

bool is_preempt_rt(const std::string &realtime_file, const std::string &version)
{
    return realtime_file == "1" || version.find("PREEMPT_RT") != std::string::npos;
}

Machine read_machine()
{
    Machine machine;
    utsname name{};
    uname(&name);
    machine.architecture = name.machine;
    machine.kernel = name.release;
    machine.preempt_rt = is_preempt_rt(first_line("/sys/kernel/realtime"), name.version);
    machine.cpu_model = cpuinfo_value("model name");
    if (machine.cpu_model.empty())
        machine.cpu_model = "unknown";
    machine.hypervisor =
        (" " + cpuinfo_value("flags") + " ").find(" hypervisor ") == std::string::npos ? "none" : "yes";
    machine.clock_source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    machine.cpus_allowed = cpus_allowed();
    struct sysinfo info {
    };
    sysinfo(&info);
    machine.memory_mb = static_cast<int64_t>(info.totalram * info.mem_unit >> 20);
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    machine.membarrier_expedited = commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
    machine.rseq = __rseq_size != 0;
    machine.realtime_permitted = realtime_permitted();
    machine.realtime_limits = fmt::format("{} of {} µs", first_line("/proc/sys/kernel/sched_rt_runtime_us"),
                                          first_line("/proc/sys/kernel/sched_rt_period_us"));
    timespec resolution{};
    clock_getres(CLOCK_MONOTONIC, &resolution);
    machine.clock_resolution_ns = resolution.tv_nsec;
    machine.clock_read_ns = cost_ns(CLOCK_MONOTONIC);
    machine.thread_cpu_read_ns = cost_ns(CLOCK_THREAD_CPUTIME_ID);
    return machine;
}

static int armed_timer(int64_t period_ns)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    itimerspec when{to_timespec(period_ns), to_timespec(period_ns)};
    timerfd_settime(timer, 0, &when, nullptr);
    return timer;
}

std::vector<uint64_t> interrupt_cost(int cpu, double seconds, int fifo_priority)
{
    constexpr int64_t period_ns = 200'000, shortest_ns = 3'000;
    std::vector<uint64_t> gaps;
    gaps.reserve(static_cast<std::size_t>(seconds * 1e9 / period_ns) * 2);
    std::thread spinner([&] {
        pin_to_cpus({cpu});
        if (fifo_priority > 0)
            (void)enter_fifo(fifo_priority);
        int timer = armed_timer(period_ns);
        int64_t last = now_ns();
        const int64_t end = last + static_cast<int64_t>(seconds * 1e9);
        while (last < end) {
            int64_t now = now_ns();
            if (now - last > shortest_ns && gaps.size() < gaps.capacity())
                gaps.push_back(static_cast<uint64_t>(now - last));
            last = now;
        }
        close(timer);
    });
    spinner.join();
    return gaps;
}

std::vector<uint64_t> timer_floor(int cpu, double seconds, int64_t period_ns, int fifo_priority)
{
    std::vector<uint64_t> late;
    late.reserve(static_cast<std::size_t>(seconds * 1e9 / static_cast<double>(period_ns)) + 16);
    std::thread sleeper([&] {
        pin_to_cpus({cpu});
        if (fifo_priority > 0)
            (void)enter_fifo(fifo_priority);
        int64_t due = now_ns() + period_ns;
        const int64_t end = due + static_cast<int64_t>(seconds * 1e9);
        while (due < end) {
            timespec when = to_timespec(due);
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
            int64_t now = now_ns();
            for (; due <= now; due += period_ns)
                late.push_back(static_cast<uint64_t>(now - due));
        }
    });
    sleeper.join();
    return late;
}

} // namespace lab
