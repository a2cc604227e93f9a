// SPDX-License-Identifier: MIT OR Apache-2.0
// The critical caller, the function that it calls, and how an experiment ends in bounded time.
#include "expedited/child.h"

#include <rtrcu/rcu.h>
#include <semaphore.h>

#include <fmt/format.h>
#include <memory>
#include <random>
#include <stdexcept>

#include "expedited/outside.h"
#include "machine/child.h"
#include "machine/realtime.h"
#include "measure/clock.h"

namespace lab::expedited
{
namespace
{

// RLIMIT_RTTIME: the kernel ends the process if a real-time thread has run for this long without sleeping.
constexpr int stuck_ms = 1000;

// A thread of the caller's priority that answers each post: the partner in a round trip.
class Echo
{
  public:
    Echo()
    {
        sem_init(&asked_, 0, 0);
        sem_init(&answered_, 0, 0);
        thread_ = std::thread([this] {
            (void)enter_fifo(caller_priority);
            for (;;) { // ends with the destructor's post
                wait(asked_);
                if (stop_.load())
                    return;
                sem_post(&answered_);
            }
        });
    }
    ~Echo()
    {
        stop_ = true;
        sem_post(&asked_);
        thread_.join();
        sem_destroy(&asked_);
        sem_destroy(&answered_);
    }
    Echo(const Echo &) = delete;
    Echo &operator=(const Echo &) = delete;

    void round_trip()
    {
        sem_post(&asked_);
        wait(answered_);
    }

  private:
    static void wait(sem_t &semaphore)
    {
        while (sem_wait(&semaphore) != 0)
            ;
    }
    sem_t asked_, answered_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

class Caller
{
  public:
    Caller(const Variant &variant, const ExperimentOptions &options, ExperimentRecord &record)
        : variant_(variant), options_(options), record_(record)
    {
        if (variant.call == Call::round_trip)
            echo_ = std::make_unique<Echo>();
    }
    // Makes calls until the measured time ends or stop() is called; runs on the caller's thread.
    void run(Load &load)
    {
        const bool fifo = enter_fifo(caller_priority);
        if (!fifo)
            throw std::runtime_error(realtime_refusal());
        std::minstd_rand random(static_cast<unsigned>(options_.seed + 1));
        std::uniform_int_distribution<int64_t> pause(pause_between_ns / 2, pause_between_ns * 3 / 2);
        const int64_t end = now_ns() + options_.duration_ns;
        int64_t due = now_ns();
        end_ = end;
        while (now_ns() < end && !stop_) {
            if (variant_.call == Call::request) {
                due += pause_between_ns;
                const timespec when = to_timespec(due);
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
                (void)start_poll_synchronize_rcu_expedited();
                record_.outcomes->requests++;
                continue;
            }
            pause_ns(pause(random));
            if (now_ns() < end && !stop_)
                measure(load);
        }
    }
    // Returns true some milliseconds after the measured time has run out; by then a call that still runs is cut off.
    bool is_late() const
    {
        return end_ != 0 && now_ns() > end_ + 2 * pause_between_ns;
    }
    // Lets the caller end after its present call.  Called by the thread that watches the time, before it stops the
    // readers.
    void stop()
    {
        stop_ = true;
    }
    // Makes the library create its threads; called by an ordinary thread before there is load.  The worker runs an
    // expedited grace period that was only requested, so it exists once that grace period has ended.
    void prepare()
    {
        call_once();
        if (variant_.call != Call::expedited && variant_.call != Call::request)
            return;
        const unsigned long cookie = start_poll_synchronize_rcu_expedited();
        while (!poll_state_synchronize_rcu_expedited(cookie))
            pause_ns(pause_between_ns);
    }

  private:
    void call_once()
    {
        switch (variant_.call) {
        case Call::expedited:
        case Call::request:
            synchronize_rcu_expedited();
            break;
        case Call::liburcu:
            liburcu_synchronize();
            break;
        case Call::round_trip:
            echo_->round_trip();
            break;
        }
    }
    // Replaces the readers' record, waits for a grace period, and overwrites the old record.
    void measure(Load &load)
    {
        Settings *old = load.replace(++generation_);
        const int64_t begin = now_ns();
        call_once();
        const int64_t took = now_ns() - begin;
        record_.latency_ns.push(static_cast<uint64_t>(took));
        record_.outcomes->unfinished += stop_; // a call was running when the readers were stopped
        if (variant_.call == Call::round_trip)
            return load.keep(old);
        old->poison();
        delete old;
    }

