// SPDX-License-Identifier: MIT OR Apache-2.0
// The simulated machine: threads that run one at a time, their store buffers, a kernel, a clock.
// A schedule has three parts:
//   setup    the scenario creates its threads and prepares memory; nothing is interleaved
//   explore  before every shared access the strategy chooses the next event
//   finish   all threads that are not daemons have exited; the scenario checks the result
// Afterwards every byte that was written is restored.
//
// A failure ends the schedule immediately: an access to memory that is freed or outside an allocation, a data race, a
// failed check or invariant, a thread that waits for ever, a schedule that does not end.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/context/fiber.hpp>

#include "machine/memory.h"
#include "machine/strategy.h"
#include "scenario.h"

namespace sim
{

struct Options {
    Model model = Model::kTso;
    // A store into a full buffer first drains the oldest one.  The slow path of a lock in a debug build stores ten
    // times.
    size_t buffer_stores = 12;
    uint32_t timeout_limit = 64;
    bool races = true; // check the plain accesses
    bool trace = false;
};

enum class Waits { kNo, kFutex, kPi, kSleep, kUntil, kFinished };

struct Thread {
    int id;
    uint32_t number; // the kernel's number of the thread; it differs in a fork's child
    std::string name;
    bool daemon;
    void *(*body)(void *);
    void *argument;
    Waits waits = Waits::kNo;
    uintptr_t wait_address = 0;
    int64_t deadline = INT64_MAX;
    int wait_result = 0;
    bool (*until)() = nullptr;
    StoreBuffer buffer;
    Clock clock;    // the events that happened before this thread's current one
    Clock seen;     // clocks read by relaxed loads, which a later fence acquires
    Clock released; // its clock at its last fence
    uint64_t history = 0;
    int rt_priority = 0, nice = 0;
    int64_t cpu_ns = 0; // does not grow while the thread waits
    bool signals_blocked = false;
    bool gone = false;          // does not exist in this fork's child, where its stack and its block may be reused
    void (*signal)() = nullptr; // pending signal
    bool deliver = false;
    void *exit_value = nullptr;
    alignas(boost::context::fiber) unsigned char fiber[sizeof(boost::context::fiber)];
};

struct Outcome {
    bool failed = false;
    bool cut = false; // the strategy stopped the schedule
    std::string failure;
    uint64_t steps = 0;
    uint32_t timeouts = 0;
    std::vector<uint8_t> choices; // for replay
};

class World
{
  public:
    explicit World(const Options &options);

    Outcome run(const Scenario &scenario, Strategy &strategy);
    void set_buffer(size_t stores)
    {
        options_.buffer_stores = stores;
    }

    // ---- for scenarios ----
    int add_thread(const char *name, void *(*body)(void *), void *argument, bool daemon);
    // In setup: run @f as this thread.
    void as_thread(int id, void (*f)());
    void add_event(const char *name, void (*f)());
    void set_signal(int id, void (*handler)());
    void wait_until(bool (*condition)());
    // Only the running thread continues, as the one thread of a fork's child.  It sees the stores that the others have
    // made so far.
    void end_others();
    void *allocate(size_t bytes);
    void *allocate_pages(size_t bytes);
    void release_pages(void *memory, size_t bytes);
    void release(void *memory);
    bool is_freed(const void *memory) const; // @memory was allocated
    bool is_of_gone_thread(uintptr_t address) const;
    [[noreturn]] void fail(const std::string &message);
    void expect(bool condition, const char *text);
    // A message of the library to the user: recorded in the trace.
    void print(const char *format, va_list arguments);
    // @late: timed waits end when no other thread can continue.  @early: how many of them may end even if one can.
    void allow_timeouts(bool late, uint32_t early)
    {
        timeouts_allowed_ = late;
        early_timeouts_ = early;
    }
    void refuse_fences(bool membarrier, bool visit)
    {
        membarrier_refused_ = membarrier;
        visit_refused_ = visit;
    }
    // Up to @count calls for these resources (bits of sim::Resource) may fail.
    void may_fail(unsigned resources, uint32_t count)
    {
        failing_ = resources;
        failures_left_ = count;
    }
    // The number of blocks from malloc() that have not been freed.
    size_t live_allocations() const
    {
        return allocations_.size();
    }
    size_t live_pages() const
    {
        return pages_.size();
    }
    Outcome &outcome()
    {
        return outcome_;
    }

