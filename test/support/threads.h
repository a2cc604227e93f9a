/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Queries of the kernel about the threads of this process, and a class that the C library cannot set. */
#ifndef RTRCU_TEST_SUPPORT_THREADS_H
#define RTRCU_TEST_SUPPORT_THREADS_H

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace test
{

/* The id of the thread of this process with that name, or 0. */
inline pid_t thread_called(const std::string &name)
{
    std::error_code gone;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
        std::string text;
        std::ifstream file(task.path() / "comm");
        if (std::getline(file, text) && text == name)
            return std::stoi(task.path().filename());
    }
    return 0;
}

/* How often the thread has gone to sleep; 0 if it does not exist. */
inline long sleeps_of(pid_t thread)
{
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
    const std::string key = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(file, line);) {
        if (line.rfind(key, 0) == 0)
            return std::stol(line.substr(key.size()));
    }
    return 0;
}

/* The struct of sched_setattr(2), which the C library lacks before 2.41. */
struct DeadlineAttributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* Put the calling thread into SCHED_DEADLINE, with @runtime_ns of each 100 ms.  False: the kernel refuses it. */
inline bool become_sched_deadline(uint64_t runtime_ns)
{
    constexpr uint32_t deadline_class = 6;
    DeadlineAttributes attributes = {.size = sizeof(attributes),
                                     .policy = deadline_class,
                                     .flags = 0,
                                     .nice = 0,
                                     .priority = 0,
                                     .runtime = runtime_ns,
                                     .deadline = 100000000,
                                     .period = 100000000};
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

} // namespace test

#endif
