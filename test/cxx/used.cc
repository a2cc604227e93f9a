// SPDX-License-Identifier: MIT OR Apache-2.0
// usage: used - uses everything in the C++17 headers once. used.sh builds it with each installed compiler, in each
// standard, with more warnings than the tests' own programs. used stray - a snapshot moves to another thread, which the
// checks of the headers must detect.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <ucontext.h>
#include <vector>

#include <rtrcu/cell.hpp>
#include <rtrcu/guard.hpp>
#include <rtrcu/loop.hpp>
#include <rtrcu/rcu.hpp>
#include <rtrcu/task.h>

namespace
{

std::atomic<int> gone{0};

struct Value {
    int number;
    explicit Value(int n) : number(n)
    {
    }
    Value(const Value &) = default;
    Value(Value &&) = default;
    ~Value()
    {
        gone++;
    }
};
struct Returned {
    std::atomic<int> *count;
    void operator()(const Value *value) const
    {
        ++*count;
        delete value;
    }
};
struct Plain : rtrcu::rcu_obj_base<Plain> {
    ~Plain()
    {
        gone++;
    }
};
struct Pooled : rtrcu::rcu_obj_base<Pooled, void (*)(Pooled *)> {
};

void require(bool holds, const char *what)
{
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}
#define REQUIRE(...) require((__VA_ARGS__), #__VA_ARGS__)

void use_cells()
{
    rtrcu::cell<Value> cell(std::make_unique<Value>(1));
    {
        auto now = cell.read();
        REQUIRE(now && now != nullptr && now->number == 1 && (*now).number == now.get()->number);
    }
    REQUIRE(cell.update([](Value &copy) { copy.number++; }));
    REQUIRE(cell.update([](const Value &old) { return Value(old.number + 1); }));
    REQUIRE(cell.update([](const Value &old) { return std::make_unique<Value>(old.number + 1); }));
    REQUIRE(cell.with([](const Value *value) { return value->number; }) == 4);
    rtrcu::retired<Value> old = cell.exchange(std::make_unique<Value>(5));
    REQUIRE(old && old.wait()->number == 4 && old.ready() && old.release()->number == 4);
    cell.emplace(6);
    cell.store(std::make_unique<Value>(7));
    {
        rtrcu::guard section;
        std::scoped_lock lock(rtrcu::rcu_default_domain());
        REQUIRE(cell.read(section)->number + cell.read(lock)->number == 14);
    }
    cell.reset();
    REQUIRE(cell.read() == nullptr);

    std::atomic<int> returned{0};
    using Owner = std::unique_ptr<const Value, Returned>;
    {
        rtrcu::cell<const Value, Returned> other(Owner(new Value(1), Returned{&returned}));
        other.store(Owner(new Value(2), Returned{&returned}));
        other.exchange(Owner(nullptr, Returned{&returned})).release();
    }
    rtrcu::rcu_barrier();
    REQUIRE(returned == 2);
}

void retire_objects()
{
    const int before = gone;
    (new Plain)->retire();
    std::atomic<int> returned{0};
    (new Pooled)->retire([](Pooled *object) { delete object; });
    rtrcu::rcu_retire(new Value(1));
    rtrcu::rcu_retire(
        new Value(2), [](Value *value) { delete value; }, rtrcu::rcu_default_domain());
    rtrcu::rcu_retire(new Value(3), Returned{&returned});
    rtrcu::rcu_synchronize();
    rtrcu::rcu_barrier();
    REQUIRE(gone - before == 4 && returned == 1);
}

void run_loops()
{
    rtrcu::cell<int> cell(std::in_place, 0);
    rtrcu::quiescent_thread thread;
    rtrcu::deadline_loop loop(thread);
    (void)loop.run_every(std::chrono::microseconds(100), [&] {
        rtrcu::quiescent_guard section(thread);
        return *cell.read(section) < 3 && cell.update(section, [](int &copy) { copy++; });
    });
    thread.quiescent();
    auto away = thread.offline();
}

void publish_pointers()
{
    std::atomic<Value *> place{nullptr};
    Value value(8);
    rcu_assign_pointer(place, &value);
    rtrcu::guard section;
    rtrcu::guard moved = std::move(section);
    REQUIRE(moved && rcu_dereference(place)->number == 8);
    moved.end();
}

// A fiber that begins on one thread and resumes on another.
class Fiber
{
  public:
    explicit Fiber(void (*body)()) : stack_(256 * 1024)
    {
        getcontext(&own_);
        own_.uc_stack.ss_sp = stack_.data();
        own_.uc_stack.ss_size = stack_.size();
        own_.uc_link = &thread_;
        makecontext(&own_, body, 0);
    }
    void go_on()
    {
        swapcontext(&thread_, &own_);
    }
    void suspend()
    {
        swapcontext(&own_, &thread_);
    }

  private:
    std::vector<char> stack_;
    ucontext_t own_, thread_;
};
rtrcu::cell<int> seven(std::make_unique<int>(7));
Fiber *fiber;

// The fiber's code.
void read_on_two_threads()
{
    auto now = seven.read();
    REQUIRE(*now == 7);
    fiber->suspend();
    REQUIRE(*now == 7);
}

// The scheduler notifies the library of the switch, so the snapshot may end on another thread.
void read_in_a_task()
{
    rcu_task task;
    rcu_task_init(&task, "fiber");
    Fiber own(read_on_two_threads);
    fiber = &own;
    rcu_task_resume(&task);
    fiber->go_on();
    rcu_task_park(&task);
    std::thread([&] {
        rcu_task_resume(&task);
        fiber->go_on();
        rcu_task_exit(&task);
    }).join();
}

// A scheduler that does not notify the library.
void stray()
{
    Fiber own(read_on_two_threads);
    fiber = &own;
    fiber->go_on();
    std::thread([] { fiber->go_on(); }).join();
}

} // namespace

int main(int argc, char **argv)
{
    if (argc == 2 && std::strcmp(argv[1], "stray") == 0) {
        stray();
        return 0;
    }
    read_in_a_task();
    use_cells();
    retire_objects();
    std::thread(run_loops).join();
    publish_pointers();
    rtrcu::rcu_barrier();
    return 0;
}
