// SPDX-License-Identifier: MIT OR Apache-2.0
// A variant's process: its preparation, and the commands that it executes.
#include "latency/child.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "machine/realtime.h"
#include "machine/threads.h"
#include "measure/clock.h"
#include "measure/quantile.h"
#include "probe/companion.h"
#include "probe/trace.h"

namespace lab::latency
{

// The other threads of a round need this long to be ready before the first probe is due.
constexpr int64_t head_start_ns = 3'000'000;
// RLIMIT_RTTIME: the kernel ends the process if a real-time thread has run for this long without sleeping.
constexpr int stuck_ms = 1000;
// RLIMIT_RTTIME if a flood saturates the loop, so that the loop never sleeps.
constexpr int saturated_ms = 30'000;

VariantProcess::VariantProcess(const Variant &variant, const Inputs &inputs, const ChildOptions &options,
                               std::size_t samples, std::size_t milliseconds)
    : variant_(variant), inputs_(inputs), options_(options),
      record_(std::make_unique<VariantRecord>(samples, milliseconds))
{
}

bool VariantProcess::start()
{
    return ask({Command::start, {}}, 20'000'000'000);
}

bool VariantProcess::calibrate()
{
    return ask({Command::calibrate, {}}, 10'000'000'000);
}

bool VariantProcess::round(const LoopParameters &parameters)
{
    return ask({Command::round, parameters}, parameters.warm_up_ns + parameters.measure_ns + 10'000'000'000);
}

// Sends the child a command and waits for the answer.  Ends a child that does not answer in time; the experiment
// continues without the variant.
bool VariantProcess::ask(const Command &command, int64_t allowed_ns)
{
    const bool ok = process_.ask(command, allowed_ns).has_value();
    error = process_.error();
    return ok;
}

// Executes a command; called in the child.
void VariantProcess::obey(const Command &command)
{
    switch (command.kind) {
    case Command::start:
        return set_up();
    case Command::calibrate:
        return run_calibration();
    case Command::round:
        return run_round(command.parameters);
    }
}

static void fault_in_heap()
{
    // Allocate as many objects as a flood queues, of the same size, so that later allocations find mapped memory.
    std::vector<void *> objects(100'000);
    for (void *&object : objects)
        object = std::memset(std::malloc(96), 0, 96);
    for (void *object : objects)
        std::free(object);
}

// Returns the CPUs of the threads other than the loop; variants of Table 1 and of the console use the loop's CPU alone.
std::vector<int> VariantProcess::other_cpus() const
{
    return variant_.one_cpu() ? std::vector<int>{options_.loop_cpu} : options_.other_cpus;
}

PeerSettings VariantProcess::settings() const
{
    const Peer *peer = variant_.policy->peer;
    PeerSettings all = variant_.policy->settings;
    if (peer != &rtrcu_peer && peer != &rtrcu_direct_peer)
        return all;
    if (variant_.one_cpu())
        all.emplace_back("cpus", std::to_string(options_.loop_cpu));
    all.insert(all.end(), options_.settings.begin(), options_.settings.end());
    return all;
}

std::unique_ptr<Workload> VariantProcess::make_workload(const Peer &peer) const
{
    if (variant_.workload == "dcache")
        return make_dcache_workload(peer, inputs_, options_.seed);
    if (variant_.workload == "route")
        return make_route_workload(peer, inputs_, options_.route, options_.seed);
    if (variant_.workload == "both")
        return make_both_workload(peer, inputs_, options_.route, options_.seed);
    return make_flood_workload(peer, inputs_, variant_.policy->push_back);
}

void VariantProcess::set_up()
{
    limit_realtime_ms(variant_.part == Part::console ? saturated_ms : stuck_ms);
    if (variant_.one_cpu())
        pin_to_cpus({options_.loop_cpu});
    // Keep freed memory in the process and grow the heap in large steps, so that brk() and mmap() are not measured.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    const Peer &peer = *variant_.policy->peer;
    std::string why;
    if (!peer.start(settings(), why))
        throw std::runtime_error(why);
    peer.thread_begin(ThreadRole::deadline_loop);
    peer.online();
    workload_ = make_workload(peer);
    const bool flooded = variant_.workload == "flood" || variant_.workload == "console";
    record_->sum().backlog_limit = flooded && variant_.policy->push_back ? peer.backlog_limit() : 0;
    peer.offline();
    fault_in_heap();
    record_->loop.touch();
    record_->thread.touch();
    record_->backlog.touch();
    record_->batches.touch();
    record_->callbacks_a_gp.touch();
    (void)cycles_per_ns();
    const bool explained = options_.late_from_ns > 0 && variant_.part != Part::console;
    if (explained) {
        record_->late.touch();
        record_->wakes.touch();
    }
    loop_ = std::make_unique<DeadlineLoop>(peer, *workload_, *record_, explained ? options_.late_from_ns : 0);
    // From here on this thread is the loop; threads that the back-end created before may run on any CPU.
    pin_to_cpus({options_.loop_cpu});
}

// Measures the time of one undisturbed operation: the median of many short attempts, so that neither a warm cache nor a
// disturbance decides.
void VariantProcess::run_calibration()
{
    constexpr unsigned operations = 200, tries = 301;
    const Peer &peer = *variant_.policy->peer;
    std::vector<uint64_t> each;
    if (variant_.fifo)
        (void)enter_fifo(loop_priority);
    workload_->allow_removals(operations * tries);
    peer.online();
    for (unsigned i = 0; i < tries; i++) {
        int64_t begin = now_ns();
        workload_->serve(operations);
        each.push_back(static_cast<uint64_t>(now_ns() - begin));
    }
    peer.offline();
    if (variant_.fifo)
        enter_other();
    if (peer.between_rounds != nullptr)
        peer.between_rounds();
    uint64_t median = Samples(std::move(each)).quantile_of_few(0.5).value_or(operations);
    record_->sum().work_ns_per_operation = static_cast<double>(median) / operations;
}

// Returns the p99 of the ages of a round's batches, in µs, from the counters before and after the round.
static uint32_t age_p99(const PeerCounters &before, const PeerCounters &after)
{
    uint64_t all = 0, seen = 0;
    for (std::size_t i = 0; i < after.ages.size(); i++)
        all += after.ages[i] - before.ages[i];
    for (std::size_t i = 0; i + 1 < after.ages.size() && all != 0; i++) {
        seen += after.ages[i] - before.ages[i];
        if (static_cast<double>(seen) >= 0.99 * static_cast<double>(all))
            return UINT32_C(2) << i;
    }
    return 0;
}

static void note_invocations(VariantRecord &record, std::size_t first, const PeerCounters &before,
                             const PeerCounters &after)
{
    uint32_t backlog_max = 0;
    for (std::size_t i = first; i < record.backlog.count(); i++)
        backlog_max = std::max(backlog_max, record.backlog[i].backlog);
    const uint32_t p99_us = age_p99(before, after);
    if (p99_us != 0)
        record.invocations.push({backlog_max, p99_us});
}

void VariantProcess::run_round(LoopParameters parameters)
{
    const Peer &peer = *variant_.policy->peer;
    parameters.cpu = options_.loop_cpu;
    parameters.fifo = variant_.fifo;
    const int64_t begin_ns = now_ns() + head_start_ns;
    const int64_t measure_ns = begin_ns + parameters.warm_up_ns;
    const PeerCounters before = peer.counters();
    const std::vector<pid_t> before_companions = threads_but({});
    const std::size_t backlog_before = record_->backlog.count();
    round_trace.begin_round();
    {
        std::optional<KeepAwake> awake;
        if (options_.keep_awake)
            awake.emplace(options_.loop_cpu);
        ThreadProbe control(options_.loop_cpu, variant_.fifo, measure_ns, measure_ns + parameters.measure_ns,
                            options_.thread_period_ns, record_->thread);
        std::optional<LongReader> reader;
        const bool console = variant_.part == Part::console;
        if (peer.single_reader || (console && parameters.operations_an_event != 0))
            workload_->allow_removals(INT64_MAX);
        if (!peer.single_reader)
            reader.emplace(peer, *workload_, variant_.burst, options_.reader_section_ns, console, other_cpus());
        if (!loop_->run(parameters, begin_ns, threads_but(before_companions)))
            throw std::runtime_error(realtime_refusal());
        record_->sum().bursts += reader ? reader->bursts() : 0;
    }
    round_trace.keep(*record_);
    if (peer.between_rounds != nullptr)
        peer.between_rounds();
    const PeerCounters after = peer.counters();
    note_invocations(*record_, backlog_before, before, after);
    Totals &sum = record_->sum();
    sum.grace_periods += after.grace_periods - before.grace_periods;
    sum.deadline_stops += after.deadline_stops - before.deadline_stops;
    sum.budget_stops += after.budget_stops - before.budget_stops;
    sum.over_qmax += after.over_qmax - before.over_qmax;
    sum.limit_raised += after.limit_raised - before.limit_raised;
    sum.direct += after.direct - before.direct;
    sum.direct_refused += after.direct_refused - before.direct_refused;
}

} // namespace lab::latency
