// SPDX-License-Identifier: MIT OR Apache-2.0
// An ordinary process beside a flood: a console that answers a key press every few milliseconds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "machine/shared_value.h"
#include "probe/shared_array.h"

namespace lab
{

struct ConsoleResult {
    std::vector<uint64_t> responses_ns;
    uint64_t longest_ns; // longest wait for an answer, including a wait that the end of the round cut off
    bool cut;            // the end of the round cut off the longest wait
};

// A process at ordinary priority on the given CPUs that answers key presses of an imagined user.  It runs from
// construction to stop().  The constructor forks, so the caller's process must have only one thread.
class Console
{
  public:
    static constexpr int64_t key_period_ns = 10'000'000;
    static constexpr int64_t answer_cpu_ns = 200'000; // CPU time that an answer takes

    Console(const std::vector<int> &cpus, int64_t longest_run_ns);
    ~Console();
    Console(const Console &) = delete;
    Console &operator=(const Console &) = delete;
    bool has_answered() const
    {
        return responses_.count() != 0;
    }
    ConsoleResult stop();

  private:
    struct State {
        int64_t awaited_since_ns; // 0: no key press waits for an answer
    };
    [[noreturn]] void run(const std::vector<int> &cpus);
    void end();

    SharedValue<State> state_;
    SharedArray<uint64_t> responses_;
    pid_t process_ = -1;
};

} // namespace lab
