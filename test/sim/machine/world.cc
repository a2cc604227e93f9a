// SPDX-License-Identifier: MIT OR Apache-2.0
// Schedules: threads as fibers, the possible next events, and the end of a schedule.
#include "machine/world.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/core.h>

namespace sim
{

namespace
{

using boost::context::fiber;

constexpr size_t kStack = 128 * 1024;
constexpr size_t kHeap = 4096 * 1024;
constexpr int kExitRounds = 4;

World *the_world = nullptr;

// The stacks belong to the world: an abandoned fiber is never unwound, and its stack is reused.
struct KeepStack {
    void deallocate(boost::context::stack_context &)
    {
    }
};

struct FailedOutside {
};

} // namespace

World *world()
{
    return the_world;
}

World::World(const Options &options)
    : options_(options), stacks_(kMaxThreads * kStack), blocks_((kMaxThreads + 1) * kThreadBlock), heap_(kHeap)
{
    outside_.id = kNoThread;
    outside_.number = 1;
    outside_.name = "outside";
    current_ = &outside_;
    the_world = this;
}

Outcome World::run(const Scenario &scenario, Strategy &strategy)
{
    main_stack_top_ = static_cast<const unsigned char *>(__builtin_frame_address(0));
    begin_schedule(scenario, strategy);
    scenario.setup();
    mode_ = Mode::kExplore;
    start_threads();
    if (Thread *first = next())
        switch_to(first);
    current_ = &outside_;
    if (!outcome_.failed && !outcome_.cut)
        finish_schedule(scenario);
    mode_ = Mode::kOutside;
    memory_.rollback();
    return std::move(outcome_);
}

void World::begin_schedule(const Scenario &scenario, Strategy &strategy)
{
    scenario_ = &scenario;
    strategy_ = &strategy;
    outcome_ = Outcome{};
    threads_.clear();
    events_.clear();
    allocations_.clear();
    pages_.clear();
    events_made_.clear();
    numbers_.clear();
    quiet_ = 0; // a failed invariant in an earlier run may have left it above 0
    heap_used_ = 0;
    now_ = 1000000000;
    allow_timeouts(true, 0);
    may_fail(0, 0);
    membarrier_refused_ = visit_refused_ = over_ = false;
    outside_ = Thread{};
    outside_.id = kNoThread;
    outside_.name = "outside";
    current_ = &outside_;
    overlay_.memory.clear();
    sim_thread_block_init(thread_block());
    strategy.begin();
    mode_ = Mode::kSetup;
}

int World::add_thread(const char *name, void *(*body)(void *), void *argument, bool daemon)
{
    int id = static_cast<int>(threads_.size());
    if (id == kMaxThreads) {
        fmt::print(stderr, "explorer: a scenario has at most {} threads, daemons included\n", kMaxThreads);
        abort();
    }
    Thread &thread = threads_.emplace_back();
    thread.id = id;
    thread.number = static_cast<uint32_t>(id + 1);
    thread.name = name;
    thread.daemon = daemon;
    thread.body = body;
    thread.argument = argument;
    if (mode_ == Mode::kExplore) {
        drain_all(*current_);
        thread.clock = current_->clock;
        current_->clock.at[current_->id]++;
    }
    thread.clock.at[id] = 1;
    sim_thread_block_init(blocks_.data() + (static_cast<size_t>(id) + 1) * kThreadBlock);
    unsigned char *stack = stacks_.data() + static_cast<size_t>(id) * kStack;
    boost::context::stack_context context;
    context.sp = stack + kStack;
    context.size = kStack;
    new (thread.fiber) fiber(std::allocator_arg, boost::context::preallocated(context.sp, context.size, context),
                             KeepStack{}, [this, &thread](fiber &&previous) {
                                 new (leaving_) fiber(std::move(previous));
                                 body_of(thread);
                                 return fiber{};
                             });
    return id;
}

void World::as_thread(int id, void (*f)())
{
    current_ = &threads_[static_cast<size_t>(id)];
    f();
    current_ = &outside_;
}

// Start the threads.  The setup happens before the first step of each.
void World::start_threads()
{
    Clock all = outside_.clock;
    for (Thread &thread : threads_) {
        thread.clock.at[thread.id]++;
        all.join(thread.clock);
    }
    for (Thread &thread : threads_) {
        thread.clock = thread.released = all;
        thread.clock.at[thread.id]++;
    }
}

void World::finish_schedule(const Scenario &scenario)
{
    mode_ = Mode::kFinish;
    if (!scenario.finish)
        return;
    try {
        scenario.finish();
    } catch (const FailedOutside &) {
    }
}

void World::fail(const std::string &message)
{
    outcome_.failed = true;
    outcome_.failure = current_ == &outside_ ? message : fmt::format("{}: {}", current_->name, message);
    if (options_.trace)
        fmt::print("FAILED {}\n", outcome_.failure);
    if (mode_ == Mode::kExplore)
        leave_schedule();
    if (mode_ == Mode::kSetup) {
        fmt::print(stderr, "explorer: setup of {}: {}\n", scenario_->name, message);
        abort();
    }
    throw FailedOutside{};
}

void World::expect(bool condition, const char *text)
{
    if (!condition)
        fail(fmt::format("expected: {}", text));
}

void World::print(const char *format, va_list arguments)
{
    char text[512];
    vsnprintf(text, sizeof(text), format, arguments);
    if (options_.trace)
        fmt::print("       library says: {}", text);
}

// ---- fibers ----

// Switch to a thread, or to the main context (null).
void World::switch_to(Thread *to)
{
    leaving_ = current_ == &outside_ ? main_fiber_ : current_->fiber;
    unsigned char *entering = to ? to->fiber : main_fiber_;
    current_ = to ? to : &outside_;
    fiber previous = std::move(*std::launder(reinterpret_cast<fiber *>(entering))).resume();
    new (leaving_) fiber(std::move(previous));
}

void World::leave_schedule()
{
    over_ = true;
    switch_to(nullptr);
    abort(); // no thread may return to a schedule that is over
}

void World::body_of(Thread &thread)
{
    thread.body(thread.argument);
    exit_thread(thread);
    Thread *following = next();
    switch_to(following);
    abort();
}

// End @thread as the C library does: run its exit hooks, again if one of them armed itself again; after the last hook
// no handler runs.  Then free the thread's memory, so any access to it is an error.
void World::exit_thread(Thread &thread)
{
    for (int round = 0; thread.exit_value && exit_hook_ && round < kExitRounds; round++) {
        thread.exit_value = nullptr;
        exit_hook_(thread_block());
    }
    thread.signals_blocked = true;
    point("exit", thread.name.c_str());
    drain_all(thread);
    memory_.set_freed(reinterpret_cast<uintptr_t>(thread_block()), kThreadBlock, true);
    thread.waits = Waits::kFinished;
    trace("has ended", "", 0);
}

// The calling thread becomes the only thread of a fork's child.  Buffered stores of the other threads are in the child,
// so their buffers drain first; later stores are not.
void World::end_others()
{
    Thread &self = *current_;
    settle();
    drain_all(self);
    for (Thread &thread : threads_) {
        if (&thread == &self)
            continue;
        drain_all(thread);
        self.clock.join(thread.clock);
        thread.waits = Waits::kFinished;
        thread.signal = nullptr;
        thread.gone = true;
    }
    trace("is alone in a fork's child", "", 0);
}

void *World::thread_block()
{
    size_t slot = current_ == &outside_ ? 0 : static_cast<size_t>(current_->id) + 1;
    return blocks_.data() + slot * kThreadBlock;
}

// Returns whether @address is in the stack or the block of a thread that this fork's child does not have.  In a real
// process later threads of the child could reuse that memory.
bool World::is_of_gone_thread(uintptr_t address) const
{
    size_t in_stacks = address - reinterpret_cast<uintptr_t>(stacks_.data());
    size_t in_blocks =
        address - reinterpret_cast<uintptr_t>(blocks_.data()) - kThreadBlock; // the first block is outside_'s
    return (in_stacks / kStack < threads_.size() && threads_[in_stacks / kStack].gone) ||
           (in_blocks / kThreadBlock < threads_.size() && threads_[in_blocks / kThreadBlock].gone);
}

bool World::on_own_stack(uintptr_t address) const
{
    if (current_ == &outside_) {
        auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
        return address >= here && address < reinterpret_cast<uintptr_t>(main_stack_top_);
    }
    auto stack = reinterpret_cast<uintptr_t>(stacks_.data()) + static_cast<size_t>(current_->id) * kStack;
    return address >= stack && address < stack + kStack;
}

// ---- choice of the next event ----

void World::point(const char *text, const char *where)
{
    (void)where;
    if (!exploring())
        return;
    settle();
    current_->cpu_ns += 1000;
    // A thread's position is part of its state, even if the last step, such as a fence, read and wrote nothing.
    current_->history = mix(current_->history, reinterpret_cast<uintptr_t>(text));
    if (scenario_->invariant) {
        quiet_++;
        scenario_->invariant();
        quiet_--;
    }
    if (++outcome_.steps > scenario_->step_limit)
        fail(fmt::format("the schedule has not ended after {} steps", scenario_->step_limit));
    Thread *self = current_, *to;
    while ((to = next()) != self || self->deliver) {
        if (to != self)
            switch_to(to);
        if (!self->deliver)
            return;
        run_signal();
    }
}

void World::signal_point()
{
    Thread &t = *current_;
    if (!exploring() || !t.signal || t.deliver || t.signals_blocked)
        return;
    settle();
    actions_.clear();
    for (ActionKind kind : {ActionKind::kRun, ActionKind::kSignal})
        actions_.push_back({kind, static_cast<uint8_t>(t.id), 0});
    t.history = mix(t.history, 0x5160);
    int choice = decide();
    if (choice < 0) {
        outcome_.cut = true;
        leave_schedule();
    }
    if (choice == 1)
        run_signal();
}

void World::run_signal()
{
    Thread &t = *current_;
    void (*handler)() = t.signal;
    t.deliver = false;
    t.signal = nullptr;
    t.history = mix(t.history, 0x5157);
    trace("signal handler begins", "", 0);
    handler();
    settle(); // completes its last plain access before any store drains
    trace("signal handler has returned", "", 0);
}

bool World::is_over() const
{
    for (const Thread &thread : threads_) {
        if (!thread.daemon && thread.waits != Waits::kFinished)
            return false;
    }
    return true;
}

static bool may_run(const Thread &thread)
{
    return thread.waits == Waits::kNo || (thread.waits == Waits::kUntil && thread.until());
}

void World::list_actions()
{
    actions_.clear();
    quiet_++;
    if (current_ != &outside_ && may_run(*current_))
        actions_.push_back({ActionKind::kRun, static_cast<uint8_t>(current_->id), 0});
    for (Thread &thread : threads_) {
        if (&thread != current_ && may_run(thread))
            actions_.push_back({ActionKind::kRun, static_cast<uint8_t>(thread.id), 0});
    }
    quiet_--;
    for (Thread &thread : threads_) {
        for (size_t i = 0; i < thread.buffer.size(); i++) {
            if (thread.buffer.may_drain(i, options_.model))
                actions_.push_back({ActionKind::kDrain, static_cast<uint8_t>(thread.id), static_cast<uint8_t>(i)});
        }
    }
    for (Thread &thread : threads_) {
        bool awake = thread.waits == Waits::kNo || thread.waits == Waits::kFutex || thread.waits == Waits::kUntil;
        if (thread.signal && !thread.deliver && !thread.signals_blocked && awake)
            actions_.push_back({ActionKind::kSignal, static_cast<uint8_t>(thread.id), 0});
    }
    for (Thread &thread : threads_) {
        bool waits = thread.waits == Waits::kFutex || thread.waits == Waits::kPi || thread.waits == Waits::kSleep;
        if (early_timeouts_ && waits && thread.deadline != INT64_MAX)
            actions_.push_back({ActionKind::kTimeout, static_cast<uint8_t>(thread.id), 0});
    }
    for (size_t i = 0; i < events_.size(); i++) {
        if (events_[i].second)
            actions_.push_back({ActionKind::kEvent, 0, static_cast<uint8_t>(i)});
    }
}

int World::decide()
{
    if (actions_.size() == 1)
        return 0;
    Decision decision;
    decision.actions = actions_;
    decision.current_runs =
        current_ != &outside_ && actions_[0].kind == ActionKind::kRun && actions_[0].thread == current_->id;
    decision.state = strategy_->wants_state() ? state() : 0;
    int choice = strategy_->choose(decision);
    if (choice >= 0)
        outcome_.choices.push_back(static_cast<uint8_t>(choice));
    return choice;
}

// Perform @action.  Returns true if it chose a thread: @run.
bool World::perform(const Action &action, Thread *&run)
{
    switch (action.kind) {
    case ActionKind::kRun:
        run = &threads_[action.thread];
        if (run->waits == Waits::kUntil)
            run->waits = Waits::kNo;
        return true;
    case ActionKind::kDrain:
        drain_one(threads_[action.thread], action.index);
        return false;
    case ActionKind::kSignal:
        run = &threads_[action.thread];
        run->deliver = true;
        if (run->waits == Waits::kFutex)
            wake(*run, -EINTR);
        run->waits = Waits::kNo;
        return true;
    case ActionKind::kEvent:
        if (options_.trace)
            fmt::print("       event: {}\n", events_[action.index].first);
        quiet_++;
        events_[action.index].second();
        quiet_--;
        events_[action.index].second = nullptr;
        return false;
    case ActionKind::kTimeout:
        early_timeouts_--;
        time_out(threads_[action.thread]);
        return false;
    case ActionKind::kOutcome:
        break; // only choose() offers outcomes
    }
    return false;
}

size_t World::choose(size_t count)
{
    Thread &t = *current_;
    if (!exploring() || count < 2)
        return 0;
    actions_.clear();
    for (size_t i = 0; i < count; i++)
        actions_.push_back({ActionKind::kOutcome, static_cast<uint8_t>(t.id), static_cast<uint8_t>(i)});
    t.history = mix(t.history, 0xc4005e);
    int choice = decide();
    if (choice < 0) {
        outcome_.cut = true;
        leave_schedule();
    }
    t.history = mix(t.history, static_cast<uint64_t>(choice));
    return static_cast<size_t>(choice);
}

bool World::refuses(unsigned resource)
{
    if (!(failing_ & resource) || failures_left_ == 0 || choose(2) == 0)
        return false;
    failures_left_--;
    trace("nothing is to be had", "", resource);
    return true;
}

// The thread that continues.  Null: the schedule is over (and the caller is the main context, or a thread that has
// exited).
Thread *World::next()
{
    Thread *run = nullptr;
    for (;;) {
        if (is_over() || over_)
            return nullptr;
        list_actions();
        if (actions_.empty()) {
            if (advance_clock())
                continue;
            fail(stuck());
        }
        int choice = decide();
        if (choice < 0) {
            outcome_.cut = true;
            if (current_ == &outside_)
                return nullptr;
            leave_schedule();
        }
        if (perform(actions_[static_cast<size_t>(choice)], run))
            return run;
    }
}

// Called when no thread can continue before the next timeout.
bool World::advance_clock()
{
    Thread *first = nullptr;
    for (Thread &thread : threads_) {
        bool waits = thread.waits == Waits::kSleep || thread.waits == Waits::kFutex || thread.waits == Waits::kPi;
        if (waits && thread.deadline != INT64_MAX && (!first || thread.deadline < first->deadline))
            first = &thread;
    }
    if (!first)
        return false;
    time_out(*first);
    return true;
}

void World::time_out(Thread &thread)
{
    if (++outcome_.timeouts > options_.timeout_limit)
        fail(fmt::format("nothing moves but the clock: {} timeouts; {}", options_.timeout_limit, stuck()));
    now_ = now_ < thread.deadline ? thread.deadline : now_;
    if (options_.trace)
        fmt::print("       the clock moves: {}\n", thread.name);
    wake(thread, thread.waits == Waits::kSleep ? 0 : -ETIMEDOUT);
}

std::string World::stuck() const
{
    static const char *const what[] = {"can run", "sleeps on a futex",       "waits for a lock",
                                       "sleeps",  "waits for its condition", "has ended"};
    std::string text = "no thread can go on:";
    for (const Thread &thread : threads_)
        text += fmt::format(" {} {};", thread.name, what[static_cast<int>(thread.waits)]);
    text.back() = '.';
    return text;
}

void World::block(Waits why, uintptr_t address, int64_t timeout_ns)
{
    Thread &t = *current_;
    if (mode_ != Mode::kExplore)
        fail("waits outside the explored part");
    t.waits = why;
    t.wait_address = address;
    t.deadline =
        timeout_ns == INT64_MAX || (why != Waits::kSleep && !timeouts_allowed_) ? INT64_MAX : now_ + timeout_ns;
    trace("blocks", "", 0);
    Thread *to = next();
    if (to != &t)
        switch_to(to);
    while (t.deliver) { // run the handler; it ends a sleep on a futex, but not a wait for a condition
        run_signal();
        if (why == Waits::kUntil)
            t.waits = why;
        to = next();
        if (to != &t)
            switch_to(to);
    }
}

void World::wake(Thread &thread, int result)
{
    thread.waits = Waits::kNo;
    thread.wait_result = result;
    thread.history = mix(thread.history, static_cast<uint64_t>(result) + 0x77);
}

uint64_t World::state()
{
    uint64_t h = memory_.hash();
    for (const Thread &t : threads_) {
        uint64_t waits = static_cast<uint64_t>(t.waits) << 8 | (t.signal ? 4u : 0u) | (t.deliver ? 2u : 0u);
        h = mix(mix(mix(h, t.history), waits), t.buffer.hash());
        h = mix(h, t.waits == Waits::kNo ? 0 : t.wait_address);
        h = mix(h, t.deadline == INT64_MAX || t.waits == Waits::kNo ? 0 : static_cast<uint64_t>(t.deadline - now_));
    }
    for (const auto &event : events_)
        h = mix(h, event.second ? 1 : 2);
    for (const EventState &event : events_made_)
        h = mix(h, event.edges << 1 | (event.set ? 1u : 0u));
    for (size_t number : numbers_)
        h = mix(h, number);
    h = mix(h, static_cast<uint64_t>(now_) ^ heap_used_ << 40 ^ static_cast<uint64_t>(early_timeouts_) << 60);
    h = mix(h, (membarrier_refused_ ? 1u : 0u) | (visit_refused_ ? 2u : 0u) | failures_left_ << 2);
    return mix(h, current_ == &outside_ ? 99 : static_cast<uint64_t>(current_->id));
}

void World::trace(const char *what, const char *where, uint64_t value)
{
    if (!options_.trace || !exploring())
        return;
    fmt::print("{:6} {:<10} {:<62} = {:#x}{}{}\n", outcome_.steps, current_->name, what, value, *where ? "   in " : "",
               where);
}

} // namespace sim
