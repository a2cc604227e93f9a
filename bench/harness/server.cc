// SPDX-License-Identifier: MIT OR Apache-2.0
// Starts a side's process by executing this program again, so that the library under test starts from nothing.
#include "harness/server.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <fmt/format.h>

namespace bench
{

constexpr int round_limit_ms = 120'000; // the longest round takes seconds

// What the child answers to a round.
struct Answer {
    Measured measured;
    char error[200]; // empty: none
};

std::string SideName::text() const
{
    return fmt::format("{}/{}", figure->name, side);
}

std::optional<SideName> parse_side(const std::string &text)
{
    const std::size_t slash = text.find('/');
    for (const Figure &figure : all_figures()) {
        if (text.substr(0, slash) != figure.name)
            continue;
        for (std::size_t side = 0; side < figure.sides.size(); side++)
            if (slash == std::string::npos || SideName{&figure, side}.text() == text)
                return SideName{&figure, side};
    }
    return std::nullopt;
}

static std::unique_ptr<Work> make_work(const SideName &name, const Parameters &parameters, std::string &error)
{
    const Side &side = name.figure->sides[name.side];
    if (!side.peer->configure(side.settings, error))
        return nullptr;
    return side.peer->work[static_cast<int>(name.figure->kind)](parameters);
}

static Answer answer_round(Work *work, const std::string &error)
{
    Answer answer{};
    std::string why = error;
    try {
        if (work != nullptr)
            answer.measured = work->round();
    } catch (const std::exception &exception) {
        why = exception.what();
    }
    fmt::format_to_n(answer.error, sizeof(answer.error) - 1, "{}", why);
    return answer;
}

int serve(const SideName &side, const Parameters &parameters, int socket)
{
    std::string error;
    std::unique_ptr<Work> work = make_work(side, parameters, error);
    char go;
    while (read(socket, &go, 1) == 1) {
        Answer answer = answer_round(work.get(), error);
        if (write(socket, &answer, sizeof(answer)) != sizeof(answer))
            return 1;
    }
    return 0;
}

int run_here(const SideName &side, const Parameters &parameters, unsigned rounds)
{
    std::string error;
    std::unique_ptr<Work> work = make_work(side, parameters, error);
    for (unsigned i = 0; i < rounds; i++) {
        Answer answer = answer_round(work.get(), error);
        if (answer.error[0] != '\0') {
            fmt::print(stderr, "rtrcu-bench: {}: {}\n", side.text(), answer.error);
            return 1;
        }
        fmt::print("{:.4f} {}\n", answer.measured.value, side.figure->unit);
    }
    return 0;
}

Server::Server(SideName side, std::vector<std::string> arguments) : side_(side), arguments_(std::move(arguments))
{
}

Server::~Server()
{
    stop();
}

bool Server::start()
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    std::vector<std::string> words = {"rtrcu-bench", "--serve", side_.text(), "--socket", std::to_string(pair[1])};
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    std::vector<char *> argv;
    for (std::string &word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
        int inherited = dup(pair[1]); // without close-on-exec
        if (inherited >= 0 && dup2(inherited, pair[1]) >= 0)
            execv("/proc/self/exe", argv.data());
        _exit(127);
    }
    close(pair[1]);
    socket_ = pair[0];
    return pid_ > 0;
}

void Server::stop()
{
    if (socket_ >= 0)
        close(socket_); // the child reads end of file and exits
    socket_ = -1;
    if (pid_ <= 0)
        return;
    for (int i = 0; i < 200; i++) {
        if (waitpid(pid_, nullptr, WNOHANG) != 0) {
            pid_ = -1;
            return;
        }
        usleep(10'000);
    }
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

std::optional<Measured> Server::fail(std::string why)
{
    error_ = std::move(why);
    stop();
    return std::nullopt;
}

std::optional<Measured> Server::round()
{
    if (pid_ <= 0 && !start())
        return fail(fmt::format("no process could be made: {}", std::strerror(errno)));
    Answer answer;
    if (write(socket_, "g", 1) != 1)
        return fail("its process has ended");
    for (std::size_t have = 0; have < sizeof(answer);) {
        pollfd ready{socket_, POLLIN, 0};
        if (poll(&ready, 1, round_limit_ms) != 1)
            return fail(fmt::format("a round took longer than {} s", round_limit_ms / 1000));
        ssize_t got = read(socket_, reinterpret_cast<char *>(&answer) + have, sizeof(answer) - have);
        if (got <= 0)
            return fail("its process ended in a round");
        have += static_cast<std::size_t>(got);
    }
    if (answer.error[0] != '\0')
        return fail(answer.error);
    if (side_.figure->fresh)
        stop();
    return answer.measured;
}

} // namespace bench
