// SPDX-License-Identifier: MIT OR Apache-2.0
// Work in a process of its own, in bounded time: a server that answers requests, one piece of work, another program.
//
// A forked child can start clean, because its parent has no other threads and has not used the library.  Large data is
// passed through shared memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lab
{

// A process that answers requests one after another; the first request creates the process.
class Child
{
  public:
    // The function that answers a request in the child.  An exception's text becomes the error.
    using Obey = std::function<void(std::string_view request, std::string &answer)>;
    explicit Child(Obey obey) : obey_(std::move(obey))
    {
    }
    ~Child()
    {
        end();
    }
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    // Sends a request and waits for the answer.  If the child fails, dies, or takes longer than `allowed_ns`, ends the
    // child, sets error() and returns false.
    bool ask(std::string_view request, std::string &answer, int64_t allowed_ns);
    void end();
    const std::string &error() const
    {
        return error_;
    }

  private:
    bool fail(std::string why);
    [[noreturn]] void run(int socket);

    const Obey obey_;
    std::string error_;
    pid_t pid_ = -1;
    int socket_ = -1;
};

// A Child whose requests and answers are values of trivially copyable types, sent as bytes.
template <class Request, class Answer> class Server
{
    static_assert(std::is_trivially_copyable_v<Request> && std::is_trivially_copyable_v<Answer>);

  public:
    explicit Server(std::function<Answer(const Request &)> obey)
        : child_([obey = std::move(obey)](std::string_view bytes, std::string &answer) {
              Request request;
              std::memcpy(&request, bytes.data(), sizeof(request));
              const Answer made = obey(request);
              answer.resize(sizeof(made));
              std::memcpy(answer.data(), &made, sizeof(made));
          })
    {
    }
    std::optional<Answer> ask(const Request &request, int64_t allowed_ns)
    {
        std::string bytes;
        if (!child_.ask({reinterpret_cast<const char *>(&request), sizeof(request)}, bytes, allowed_ns))
            return std::nullopt;
        Answer answer;
        std::memcpy(&answer, bytes.data(), sizeof(answer));
        return answer;
    }
    void end()
    {
        child_.end();
    }
    const std::string &error() const
    {
        return child_.error();
    }

  private:
    Child child_;
};

// Runs `work` in a child process, which then ends.  Returns false, and sets `error`, if the child failed or took longer
// than `allowed_ns`.
bool run_in_child(const std::function<void()> &work, int64_t allowed_ns, std::string &error);

// Runs the program whose path is the first of `words`, with the other words as arguments, and stores its standard
// output in `output`.  Ctrl-C does not interrupt the program.
bool run_program(const std::vector<std::string> &words, int64_t allowed_ns, std::string &output, std::string &error);

} // namespace lab
