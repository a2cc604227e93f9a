// SPDX-License-Identifier: MIT OR Apache-2.0
// The first section of a thread that became idle, against one of a thread that stays scanned, after the same pause.
#pragma once

#include <atomic>

#include <rtrcu/rcu.h>

#include "harness/work.h"
#include "measure/clock.h"

namespace bench
{

// Measures first sections in microseconds: one quantile for idle threads and one for scanned threads, whose samples
// alternate.
template <int percent> class FirstSection : public Work
{
  public:
    explicit FirstSection(const Parameters &parameters) : parameters_(parameters)
    {
    }
    Measured round() override
    {
        std::vector<uint64_t> asleep, awake;
        on_thread(parameters_.cpu, [&] {
            asked_ = done_ = number_ = 0;
            std::thread reader([this] { read_when_asked(); });
            sample(false);
            for (int i = 0; i < (parameters_.quick ? 101 : 501); i++) {
                if (const std::optional<uint64_t> taken = sample(true))
                    asleep.push_back(*taken);
                awake.push_back(*sample(false));
            }
            ask(stop);
            reader.join();
        });
        return {quantile(std::move(asleep)) / 1000, quantile(std::move(awake)) / 1000};
    }

  private:
    static constexpr int stop = -1;

    static double quantile(std::vector<uint64_t> values)
    {
        return static_cast<double>(lab::Samples(std::move(values)).quantile_of_few(percent / 100.0).value_or(0));
    }
    void ask(int what)
    {
        asked_ = what;
        asked_.notify_one();
    }
    void read_when_asked()
    {
        lab::pin_to_cpus({parameters_.other_cpu});
        for (int seen = 0;;) {
            asked_.wait(seen);
            seen = asked_;
            if (seen == stop)
                return;
            const int64_t start = lab::now_ns();
            rcu_read_lock();
            compiler_fence();
            rcu_read_unlock();
            taken_ = lab::now_ns() - start;
            done_ = seen;
            done_.notify_one();
        }
    }
    // Returns no value if the thread did not become idle.
    std::optional<uint64_t> sample(bool asleep)
    {
        rtrcu_config config;
        rtrcu_config_get(&config);
        config.idle_scans = asleep ? 1 : 0;
        (void)rtrcu_configure(&config);
        struct rtrcu_stats before = {}, after = {};
        before.size = after.size = sizeof(before);
        (void)rtrcu_stats(&before);
        for (int i = 0; i < 4; i++)
            synchronize_rcu();
        (void)rtrcu_stats(&after);
        const int number = ++number_;
        ask(number);
        for (int done = done_; done != number; done = done_)
            done_.wait(done);
        if (asleep && after.threads_slept == before.threads_slept)
            return std::nullopt;
        return static_cast<uint64_t>(taken_);
    }

    const Parameters parameters_;
    std::atomic<int> asked_{0}, done_{0};
    int number_ = 0;
    int64_t taken_ = 0;
};

} // namespace bench