    // ---- for the library: accesses ----
    uint64_t load(uintptr_t address, size_t size, bool acquire, const char *text, const char *where);
    void store(uintptr_t address, uint64_t value, size_t size, bool release, const char *text, const char *where);
    // An update begins, computes the value to store, and ends; no event comes between.
    uint64_t update_begin(uintptr_t address, size_t size, bool acquire, const char *text);
    void update_end(uintptr_t address, uint64_t value, size_t size, bool release, const char *text, const char *where);
    uint64_t owner_add(uintptr_t address, uint64_t amount, size_t size, bool release, const char *text,
                       const char *where);
    void count(uintptr_t address, uint64_t amount, size_t size, const char *text);
    void fence_full(const char *where);
    void relax(const char *where);
    void plain(uintptr_t address, size_t size, bool writes, const void *pc);

    // ---- for the library: the kernel ----
    int fence_heavy(bool visit);
    int futex_wait(uintptr_t word, uint32_t expected, int64_t timeout_ns);
    int futex_wake(uintptr_t word, int count);
    int futex_lock_pi(uintptr_t word, int64_t timeout_ns);
    int futex_unlock_pi(uintptr_t word);
    // Event descriptors.  Use of a closed number fails the schedule, since the number may be another file's by then.
    int event_make();
    int event_duplicate(int number);
    void event_set(int number);
    void event_clear(int number);
    void event_close(int number);
    bool event_is_set(int number) const
    {
        return events_made_[numbers_[static_cast<size_t>(number)]].set;
    }
    uint32_t event_edges(int number) const
    {
        return events_made_[numbers_[static_cast<size_t>(number)]].edges;
    }
    int64_t clock_now();
    void clock_sleep(int64_t ns);
    bool block_signals(bool blocked);
    void set_exit_hook(void (*hook)(void *))
    {
        exit_hook_ = hook;
    }
    void set_fork_hooks(void (*prepare)(), void (*child)())
    {
        fork_prepare_ = prepare;
        fork_child_ = child;
    }
    // The calling thread forks, and continues as the only thread of the child.
    void fork()
    {
        fork_prepare_();
        point("fork", "scenario");
        end_others();
        current_->number += kMaxThreads;
        fork_child_();
    }
    void arm_exit(void *value)
    {
        current_->exit_value = value;
    }

    void set_rt_priority(uint32_t number, int priority)
    {
        Thread *thread = thread_of(number);
        if (thread)
            thread->rt_priority = priority;
    }

    int rt_priority_of(uint32_t number)
    {
        const Thread *thread = thread_of(number);
        return thread ? thread->rt_priority : 0;
    }

    int nice_of(uint32_t number)
    {
        const Thread *thread = thread_of(number);
        return thread ? thread->nice : 0;
    }
    int64_t cpu_ns_of(uint32_t number)
    {
        const Thread *thread = thread_of(number);
        return thread ? thread->cpu_ns : 0;
    }

    Thread *current()
    {
        return current_;
    }
    void *thread_block();
    // Hooks do nothing outside schedules, and while the engine itself calls into instrumented code.
    bool active() const
    {
        return mode_ != Mode::kOutside && quiet_ == 0;
    }
    bool exploring() const
    {
        return mode_ == Mode::kExplore && quiet_ == 0;
    }
    void point(const char *text, const char *where);
    // At this point only a handler of the running thread may run.
    void signal_point();
    // Returns whether this call for a resource fails.  The strategy chooses, if the scenario allows failures.
    bool refuses(unsigned resource);

