// SPDX-License-Identifier: MIT OR Apache-2.0
// The process of a round with a FIFO updater: its threads, its callbacks, and the limits that bound it.
#include "latency/fifo.h"

#include <malloc.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "machine/child.h"
#include "machine/realtime.h"
#include "machine/shared_value.h"
#include "machine/threads.h"
#include "measure/quantile.h"

namespace lab::latency
{

const char *const fifo_ours = "rtrcu", *const fifo_ordinary = "ordinary", *const fifo_liburcu = "liburcu";

const std::vector<FifoVariant> &fifo_variants()
{
    static const std::vector<FifoVariant> variants = {
        {fifo_ours,
         &rtrcu_peer,
         {},
         "this library in its default configuration: its threads follow the updater to SCHED_FIFO 1"},
        {fifo_ordinary,
         &rtrcu_peer,
         {{"gp_rtprio", "0"}, {"krcud_rtprio", "0"}},
         "this library with gp_rtprio=0 and krcud_rtprio=0: its threads stay at SCHED_OTHER"},
        {fifo_liburcu, &urcu_memb_peer, {}, "liburcu-memb; its call_rcu thread inherits the updater's SCHED_FIFO 5"},
    };
    return variants;
}

namespace
{

// A real-time thread that has not slept for this long is stuck: the kernel then ends the process.
constexpr int stuck_ms = 3'000;
// The longest time that the process waits for the callbacks that are left after the last due time.
constexpr int64_t drain_ns = 3'000'000'000;
// The parent ends the process after the length of the round and this time.
constexpr int64_t spare_ns = 10'000'000'000;

// A thread of the back-end with less CPU time than this had no part in the round, such as a worker for expedited waits.
constexpr int64_t worked_ns = 1'000'000;

struct Object {
    RetiredHead head; // first, so that a callback's argument is the object
    int64_t queued_ns;
    uint64_t payload[4];
};

// State of the callbacks.  It is global, since a callback receives only its head, and the process runs only one round.
std::vector<uint32_t> ages_us;
std::atomic<std::size_t> begun{0};
std::atomic<int64_t> returned{0};

void note_age_and_free(RetiredHead *head)
{
    auto *object = reinterpret_cast<Object *>(head);
    const int64_t age_us = (now_ns() - object->queued_ns) / 1000;
    const std::size_t at = begun.fetch_add(1, std::memory_order_relaxed);
    if (at < ages_us.size())
        ages_us[at] = static_cast<uint32_t>(std::clamp<int64_t>(age_us, 0, UINT32_MAX));
    std::free(object);
    returned.fetch_add(1, std::memory_order_release);
}

void queue_one(const Peer &peer)
{
    auto *object = static_cast<Object *>(std::malloc(sizeof(Object)));
    if (object == nullptr)
        throw std::bad_alloc();
    object->queued_ns = now_ns();
    peer.retire(&object->head, note_age_and_free);
}

void look_at_helpers(const std::vector<pid_t> &others, FifoRound &round)
{
    for (const pid_t thread : threads_but(others)) {
        const int64_t cpu_ns = thread_cpu_ns_of(thread);
        round.helper_cpu_ns += cpu_ns;
        if (cpu_ns < worked_ns)
            continue;
        round.helpers++;
        const int policy = sched_getscheduler(thread) & ~SCHED_RESET_ON_FORK;
        round.helpers_realtime += policy == SCHED_FIFO || policy == SCHED_RR;
    }
}

// Waits up to drain_ns until every callback has returned, so that the ages of the last callbacks count too.
void drain(FifoRound &round)
{
    const auto all = static_cast<int64_t>(round.queued);
    const int64_t give_up_ns = now_ns() + drain_ns;
    while (returned.load(std::memory_order_acquire) < all && now_ns() < give_up_ns)
        pause_ns(1'000'000);
    const int64_t done = returned.load(std::memory_order_acquire);
    round.unfinished = static_cast<uint64_t>(all - done);
    ages_us.resize(std::min(ages_us.size(), static_cast<std::size_t>(done)));
    const Samples ages(std::vector<uint64_t>(ages_us.begin(), ages_us.end()));
    round.age_p99_us = static_cast<uint32_t>(ages.quantile_of_few(0.99).value_or(0));
    round.age_max_us = static_cast<uint32_t>(ages.max().value_or(0));
}

// Runs the updater's round.  The back-end starts here, after the clock.  So its threads inherit scheduling and CPUs
// from the updater, as in a program, and the time to create them is part of the round.
void update(const Peer &peer, const PeerSettings &settings, int64_t length_ns, fifo_flood::BusyThreads &busy,
            FifoRound &round)
{
    const std::vector<pid_t> others = threads_but({});
    std::string why;
    const uint64_t loops_before = busy.loops();
    const int64_t loops_cpu_before = busy.cpu_ns(), process_before = process_cpu_ns(),
                  machine_before = machine_busy_ns();
    const int64_t start_ns = now_ns();
    if (!peer.start(settings, why))
        throw std::runtime_error(why);
    peer.thread_begin(ThreadRole::reader);
    fifo_flood::run(
        start_ns, length_ns, [&] { queue_one(peer); },
        [&](int64_t due_ns, int64_t queued) {
            const int64_t late_ns = now_ns() - due_ns, backlog = queued - returned.load(std::memory_order_relaxed);
            round.late_ns[round.due_times] = static_cast<uint32_t>(std::clamp<int64_t>(late_ns, 0, UINT32_MAX));
            round.backlog[round.due_times] = static_cast<uint32_t>(backlog);
            round.queued = static_cast<uint64_t>(queued);
            round.due_times++;
        });
    round.loops = busy.loops() - loops_before;
    round.wall_ns = now_ns() - start_ns;
    round.loops_cpu_ns = busy.cpu_ns() - loops_cpu_before;
    const int64_t machine_ns = machine_busy_ns() - machine_before, process_ns = process_cpu_ns() - process_before;
    round.others_ns = std::max<int64_t>(machine_ns - process_ns, 0);
    look_at_helpers(others, round);
    drain(round);
    peer.thread_end();
}

// Called in the child.
void run_round(const FifoVariant &variant, const PeerSettings &settings, int64_t length_ns, FifoRound &round)
{
    limit_realtime_ms(stuck_ms);
    // Freed memory stays with the process, so that brk() and mmap() are not measured.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
    ages_us.assign(static_cast<std::size_t>(length_ns / fifo_flood::callback_ns), 0);
    fifo_flood::BusyThreads busy;
    std::string problem;
    std::thread updater([&] {
        try {
            if (!fifo_flood::enter_class_to_inherit())
                throw std::runtime_error("the kernel refuses SCHED_FIFO to this user");
            update(*variant.peer, settings, length_ns, busy, round);
        } catch (const std::exception &exception) {
            problem = exception.what();
        }
    });
    updater.join();
    if (!problem.empty())
        throw std::runtime_error(problem);
}

} // namespace

bool run_fifo_round(const FifoVariant &variant, const PeerSettings &settings, int64_t length_ns, FifoRound &round,
                    std::string &error)
{
    PeerSettings all;
    if (variant.peer == &rtrcu_peer) {
        all = settings;
        all.insert(all.end(), variant.settings.begin(), variant.settings.end());
    }
    const int64_t bounded_ns = std::min(length_ns, fifo_round_ns);
    SharedValue<FifoRound> shared;
    if (!run_in_child([&] { run_round(variant, all, bounded_ns, *shared); }, bounded_ns + spare_ns, error))
        return false;
    round = *shared;
    return true;
}

} // namespace lab::latency
