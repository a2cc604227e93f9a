// SPDX-License-Identifier: MIT OR Apache-2.0
// Lists threads from /proc, and reads their clocks by the kernel's numbering of clock ids.
#include "machine/threads.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace lab
{

std::vector<pid_t> threads_but(const std::vector<pid_t> &left_out)
{
    std::vector<pid_t> threads;
    DIR *folder = opendir("/proc/self/task");
    if (folder == nullptr)
        return threads;
    while (const dirent *entry = readdir(folder))
        if (const auto thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
            thread > 0 && std::find(left_out.begin(), left_out.end(), thread) == left_out.end())
            threads.push_back(thread);
    closedir(folder);
    return threads;
}

int64_t thread_cpu_ns_of(pid_t thread)
{
    // The clock id that pthread_getcpuclockid() returns: a thread's CPU time as the scheduler counts it.
    constexpr clockid_t per_thread = 4, scheduled = 2;
    const clockid_t clock = static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3) | per_thread | scheduled;
    timespec now{};
    if (clock_gettime(clock, &now) != 0)
        return 0;
    return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

int64_t machine_busy_ns()
{
    std::ifstream file("/proc/stat");
    std::string name;
    int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (!(file >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal))
        return 0;
    return (user + nice + system + irq + softirq + steal) * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

} // namespace lab