  private:
    enum class Mode { kOutside, kSetup, kExplore, kFinish };

    void begin_schedule(const Scenario &scenario, Strategy &strategy);
    void start_threads();
    void finish_schedule(const Scenario &scenario);
    Thread *next();
    void list_actions();
    int decide();
    // Choose one of @count outcomes for the running thread.
    size_t choose(size_t count);
    bool perform(const Action &action, Thread *&run);
    void switch_to(Thread *to);
    void leave_schedule();
    void body_of(Thread &thread);
    void exit_thread(Thread &thread);
    bool advance_clock();
    void time_out(Thread &thread);
    bool is_over() const;
    std::string stuck() const;
    void block(Waits why, uintptr_t address, int64_t timeout_ns);
    void wake(Thread &thread, int result);
    void drain_one(Thread &thread, size_t i);
    void drain_all(Thread &thread);
    void real_fence(Thread &thread);
    Thread *thread_of(uint32_t number);
    void commit(Thread &owner, const BufferedStore &store);
    void yield_exclusive(const Thread &writer, uintptr_t address, size_t size);
    void order_acquire(Thread &thread);
    // Write the thread's own buffer over memory for the plain access that follows; settle() undoes it.
    void lay_over(uintptr_t address, size_t size, bool writes);
    void settle();
    void put(uintptr_t address, uint64_t value, size_t size, bool release, bool exclusive, const char *text,
             const char *where);
    void check_access(uintptr_t address, size_t size, AccessKind kind, const char *text, const void *pc);
    struct EventState {
        bool set = false;
        uint32_t edges = 0; // the number of times that it was set
    };
    static constexpr size_t kClosed = SIZE_MAX;
    EventState &event_of(int number, const char *text);
    bool on_own_stack(uintptr_t address) const;
    uint64_t state();
    void run_signal();
    void trace(const char *format_what, const char *where, uint64_t value);

    Options options_;
    Memory memory_;
    Mode mode_ = Mode::kOutside;
    int quiet_ = 0;
    const Scenario *scenario_ = nullptr;
    Strategy *strategy_ = nullptr;
    Outcome outcome_;
    std::deque<Thread> threads_; // a deque, so that the addresses of threads stay valid
    Thread *current_ = nullptr;
    Thread outside_;                                          // stands for the main context during setup and finish
    std::vector<std::pair<const char *, void (*)()>> events_; // null: the event has happened
    std::vector<Action> actions_;
    bool timeouts_allowed_ = true;
    uint32_t early_timeouts_ = 0;
    bool membarrier_refused_ = false, visit_refused_ = false;
    unsigned failing_ = 0;
    uint32_t failures_left_ = 0;
    bool over_ = false;
    struct Overlay {
        uintptr_t address;
        bool writes;
        std::vector<uint8_t> memory; // the bytes that were overwritten; empty: none are
    } overlay_{};
    std::vector<EventState> events_made_;
    std::vector<size_t> numbers_; // for each open descriptor, its event
    int64_t now_ = 0;
    void (*exit_hook_)(void *) = nullptr;
    void (*fork_prepare_)() = nullptr;
    void (*fork_child_)() = nullptr;
    alignas(boost::context::fiber) unsigned char main_fiber_[sizeof(boost::context::fiber)];
    unsigned char *leaving_ = nullptr; // where the context that is being left is stored
    std::vector<unsigned char> stacks_;
    std::vector<unsigned char> blocks_; // thread-local blocks
    std::vector<unsigned char> heap_;
    size_t heap_used_ = 0;
    std::unordered_map<uintptr_t, size_t> allocations_, pages_;
    const unsigned char *main_stack_top_ = nullptr;
};

// The only world of the process, which hooks use.
World *world();

// Fill in the thread-local block of a new thread.  The explored build defines it, since the layout is the library's.
extern "C" void sim_thread_block_init(void *block);
constexpr size_t kThreadBlock = 256;

} // namespace sim