    const Variant &variant_;
    const ExperimentOptions &options_;
    ExperimentRecord &record_;
    std::unique_ptr<Echo> echo_;
    std::atomic<bool> stop_{false};
    std::atomic<int64_t> end_{0};
    uint64_t generation_ = 0;
};

struct rtrcu_stats library_stats()
{
    struct rtrcu_stats stats {
    };
    stats.size = sizeof(stats);
    (void)rtrcu_stats(&stats);
    return stats;
}

void configure(const Variant &variant, const ExperimentOptions &options)
{
    const Peer &peer = variant.call == Call::liburcu ? urcu_memb_peer : rtrcu_peer;
    PeerSettings settings;
    if (&peer == &rtrcu_peer) {
        settings = {{"exp_worker", name_of(variant.worker)},
                    {"normal", variant.normal ? "1" : "0"},
                    {"boost", variant.boost ? "1" : "0"}};
        settings.insert(settings.end(), options.settings.begin(), options.settings.end());
    }
    std::string error;
    if (!peer.start(settings, error))
        throw std::runtime_error(error);
}

void run_in_this_process(const Variant &variant, const ExperimentOptions &options, ExperimentRecord &record)
{
    limit_realtime_ms(stuck_ms);
    configure(variant, options);
    const Peer &peer = variant.call == Call::liburcu ? urcu_memb_peer : rtrcu_peer;
    Caller caller(variant, options, record);
    caller.prepare();
    Load load(peer, options.cpus, variant.hogs_a_cpu, variant.readers, variant.shape);
    const struct rtrcu_stats before = library_stats();
    const uint64_t sections = load.sections();
    const int64_t begin = now_ns();
    std::exception_ptr failure;
    std::atomic<bool> done{false};
    std::thread thread([&] {
        try {
            caller.run(load);
        } catch (...) {
            failure = std::current_exception();
        }
        done = true;
    });
    while (!done && !caller.is_late())
        pause_ns(pause_between_ns * 2);
    Outcomes &outcomes = *record.outcomes;
    outcomes.wall_ns = now_ns() - begin;
    outcomes.sections = load.sections() - sections;
    const struct rtrcu_stats after = library_stats();
    caller.stop();
    load.stop(); // a call that still waits returns once the readers have exited
    thread.join();
    if (failure)
        std::rethrow_exception(failure);
    outcomes.errors = load.errors();
    outcomes.expedited = after.exp_completed - before.exp_completed;
    outcomes.by_caller = after.exp_by_caller - before.exp_by_caller;
    outcomes.boosts = after.boosts - before.boosts;
    outcomes.boost_ns_max = after.boost_ns_max;
    outcomes.boost_refused = after.boost_refused - before.boost_refused;
    outcomes.rt_refused = after.rt_refused;
}

} // namespace

const char *name_of(Worker worker)
{
    switch (worker) {
    case Worker::workqueue:
        return "workqueue";
    case Worker::kthread_only:
        return "kthread-only";
    case Worker::kthread:
        return "kthread";
    }
    return "?";
}

std::string Variant::label() const
{
    const std::string readers_text = fmt::format("{} readers", readers);
    switch (call) {
    case Call::expedited:
        return fmt::format("{}{}, {}{}", normal ? "normal=1" : name_of(worker), boost ? ", boost" : "", readers_text,
                           outside ? ", loaded" : "");
    case Call::liburcu:
        return "liburcu-memb, " + readers_text;
    case Call::round_trip:
        return outside ? "floor, loaded" : "floor";
    case Call::request:
        return fmt::format("requests{}, {}", boost ? ", boost" : "", readers_text);
    }
    return "?";
}

bool run_experiment(const Variant &variant, const ExperimentOptions &options, ExperimentRecord &record,
                    std::string &error)
{
    constexpr int64_t to_start_and_end_ns = 20'000'000'000;
    const std::unique_ptr<OutsideLoad> outside =
        variant.outside ? std::make_unique<OutsideLoad>(static_cast<unsigned>(options.cpus.size())) : nullptr;
    return run_in_child([&] { run_in_this_process(variant, options, record); },
                        options.duration_ns + to_start_and_end_ns, error);
}

} // namespace lab::expedited
