// SPDX-License-Identifier: MIT OR Apache-2.0
// The watchdog of a scenario's process: if an actor makes no progress for too long, the run fails instead of
// hanging.
#pragma once

#include <array>
#include <atomic>
#include <thread>

#include "torture/context.h"

namespace lab::torture
{

// The interval of the checks.  If two checks are more than watch_gap_ns apart, the whole process counts as stopped.
constexpr int64_t watch_step_ns = 50'000'000, watch_gap_ns = 300'000'000;

class Watchdog
{
  public:
    explicit Watchdog(Context &context);
    ~Watchdog();
    // Called when the actors must end.  From then on the watchdog also limits the time until all actors have ended.
    void expect_end();
    void stop();

  private:
    struct Seen {
        uint64_t beats;
        uint32_t doing;
        int64_t since_ns;
    };
    void watch();
    void publish();
    void forgive(int64_t ns);
    const ActorRecord *find_hung(int64_t now);
    [[noreturn]] void give_up(const char *who, const char *what, int64_t ns);

    Context &context_;
    std::array<Seen, actors_max> seen_{};
    std::atomic<int64_t> end_since_ns_{0};
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

} // namespace lab::torture
