// SPDX-License-Identifier: MIT OR Apache-2.0
// Scheduling classes, affinity and limits, set by system calls.
#include "machine/realtime.h"

#include <sched.h>
#include <sys/resource.h>

#include <thread>

namespace lab
{

std::vector<int> cpus_allowed()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            cpus.push_back(cpu);
    return cpus;
}

void pin_to_cpus(const std::vector<int> &cpus, pid_t thread)
{
    if (cpus.empty())
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu : cpus)
        CPU_SET(cpu, &set);
    sched_setaffinity(thread, sizeof(set), &set);
}

// Threads that the caller creates later, directly or in a library, begin as ordinary threads.
bool enter_fifo(int priority)
{
    sched_param parameter{};
    parameter.sched_priority = priority;
    return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) == 0;
}

void enter_other()
{
    sched_param parameter{};
    sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameter);
}

void enter_idle()
{
    sched_param parameter{};
    sched_setscheduler(0, SCHED_IDLE, &parameter);
}

void raise_above_idle(pthread_t thread)
{
    sched_param parameter{};
    parameter.sched_priority = 1;
    if (pthread_setschedparam(thread, SCHED_FIFO, &parameter) == 0)
        return;
    parameter.sched_priority = 0;
    pthread_setschedparam(thread, SCHED_OTHER, &parameter);
}

bool realtime_permitted()
{
    bool permitted = false;
    std::thread([&] { permitted = enter_fifo(1); }).join();
    return permitted;
}

std::string realtime_refusal()
{
    return "the kernel refuses SCHED_FIFO to this user: run as root, give the program CAP_SYS_NICE, or raise the "
           "rtprio limit (ulimit -r 20); --other measures without it";
}

void limit_realtime_ms(int ms)
{
    rlimit limit{};
    limit.rlim_cur = static_cast<rlim_t>(ms) * 1000;
    limit.rlim_max = limit.rlim_cur;
    setrlimit(RLIMIT_RTTIME, &limit);
}

} // namespace lab
