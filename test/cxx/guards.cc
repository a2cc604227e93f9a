// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of guards, quiescent-state threads, loops with a deadline, and pointers that are std::atomic.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <rtrcu/cell.hpp>
#include <rtrcu/guard.hpp>
#include <rtrcu/loop.hpp>

#include "../api/child.h"
#include "../support/sandbox.h"
#include "../support/sync.h"

namespace
{

static_assert(std::is_nothrow_default_constructible_v<rtrcu::guard>);
static_assert(std::is_nothrow_move_constructible_v<rtrcu::guard> && std::is_nothrow_move_assignable_v<rtrcu::guard>);
static_assert(std::is_nothrow_swappable_v<rtrcu::guard> && !std::is_copy_constructible_v<rtrcu::guard>);
static_assert(!std::is_convertible_v<rtrcu::guard, bool> && !std::is_convertible_v<rtrcu::task &, rtrcu::guard>);

// The nesting of the calling thread, as the C interface counts it.
unsigned depth()
{
    return rtrcu_word_read() & RTRCU_NESTING_MASK;
}

rtrcu::guard begun()
{
    rtrcu::guard section;
    return section;
}

TEST(Guard, GuardMovesToAnotherScope)
{
    std::optional<rtrcu::guard> kept;
    {
        rtrcu::guard inner = begun();
        EXPECT_EQ(depth(), 1u);
        kept = std::move(inner);
        EXPECT_FALSE(inner);
        EXPECT_TRUE(*kept);
    }
    EXPECT_EQ(depth(), 1u);
    kept.reset();
    EXPECT_EQ(depth(), 0u);
}

TEST(Guard, AssignmentEndsThePreviousSection)
{
    rtrcu::guard first, second;
    EXPECT_EQ(depth(), 2u);
    first = std::move(second);
    EXPECT_EQ(depth(), 1u);
    rtrcu::guard &self = first;
    first = std::move(self);
    EXPECT_TRUE(first);
    EXPECT_EQ(depth(), 1u);
    first = std::move(second); // no effect
    EXPECT_FALSE(first);
    EXPECT_EQ(depth(), 0u);
    first.end();
    EXPECT_EQ(depth(), 0u);
    first = rtrcu::guard();
    swap(first, second);
    EXPECT_FALSE(first);
    EXPECT_EQ(depth(), 1u);
    second.end();
    EXPECT_EQ(depth(), 0u);
    {
        rtrcu::guard outer;
        {
            rtrcu::guard inner;
            inner.end();
        }
        EXPECT_EQ(depth(), 1u) << "the section has ended once";
    }
}

TEST(Guard, GuardMovesWithItsTask)
{
    rtrcu::task task("moved");
    {
        rtrcu::guard first(task);
        rtrcu::guard second = std::move(first);
        EXPECT_EQ(depth(), 1u);
        {
            rtrcu::guard plain;
            plain = std::move(second); // the plain section ends, the task's continues
            EXPECT_EQ(depth(), 1u);
        }
        EXPECT_EQ(depth(), 0u);
    }
    EXPECT_EQ(depth(), 0u);
    synchronize_rcu();
}

// A section without a guard belongs to no task.  A task with guards is parked, and its guards end on any thread.
TEST(Guard, TaskIsParkedWhenItsGuardEnds)
{
    rtrcu::task task("parked");
    std::optional<rtrcu::guard> guard(std::in_place, task);
    EXPECT_FALSE(task.is_parked());
    guard.reset();
    EXPECT_TRUE(task.is_parked());
    guard.emplace(task);
    task.park();
    EXPECT_EQ(depth(), 0u);
    std::thread([&] {
        guard.reset();
        EXPECT_EQ(depth(), 0u);
    }).join();
    EXPECT_TRUE(task.is_parked());
    EXPECT_EQ(depth(), 0u);
    synchronize_rcu();
}

// ---- quiescent-state threads ----

TEST(Quiescent, IsInsideUntilItsQuiescentState)
{
    rtrcu::cell<int> cell(std::in_place, 1);
    test::Worker other;
    std::optional<rtrcu::quiescent_thread> thread;
    other.run([&] { thread.emplace(); });
    unsigned long cookie = start_poll_synchronize_rcu();
    other.run([&] {
        rtrcu::quiescent_guard section(*thread);
        rtrcu::quiescent_guard moved = std::move(section);
        EXPECT_FALSE(section);
        EXPECT_TRUE(moved);
        EXPECT_EQ(depth(), 0u) << "the section of a quiescent-state thread does not nest";
        EXPECT_EQ(*cell.read(moved), 1);
        EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
    });
    EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
    EXPECT_TRUE(test::eventually([&] { // the grace period may begin after the first quiescent state
        other.run([&] { thread->quiescent(); });
        return poll_state_synchronize_rcu(cookie);
    }));
    other.run([&] {
        auto away = thread->offline();
        std::thread([] { synchronize_rcu(); }).join();
    });
    unsigned long later = start_poll_synchronize_rcu();
    EXPECT_FALSE(poll_state_synchronize_rcu(later)) << "the thread has come online, so it is inside";
    for (int i = 0; i < 100; i++)
        std::this_thread::yield();
    EXPECT_FALSE(poll_state_synchronize_rcu(later));
    other.run([&] { thread.reset(); });
    synchronize_rcu(); // the thread is ordinary again, and outside
    other.finish();
}

TEST(Quiescent, IsRefusedInsideASection)
{
    rtrcu::guard section;
    EXPECT_THROW(rtrcu::quiescent_thread(), std::system_error);
    EXPECT_THROW(rtrcu::deadline_loop(), std::system_error);
    EXPECT_EQ(depth(), 1u);
}

CHILD(quiescent_inside_a_guard)
{
    rtrcu::quiescent_thread thread;
    rtrcu::quiescent_guard section(thread);
    thread.quiescent();
}
CHILD(offline_inside_a_guard)
{
    rtrcu::quiescent_thread thread;
    rtrcu::quiescent_guard section(thread);
    auto away = thread.offline();
}

TEST(Quiescent, QuiescentStateInsideAGuardIsReported)
{
    for (const char *name : {"quiescent_inside_a_guard", "offline_inside_a_guard"})
        EXPECT_TRUE(test::aborted(test::run_child(name), "a quiescent state inside a quiescent_guard"));
}

// In this fork's child no thread can be created.  The thread cannot become a preemptible reader again, but holds up no
// grace period.
CHILD(quiescent_ends_without_a_driver)
{
    std::optional<rtrcu::quiescent_thread> thread;
    thread.emplace();
    fflush(nullptr);
    const pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        alarm(30);
        REQUIRE(test::refuse({{SYS_clone, EAGAIN, {}}, {SYS_clone3, EAGAIN, {}}}));
        thread.reset();
        REQUIRE(!rcu_read_lock_held());
        _exit(0);
    }
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Quiescent, ThreadExitsCleanlyIfTheDriverCannotBeCreated)
{
    if (TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "here the child of a process with threads cannot be used";
    EXPECT_TRUE(exited_well(test::run_child("quiescent_ends_without_a_driver")));
}

// ---- loops with a deadline ----

TEST(Deadline, RunEveryKeepsItsPeriodAndTheThreadMayBlockAfterwards)
{
    using namespace std::chrono_literals;
    rtrcu::cell<int> cell(std::in_place, 0);
    std::thread([&] {
        int turns = 0;
        {
            rtrcu::deadline_loop loop;
            EXPECT_THROW(loop.run_every(0ms, [] { return false; }), std::invalid_argument);
            auto began = std::chrono::steady_clock::now();
            unsigned long missed = loop.run_every(1ms, [&] {
                cell.emplace(turns);
                return ++turns < 5;
            });
            EXPECT_GE(std::chrono::steady_clock::now() - began, 4ms + missed * 1ms);
        }
        EXPECT_EQ(turns, 5);
        // No grace period waits for the thread any more, so it may block.
        synchronize_rcu();
    }).join();
    rcu_barrier();
    EXPECT_EQ(cell.with([](const int *value) { return *value; }), 4);
}

TEST(Deadline, QuiescentLoopDoesNotHoldUpGracePeriods)
{
    using namespace std::chrono_literals;
    std::thread([] {
        rtrcu::quiescent_thread thread;
        rtrcu::deadline_loop loop(thread);
        unsigned long cookie = start_poll_synchronize_rcu();
        auto until = std::chrono::steady_clock::now() + test::patience;
        (void)loop.run_every(
            200us, [&] { return !poll_state_synchronize_rcu(cookie) && std::chrono::steady_clock::now() < until; });
        EXPECT_TRUE(poll_state_synchronize_rcu(cookie));
    }).join();
}

TEST(Deadline, RestOfAQuiescentLoopIsAQuiescentState)
{
    std::thread([] {
        rtrcu::quiescent_thread thread;
        rtrcu::deadline_loop loop(thread);
        unsigned long cookie = start_poll_synchronize_rcu();
        EXPECT_TRUE(test::eventually([&] {
            (void)loop.rest(std::chrono::steady_clock::now());
            return poll_state_synchronize_rcu(cookie);
        }));
    }).join();
}

// ---- a pointer published as std::atomic<T *> ----

struct Route {
    int port;
};

template <typename Place> void publish_and_read(Place &place)
{
    Route first{1}, second{2};
    const Place &read_only = place;
    EXPECT_TRUE(rcu_dereference(place) == nullptr);
    rcu_assign_pointer(place, &first);
    {
        rtrcu::guard section;
        EXPECT_EQ(rcu_dereference(place)->port, 1);
        EXPECT_EQ(rcu_dereference(read_only)->port, 1);
        EXPECT_EQ(rcu_dereference_check(place, false)->port, 1);
    }
    EXPECT_TRUE(rcu_access_pointer(place) == &first);
    EXPECT_TRUE(rcu_xchg_pointer(&place, &second) == &first);
    EXPECT_EQ(rcu_dereference_protected(place, true)->port, 2);
    RCU_INIT_POINTER(place, nullptr);
    EXPECT_TRUE(rcu_access_pointer(read_only) == nullptr);
    rcu_assign_pointer(place, nullptr);
}

TEST(Pointers, RcuDereferenceAcceptsAtomicAndPlainPointers)
{
    std::atomic<Route *> atomic{nullptr};
    publish_and_read(atomic);
    EXPECT_EQ(atomic.load(), nullptr);
    Route *plain = nullptr;
    publish_and_read(plain);
    Route *volatile marked = nullptr;
    publish_and_read(marked);
    std::atomic<const Route *> constant{nullptr};
    publish_and_read(constant);
    std::atomic<Route *> *nobody = nullptr;
    static_assert(std::is_same_v<decltype(rcu_dereference(*nobody)), Route *>);
    struct Holder {
        std::atomic<Route *> place{nullptr};
    } holder;
    Route route{3};
    rcu_assign_pointer(holder.place, &route);
    EXPECT_EQ(holder.place.load()->port, 3);
}

// A thread reads as std::atomic a pointer that another thread publishes with a macro, and the reverse.
TEST(Pointers, RcuAssignPointerPublishesForAnAtomicLoad)
{
    std::atomic<Route *> place{nullptr}, answer{nullptr};
    std::thread other([&] {
        Route *seen;
        while (!(seen = place.load(std::memory_order_acquire)))
            std::this_thread::yield();
        answer.store(new Route{seen->port + 1}, std::memory_order_release);
    });
    auto route = std::make_unique<Route>(Route{1});
    rcu_assign_pointer(place, route.get());
    Route *got;
    while (!(got = rcu_dereference(answer)))
        std::this_thread::yield();
    EXPECT_EQ(got->port, 2);
    other.join();
    delete got;
}

} // namespace
