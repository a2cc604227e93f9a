// SPDX-License-Identifier: MIT OR Apache-2.0
// An ordinary process beside a flood: a console that answers a key every few milliseconds.
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
    uint64_t longest_ns; // also of the answer that was still awaited at the end
    bool cut;            // the longest is that one: it would have taken longer
};

// A process of its own at ordinary priority on the given CPUs, from construction to stop().  The caller has one thread.
class Console
{
  public:
    static constexpr int64_t key_period_ns = 10'000'000;
    static constexpr int64_t answer_cpu_ns = 200'000; // CPU time of an answer

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
        int64_t awaited_since_ns; // 0: no key waits for its answer
    };
    [[noreturn]] void run(const std::vector<int> &cpus);
    void end();

    SharedValue<State> state_;
    SharedArray<uint64_t> responses_;
    pid_t process_ = -1;
};

} // namespace lab
