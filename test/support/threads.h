/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The threads of this process, as the kernel tells of them.
 */
#ifndef RTRCU_TEST_SUPPORT_THREADS_H
#define RTRCU_TEST_SUPPORT_THREADS_H

#include <filesystem>
#include <fstream>
#include <string>

#include <sys/types.h>

namespace test
{

/* The thread of that name; nobody: 0. */
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

/* How often it has gone to sleep; 0 if there is none. */
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

} // namespace test

#endif
