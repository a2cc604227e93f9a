// SPDX-License-Identifier: MIT OR Apache-2.0
// One process a side of a figure: the library is configured afresh in it, and it runs a round when told to.
#pragma once

#include <sys/types.h>

#include <optional>

#include "harness/figure.h"

namespace bench
{

// Which side of which figure, as a word on the command line: "pair/0".
struct SideName {
    const Figure *figure;
    std::size_t side;
    std::string text() const;
};
std::optional<SideName> parse_side(const std::string &text);

// In the child: configure, make the work, then answer until the parent closes the socket.  Returns an exit code.
int serve(const SideName &side, const Parameters &parameters, int socket);
// In this process, for profilers: rounds one after the other, each value on a line.  Returns an exit code.
int run_here(const SideName &side, const Parameters &parameters, unsigned rounds);

class Server
{
  public:
    // `arguments`: what the child's command line says besides its side and socket.
    Server(SideName side, std::vector<std::string> arguments);
    ~Server(); // ends the process
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;

    // One round, started at first use; nothing with error() when the child failed, hung or died.
    std::optional<Measured> round();
    const std::string &error() const
    {
        return error_;
    }

  private:
    bool start();
    void stop();
    std::optional<Measured> fail(std::string why);

    const SideName side_;
    const std::vector<std::string> arguments_;
    std::string error_;
    pid_t pid_ = -1;
    int socket_ = -1;
};

} // namespace bench
