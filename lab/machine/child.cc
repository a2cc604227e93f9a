// SPDX-License-Identifier: MIT OR Apache-2.0
// The child's main function, and how the parent watches it: by a socket or a pipe that closes when the child ends.
#include "machine/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <fmt/format.h>
#include <system_error>

#include "measure/clock.h"

namespace lab
{
namespace
{

constexpr std::size_t message_max = 4096;
constexpr char done = 'y', failed = 'n'; // the first byte of an answer, before the answer's text or the error

std::string describe(int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return "a real-time thread ran too long without sleeping, so the kernel ended the process";
    if (WIFSIGNALED(status))
        return fmt::format("the process was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return fmt::format("the process ended with status {}", WEXITSTATUS(status));
}

std::string late(int64_t allowed_ns)
{
    return fmt::format("the process did not finish within {:.1f} s and was killed",
                       static_cast<double>(allowed_ns) / 1e9);
}

// Receives a message, or part of a stream.  Returns the number of bytes, 0 at the end of the input or after an error,
// or -1 if the time runs out.
ssize_t receive(int descriptor, int64_t end_ns, char *bytes, std::size_t size)
{
    for (;;) { // ends when input arrives, the child closes its end, or the time runs out
        pollfd readable{descriptor, POLLIN, 0};
        const int64_t left_ms = (end_ns - now_ns()) / 1'000'000;
        const int ready = left_ms < 0 ? 0 : poll(&readable, 1, static_cast<int>(left_ms) + 1);
        if (ready == 0)
            return -1;
        if (ready < 0)
            continue; // interrupted
        const ssize_t got = read(descriptor, bytes, size);
        if (got >= 0 || errno != EINTR)
            return std::max<ssize_t>(got, 0);
    }
}

// Forks, and closes the end of the pair that each process does not use: the parent keeps ends[0], the child ends[1].
pid_t fork_child(const int (&ends)[2])
{
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    close(ends[pid == 0 ? 0 : 1]);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGINT, SIG_IGN); // Ctrl-C signals both processes; the parent decides when to stop
    }
    return pid;
}

int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

[[noreturn]] void execute(const std::vector<std::string> &words, int output)
{
    std::vector<char *> arguments;
    for (const std::string &word : words)
        arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    dup2(output, STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    perror(arguments[0]);
    _exit(127);
}

} // namespace

void Child::run(int socket)
{
    std::array<char, message_max> request;
    ssize_t size = 0;
    while ((size = recv(socket, request.data(), request.size(), 0)) > 0) {
        std::string answer;
        char outcome = done;
        try {
            obey_({request.data(), static_cast<std::size_t>(size)}, answer);
        } catch (const std::exception &exception) {
            outcome = failed;
            answer = exception.what();
        }
        fflush(nullptr);
        answer = (outcome + answer).substr(0, message_max);
        if (send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

bool Child::ask(std::string_view request, std::string &answer, int64_t allowed_ns)
{
    if (!error_.empty())
        return false;
    if (pid_ < 0) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
            throw std::system_error(errno, std::generic_category(), "socketpair");
        pid_ = fork_child(ends);
        if (pid_ == 0)
            run(ends[1]);
        socket_ = ends[0];
    }
    std::array<char, message_max> bytes;
    ssize_t got = 0;
    if (send(socket_, request.data(), request.size(), MSG_NOSIGNAL) >= 0)
        got = receive(socket_, now_ns() + allowed_ns, bytes.data(), bytes.size());
    if (got < 0)
        return fail(late(allowed_ns));
    if (got == 0) {
        const int status = wait_for(pid_);
        pid_ = -1;
        return fail(describe(status));
    }
    answer.assign(bytes.data() + 1, static_cast<std::size_t>(got) - 1);
    return bytes[0] == done || fail(answer.empty() ? "failed" : answer);
}

bool Child::fail(std::string why)
{
    error_ = std::move(why);
    end();
    return false;
}

void Child::end()
{
    if (socket_ >= 0)
        close(socket_);
    socket_ = -1;
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        (void)wait_for(pid_);
    }
    pid_ = -1;
}

bool run_in_child(const std::function<void()> &work, int64_t allowed_ns, std::string &error)
{
    Child child([&work](std::string_view, std::string &) { work(); });
    std::string nothing;
    const bool ok = child.ask("?", nothing, allowed_ns);
    if (!ok)
        error = child.error();
    return ok;
}

bool run_program(const std::vector<std::string> &words, int64_t allowed_ns, std::string &output, std::string &error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    const pid_t pid = fork_child(ends);
    if (pid == 0)
        execute(words, ends[1]);
    const int64_t end_ns = now_ns() + allowed_ns;
    output.clear();
    std::array<char, message_max> bytes;
    ssize_t got = 0;
    while ((got = receive(ends[0], end_ns, bytes.data(), bytes.size())) > 0)
        output.append(bytes.data(), static_cast<std::size_t>(got));
    close(ends[0]);
    if (got < 0)
        kill(pid, SIGKILL);
    const int status = wait_for(pid);
    if (got == 0 && status == 0)
        return true;
    error = got < 0 ? late(allowed_ns) : describe(status);
    return false;
}

} // namespace lab
