// SPDX-License-Identifier: MIT OR Apache-2.0
// One run: fibers beside preemptors and grace periods, in several phases.
#include <rtrcu/rcu.h>

#include <memory>
#include <random>
#include <stdexcept>

#include "blocked/child/carriers.h"
#include "blocked/child/library.h"
#include "blocked/child/parts.h"
#include "blocked/child/preemptors.h"
#include "machine/realtime.h"
#include "measure/clock.h"

namespace lab::blocked
{
namespace
{

// RLIMIT_RTTIME: the kernel ends the process if a real-time thread has run for this long without sleeping.
constexpr int stuck_ms = 1000;
constexpr int64_t warm_up_ns = 15'000'000;
constexpr int64_t settle_ns = 3'000'000; // pause in which promoted tasks leave the leaf's list
// The meter's totals are guarded by one leaf's lock, so all threads must fit in one leaf.
constexpr uint64_t threads_of_a_leaf = 31;

// Waits for a grace period at intervals, and retires the readers' record with it.
class Updater
{
  public:
    Updater(const RunRequest &request, Carriers &carriers) : request_(request), carriers_(carriers)
    {
        thread_ = std::thread([this] { update(); });
    }
    ~Updater()
    {
        stop();
    }
    Updater(const Updater &) = delete;
    Updater &operator=(const Updater &) = delete;

    // Starts or stops grace periods.  With `on` false, returns after the running grace period has ended.
    void switch_on(bool on)
    {
        on_ = on;
        while (!on && busy_)
            pause_ns(100'000);
    }
    // Starts or stops recording latencies of grace periods; they are recorded only while preemptors run.
    void keep_latencies(bool keep)
    {
        keep_ = keep;
    }
    // Ends the updater's thread and moves its results to `result`.
    void take_into(RunResult &result)
    {
        stop();
        result.gp_latency_ns = std::move(latency_ns_);
        result.wake_lateness_ns = std::move(lateness_ns_);
    }

  private:
    void stop()
    {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
    }
    void update()
    {
        std::mt19937_64 random(request_.seed + 77);
        std::uniform_real_distribution<double> about(0.5, 1.5);
        while (!stop_) {
            const int64_t due =
                now_ns() + static_cast<int64_t>(about(random) * static_cast<double>(request_.gp_pause_ns));
            const timespec when = to_timespec(due);
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
            const int64_t woken = now_ns();
            busy_ = true;
            if (on_) {
                if (keep_)
                    lateness_ns_.push_back(static_cast<uint64_t>(woken - due));
                if (request_.lists != Lists::none)
                    replace();
            }
            busy_ = false;
        }
    }
    void replace()
    {
        Record *old = carriers_.replace(++generation_);
        const int64_t begin = now_ns();
        synchronize_rcu();
        if (keep_)
            latency_ns_.push_back(static_cast<uint64_t>(now_ns() - begin));
        old->poison();
        delete old;
    }

    const RunRequest &request_;
    Carriers &carriers_;
    std::atomic<bool> stop_{false}, on_{false}, busy_{false}, keep_{true};
    uint64_t generation_ = 0;
    std::vector<uint64_t> latency_ns_, lateness_ns_;
    std::thread thread_;
};

enum Part { throughput, metered, without_gp, undisturbed, parts };

struct Run {
    meter_totals totals[parts] = {}; // declared first, since the totals must outlive all threads that count into them
    Carriers carriers;
    Preemptors preemptors;
    Updater updater;

    explicit Run(const RunRequest &request) : carriers(request), preemptors(request), updater(request, carriers)
    {
    }
    Phase measure(Part part, int64_t duration_ns)
    {
        Phase phase;
        meter_switch(part == throughput ? nullptr : &totals[part]);
        const int64_t begin = now_ns();
        const uint64_t iterations = carriers.iterations();
        const double cpu_s = preemptors.cpu_s();
        pause_ns(duration_ns);
        phase.iterations = carriers.iterations() - iterations;
        phase.seconds = static_cast<double>(now_ns() - begin) / 1e9;
        phase.preemptor_cpu_s = preemptors.cpu_s() - cpu_s;
        meter_switch(nullptr);
        return phase;
    }
    void measure_phases(const RunRequest &request, RunResult &result)
    {
        preemptors.switch_on(true);
        updater.switch_on(true);
        pause_ns(warm_up_ns);
        result.throughput = measure(throughput, request.throughput_ns);
        result.metered = measure(metered, request.metered_ns);
        updater.switch_on(false);
        pause_ns(settle_ns);
        result.without_gp = measure(without_gp, request.without_gp_ns);
        preemptors.switch_on(false);
        updater.keep_latencies(false);
        updater.switch_on(true);
        pause_ns(settle_ns);
        result.undisturbed = measure(undisturbed, request.undisturbed_ns);
    }
};

void take_totals(const meter_totals &totals, Phase &phase)
{
    phase.readers = to_use(totals.readers);
    phase.others = to_use(totals.others);
    phase.promotions = totals.promotions;
    phase.promotion_ns = cycles_to_ns(totals.promotion_cycles);
}

} // namespace

RunResult run(const RunRequest &request)
{
    limit_realtime_ms(stuck_ms);
    prepare_library(request.lists);
    synchronize_rcu(); // the first use of the library, which creates its threads
    RunResult result;
    auto run = std::make_unique<Run>(request);
    if (!enter_fifo(preemptor_priority + 1)) // above the preemptors' priority, so that the phases end in time
        throw std::runtime_error(realtime_refusal());
    run->measure_phases(request, result);
    run->updater.take_into(result);
    run->carriers.stop(); // after this, no thread counts into the totals
    result.errors = run->carriers.errors();
    take_totals(run->totals[metered], result.metered);
    take_totals(run->totals[without_gp], result.without_gp);
    take_totals(run->totals[undisturbed], result.undisturbed);
    struct rtrcu_stats stats {
    };
    stats.size = sizeof(stats);
    (void)rtrcu_stats(&stats);
    if (stats.threads_peak > threads_of_a_leaf)
        throw std::runtime_error("more threads are registered than fit in one leaf: choose fewer carriers");
    return result;
}

} // namespace lab::blocked
