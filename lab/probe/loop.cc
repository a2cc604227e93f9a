// SPDX-License-Identifier: MIT OR Apache-2.0
// The iterations of the event loop.
#include "probe/loop.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "measure/clock.h"
#include "machine/realtime.h"
#include "machine/threads.h"
#include "probe/trace.h"

namespace lab
{

// The largest number of waiting arrivals.  Further arrivals are dropped and counted, as by a full receive queue.
constexpr uint64_t pending_limit = 16;

static int make_timer(int epoll)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = timer;
    if (timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) != 0)
        throw std::system_error(errno, std::generic_category(), "timerfd and epoll");
    return timer;
}

static uint64_t expirations(int timer)
{
    uint64_t count = 0;
    return read(timer, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

DeadlineLoop::DeadlineLoop(const Peer &peer, Workload &workload, VariantRecord &record, int64_t late_from_ns)
    : peer_(peer), workload_(workload), record_(record),
      witness_(late_from_ns > 0 ? std::make_unique<LateWitness>(late_from_ns, record) : nullptr),
      epoll_(epoll_create1(EPOLL_CLOEXEC)), probe_timer_(make_timer(epoll_)), work_timer_(make_timer(epoll_))
{
}

DeadlineLoop::~DeadlineLoop()
{
    close(probe_timer_);
    close(work_timer_);
    close(epoll_);
}

void DeadlineLoop::arm(int timer, int64_t first_ns, int64_t period_ns)
{
    itimerspec when{to_timespec(period_ns), to_timespec(first_ns)};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, nullptr);
}

DeadlineLoop::Mark DeadlineLoop::mark() const
{
    int64_t helpers_ns = 0;
    for (const pid_t helper : helpers_)
        helpers_ns += thread_cpu_ns_of(helper);
    return {now_ns(),
            thread_cpu_ns(),
            process_cpu_ns(),
            helpers_ns,
            operations_,
            callback_meter.invoked(),
            callback_meter.invoked_on_loop(),
            workload_.dropped(),
            witness_ ? witness_->readings() : 0,
            witness_ ? witness_->readings_ns() : 0};
}

void DeadlineLoop::find_helpers()
{
    helpers_ = threads_but(companions_);
    helpers_.erase(std::remove(helpers_.begin(), helpers_.end(), gettid()), helpers_.end());
}

void DeadlineLoop::add_round(const Mark &begin)
{
    find_helpers(); // finds threads that were created since the round began, too
    const Mark end = mark();
    auto since = [](int64_t now, int64_t before) { return static_cast<uint64_t>(now - before); };
    RoundSample round{end.operations - begin.operations,
                      end.callbacks - begin.callbacks,
                      since(end.wall_ns, begin.wall_ns),
                      since(end.loop_cpu_ns, begin.loop_cpu_ns),
                      since(end.helper_cpu_ns, begin.helper_cpu_ns),
                      record_.loop.count(),
                      backlog_max_,
                      workload_.queued() - end.callbacks};
    record_.rounds.push(round);
    Totals &sum = record_.sum();
    sum.rounds++;
    sum.wall_ns += round.wall_ns;
    sum.loop_cpu_ns += round.loop_cpu_ns;
    sum.helper_cpu_ns += round.helper_cpu_ns;
    sum.process_cpu_ns += since(end.process_cpu_ns, begin.process_cpu_ns);
    sum.operations += round.operations;
    sum.callbacks += round.callbacks;
    sum.callbacks_on_loop += end.callbacks_on_loop - begin.callbacks_on_loop;
    sum.dropped += end.dropped - begin.dropped;
    sum.witness_readings += end.witness_readings - begin.witness_readings;
    sum.witness_ns += end.witness_ns - begin.witness_ns;
    sum.callback_ns = callback_meter.callback_ns();
    sum.backlog_end = round.backlog_end;
}

bool DeadlineLoop::run(const LoopParameters &parameters, int64_t begin_ns, const std::vector<pid_t> &companions)
{
    companions_ = companions;
    find_helpers();
    if (parameters.fifo && !enter_fifo(loop_priority))
        return false;
    record_.sum().fifo = parameters.fifo;
    callback_meter.attach_loop();
    if (witness_)
        callback_meter.watch_cpu(parameters.cpu);
    take_turns(parameters, begin_ns);
    callback_meter.detach_loop();
    if (parameters.fifo)
        enter_other();
    return true;
}

void DeadlineLoop::take_turns(const LoopParameters &parameters, int64_t begin_ns)
{
    next_due_ns_ = begin_ns;
    measure_from_ns_ = begin_ns + parameters.warm_up_ns;
    backlog_due_ns_ = measure_from_ns_;
    backlog_max_ = 0;
    pending_events_ = 0;
    last_late_ = {};
    if (witness_)
        witness_->round_begins();
    const int64_t end_ns = measure_from_ns_ + parameters.measure_ns;
    timers_ = {parameters.probe_period_ns, begin_ns + parameters.work_period_ns / 3, parameters.work_period_ns};
    arm(probe_timer_, begin_ns, parameters.probe_period_ns);
    arm(work_timer_, timers_.work_first_ns, parameters.work_period_ns);

    bool measuring = false;
    Mark begin{};
    while (next_due_ns_ < end_ns) {
        epoll_event events[2];
        int count = epoll_wait(epoll_, events, 2, pending_events_ != 0 ? 0 : -1);
        peer_.online();
        bool probe = false, work = false;
        for (int i = 0; i < count; i++)
            (events[i].data.fd == probe_timer_ ? probe : work) = true;
        if (probe)
            serve_probe(parameters.probe_period_ns);
        if (witness_)
            witness_->turn_begins(now_ns());
        if (!measuring && next_due_ns_ >= measure_from_ns_) {
            measuring = true;
            begin = mark();
        }
        serve_work(parameters, work);
        run_callbacks();
        if (pending_events_ == 0)
            peer_.offline();
        if (witness_)
            witness_->turn_ends(next_due_ns_, pending_events_ == 0);
    }
    peer_.offline();
    if (measuring)
        add_round(begin);
    arm(probe_timer_, 0, 0);
    arm(work_timer_, 0, 0);
}

// Records a sample for every due time that has passed.  A loop that was delayed for ten periods records ten late
// samples.
void DeadlineLoop::serve_probe(int64_t period_ns)
{
    const int64_t now = now_ns();
    (void)expirations(probe_timer_);
    for (; next_due_ns_ <= now; next_due_ns_ += period_ns) {
        if (next_due_ns_ < measure_from_ns_)
            continue;
        record_due(now, next_due_ns_);
        // Callbacks are counted only in the sample of the first due time that they delayed.
        last_late_.late_callbacks = 0;
    }
    last_late_ = {};
    if (now >= backlog_due_ns_)
        note_backlog();
}

void DeadlineLoop::record_due(int64_t now, int64_t due_ns)
{
    ProbeSample sample{to_u32(now - due_ns), 0, 0, 0, 0};
    const BatchRecord &batch = last_late_;
    if (batch.late_ns != 0 && batch.end_ns > due_ns) {
        int64_t overrun = batch.end_ns - std::max(due_ns, batch.begin_ns);
        sample.overrun_ns = to_u32(overrun);
        sample.overrun_cpu_ns = to_u32(std::min(overrun, batch.late_cpu_ns));
        sample.overrun_callbacks = to_u32(static_cast<int64_t>(batch.late_callbacks));
        // `own_ns` is the callbacks' share of the delay since the first due time that the batch delayed.  Each later
        // due time gets the part of it that corresponds to its shorter delay.
        const double part = static_cast<double>(overrun) / static_cast<double>(batch.late_ns);
        sample.share_ns = to_u32(static_cast<int64_t>(static_cast<double>(batch.own_ns) * std::min(part, 1.0)));
    }
    record_.loop.push(sample);
    round_trace.deadline(due_ns, now);
    if (witness_)
        witness_->sample(sample, due_ns, now, timers_);
}

void DeadlineLoop::serve_work(const LoopParameters &parameters, bool arrived)
{
    if (arrived)
        pending_events_ += expirations(work_timer_) * parameters.events_an_arrival;
    if (pending_events_ > pending_limit) {
        if (next_due_ns_ >= measure_from_ns_)
            record_.sum().work_events_lost += pending_events_ - pending_limit;
        pending_events_ = pending_limit;
    }
    if (pending_events_ == 0)
        return;
    pending_events_--;
    const int64_t begin_ns = witness_ ? now_ns() : 0;
    workload_.serve(parameters.operations_an_event);
    if (witness_)
        witness_->worked(begin_ns, now_ns());
    operations_ += parameters.operations_an_event;
}

void DeadlineLoop::run_callbacks()
{
    // The meter reads the CPU clock, which costs a system call, only for back-ends that may run callbacks in turn().
    callback_meter.begin_call(next_due_ns_, peer_.runs_callbacks_in_turn, timers_);
    peer_.turn(next_due_ns_);
    BatchRecord batch = callback_meter.end_call(next_due_ns_);
    if (witness_)
        witness_->called(batch.begin_ns, batch.end_ns);
    if (batch.callbacks != 0)
        round_trace.batch(batch);
    if (batch.callbacks != 0 && next_due_ns_ >= measure_from_ns_)
        record_.batches.push(to_u32(static_cast<int64_t>(batch.callbacks)));
    if (batch.late_callbacks != 0 && batch.late_ns > last_late_.late_ns)
        last_late_ = batch;
    if (peer_.grace_period_number == nullptr)
        return;
    // All callbacks queued while this number stays the same become ready by one grace period.
    uint64_t number = peer_.grace_period_number();
    if (number != grace_period_) {
        grace_period_ = number;
        round_trace.grace_period(now_ns());
        uint64_t queued = workload_.queued();
        if (queued != queued_at_grace_period_ && next_due_ns_ >= measure_from_ns_)
            record_.callbacks_a_gp.push(to_u32(static_cast<int64_t>(queued - queued_at_grace_period_)));
        queued_at_grace_period_ = queued;
    }
}

void DeadlineLoop::note_backlog()
{
    uint64_t backlog = workload_.queued() - callback_meter.invoked();
    Totals &sum = record_.sum();
    backlog_max_ = std::max(backlog_max_, backlog);
    sum.backlog_max = std::max(sum.backlog_max, backlog);
    auto at = static_cast<int64_t>(sum.wall_ns) + backlog_due_ns_ - measure_from_ns_;
    record_.backlog.push({to_u32(at / 1'000'000), to_u32(static_cast<int64_t>(backlog))});
    backlog_due_ns_ += 1'000'000;
}

} // namespace lab
