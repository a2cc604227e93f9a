/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Main program of the tests in test/api: runs GoogleTest, or the body of one child. */
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <linux/capability.h>
#include <map>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

namespace test
{

namespace
{

constexpr const char *child_option = "--child=";
constexpr std::chrono::seconds time_limit{60};

std::map<std::string, void (*)()> &bodies()
{
    static std::map<std::string, void (*)()> all;
    return all;
}

/* The command that starts this program, under the emulator if there is one. */
std::vector<std::string> command(const std::string &name)
{
    std::vector<std::string> words;
#ifdef RTRCU_TEST_EMULATOR
    std::string all = RTRCU_TEST_EMULATOR;
    for (size_t at = 0; at <= all.size();) {
        size_t end = std::min(all.find(' ', at), all.size());
        words.push_back(all.substr(at, end - at));
        at = end + 1;
    }
    words[0] = "/usr/bin/" + words[0];
#endif
    char path[4096] = "";
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    words.push_back(std::string(path, length > 0 ? static_cast<size_t>(length) : 0));
    words.push_back(child_option + name);
    return words;
}

std::vector<char *> pointers(std::vector<std::string> &strings)
{
    std::vector<char *> all;
    for (auto &string : strings)
        all.push_back(string.data());
    all.push_back(nullptr);
    return all;
}

/* This process's environment without RTRCU_ settings, plus @added. */
std::vector<std::string> environment_with(const std::vector<std::string> &added)
{
    std::vector<std::string> all;
    for (char **entry = environ; *entry; entry++) {
        if (strncmp(*entry, "RTRCU_", 6) != 0)
            all.push_back(*entry);
    }
    all.insert(all.end(), added.begin(), added.end());
    return all;
}

struct Running {
    pid_t pid;
    int output;
};

Running spawn(const std::string &name, const std::vector<std::string> &environment)
{
    std::vector<std::string> words = command(name), variables = environment_with(environment);
    std::vector<char *> arguments = pointers(words), values = pointers(variables);
    int ends[2];
    if (pipe(ends) != 0)
        return {-1, -1};
    fflush(nullptr);
    pid_t pid = vfork();
    if (pid == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execve(arguments[0], arguments.data(), values.data());
        _exit(127);
    }
    close(ends[1]);
    return {pid, ends[0]};
}

/* Collect the child's output until it ends, time runs out, or @until appears. */
void collect(const Running &running, const std::string &until, ChildResult *result)
{
    auto end = std::chrono::steady_clock::now() + time_limit;
    for (;;) {
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        struct pollfd ready = {running.output, POLLIN, 0};
        if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
            result->timed_out = true;
            return;
        }
        char part[4096];
        ssize_t got = read(running.output, part, sizeof(part));
        if (got <= 0)
            return;
        result->output.append(part, static_cast<size_t>(got));
        if (!until.empty() && result->contains(until))
            return;
    }
}

} // namespace

ChildResult run_child_until(const std::string &name, const std::string &until,
                            const std::vector<std::string> &environment)
{
    ChildResult result;
    Running running = spawn(name, environment);
    if (running.pid < 0) {
        result.status = -1;
        return result;
    }
    collect(running, until, &result);
    if (result.timed_out || !until.empty())
        kill(running.pid, SIGKILL);
    close(running.output);
    waitpid(running.pid, &result.status, 0);
    return result;
}

int threads_of_this_process()
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    REQUIRE(tasks);
    while (struct dirent *entry = readdir(tasks))
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

ChildResult run_child(const std::string &name, const std::vector<std::string> &environment)
{
    return run_child_until(name, "", environment);
}

testing::AssertionResult exited_well(const ChildResult &result)
{
    if (!result.timed_out && WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0)
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << "child " << (result.timed_out ? "did not end in time" : "failed")
                                       << ", status " << result.status << ":\n"
                                       << result.output;
}

testing::AssertionResult aborted(const ChildResult &result, const std::string &saying)
{
    bool died = WIFSIGNALED(result.status) && WTERMSIG(result.status) == SIGABRT;
    if (!result.timed_out && died && result.contains(saying))
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << "expected an abort saying \"" << saying << "\"; status " << result.status
                                       << (result.timed_out ? " (timed out)" : "") << ":\n"
                                       << result.output;
}

void become_child(const std::string &name)
{
    std::vector<std::string> words = command(name);
    execv(words[0].c_str(), pointers(words).data());
    _exit(127);
}

void become_child_without_real_time(const std::string &name)
{
    struct rlimit none = {0, 0};
    REQUIRE(setrlimit(RLIMIT_RTPRIO, &none) == 0);
    /* fails if the process has no right to drop capabilities; then it has none to drop */
    (void)prctl(PR_CAPBSET_DROP, CAP_SYS_NICE);
    become_child(name);
}

RegisterChild::RegisterChild(const char *name, void (*body)())
{
    bodies()[name] = body;
}

void child_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not true: %s\n", file, line, condition);
    fflush(nullptr);
    _exit(1);
}

} // namespace test

int main(int argc, char **argv)
{
    if (argc == 2 && strncmp(argv[1], test::child_option, strlen(test::child_option)) == 0) {
        auto body = test::bodies().find(argv[1] + strlen(test::child_option));
        if (body == test::bodies().end()) {
            fprintf(stderr, "no child is called %s\n", argv[1]);
            return 2;
        }
        body->second();
        return 0;
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
