// SPDX-License-Identifier: MIT OR Apache-2.0
// The child's frame, and the parent's watch over it: a pipe that ends when the child does.
#include "machine/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <system_error>

#include "measure/clock.h"

namespace lab
{
namespace
{

[[noreturn]] void run_and_exit(const std::function<void()> &work, int report)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); // the parent decides when to stop
    int status = 0;
    try {
        work();
    } catch (const std::exception &exception) {
        const char *text = exception.what();
        if (write(report, text, strlen(text)) < 0)
            perror("write");
        status = 1;
    }
    fflush(nullptr);
    _exit(status);
}

std::string describe(int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return "a real-time thread ran too long without sleeping and the process was ended";
    if (WIFSIGNALED(status))
        return fmt::format("the process was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return fmt::format("the process ended with status {}", WEXITSTATUS(status));
}

// What the child reports until it ends; nothing may come.  False when the time is up.
bool read_report(int report, int64_t end_ns, std::string &text)
{
    for (;;) { // ends with the child or the time
        pollfd readable{report, POLLIN, 0};
        const int64_t left_ms = (end_ns - now_ns()) / 1'000'000;
        const int ready = left_ms <= 0 ? 0 : poll(&readable, 1, static_cast<int>(left_ms) + 1);
        if (ready == 0)
            return false;
        if (ready < 0)
            continue; // interrupted
        char part[256];
        const ssize_t size = read(report, part, sizeof(part));
        if (size == 0)
            return true;
        if (size > 0)
            text.append(part, static_cast<std::size_t>(size));
    }
}

[[noreturn]] void execute(const std::vector<std::string> &words, int output)
{
    std::vector<char *> arguments;
    for (const std::string &word : words)
        arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); // the parent decides when to stop
    dup2(output, STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    perror(arguments[0]);
    _exit(127);
}

// Forks; `in_child` gets the writing end of a pipe and does not return.  What it writes becomes `report`.
bool watch(const std::function<void(int)> &in_child, int64_t allowed_ns, std::string &report, std::string &error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    fflush(nullptr);
    const pid_t child = fork();
    if (child < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0) {
        close(ends[0]);
        in_child(ends[1]);
    }
    close(ends[1]);
    const bool ended = read_report(ends[0], now_ns() + allowed_ns, report);
    close(ends[0]);
    if (!ended) {
        kill(child, SIGKILL);
        report.clear();
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!ended)
        error = fmt::format("no end within {:.1f} s; the process was killed", static_cast<double>(allowed_ns) / 1e9);
    else if (status != 0)
        error = describe(status);
    return ended && status == 0;
}

} // namespace

bool run_in_child(const std::function<void()> &work, int64_t allowed_ns, std::string &error)
{
    std::string report;
    const bool done = watch([&](int end) { run_and_exit(work, end); }, allowed_ns, report, error);
    if (!report.empty())
        error = report;
    return done;
}

bool run_program(const std::vector<std::string> &words, int64_t allowed_ns, std::string &output, std::string &error)
{
    return watch([&](int end) { execute(words, end); }, allowed_ns, output, error);
}

} // namespace lab
