// SPDX-License-Identifier: MIT OR Apache-2.0
// Work in a process of its own, in bounded time: a server that obeys requests, one piece of work, another program.
//
// A forked child begins afresh, since its parent has no other threads and has not used the library.  What is large goes
// through memory that both share.
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

// A process that obeys one request after the other.  It is made by the first.
class Child
{
  public:
    // In the child; what it throws becomes the error.
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

    // False with error() when the child failed, died, or took longer than `allowed_ns`; then it is ended.
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

// The same with types that are copied as bytes.
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

// One piece of work in a child that ends with it.
bool run_in_child(const std::function<void()> &work, int64_t allowed_ns, std::string &error);

// Runs a program, its path first, with what it writes on standard output as `output`.  Ctrl-C does not reach it.
bool run_program(const std::vector<std::string> &words, int64_t allowed_ns, std::string &output, std::string &error);

} // namespace lab
