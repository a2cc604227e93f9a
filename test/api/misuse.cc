/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of misuse: debug builds end the program with a reason, release builds report it and continue if they can. */
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "../support/capture.h"
#include "../support/no_memory.h"
#include "../support/sync.h"
#include "child.h"

#include <rtrcu/urcu.h>

namespace
{

void nothing(rcu_head *)
{
}

rcu_head static_head;

CHILD(double_call_rcu)
{
    rcu_read_lock(); /* so that the first callback cannot have begun */
    call_rcu(&static_head, nothing);
    call_rcu(&static_head, nothing);
    rcu_read_unlock();
}

TEST(Misuse, CheckedLibraryAbortsAtASecondCallRcuOfAQueuedHead)
{
    if (!TEST_DEBUG)
        GTEST_SKIP() << "undefined without checks";
    test::ChildResult result = test::run_child("double_call_rcu");
    EXPECT_TRUE(aborted(result, "is queued already"));
    EXPECT_TRUE(result.contains("call_rcu(): head 0x")) << result.output;
}

CHILD(null_callback)
{
    static rcu_head head;
    call_rcu(&head, nullptr);
    rcu_barrier();
    REQUIRE(test::stats().callbacks_backlog == 0);
}

CHILD(null_retired)
{
    int object;
    REQUIRE(rcu_retire(&object, nullptr) == -EINVAL);
    rcu_barrier();
    REQUIRE(test::stats().callbacks_queued == 0);
}

CHILD(null_tried)
{
    static rcu_head head;
    REQUIRE(call_rcu_try(&head, nullptr) == -EINVAL);
    rcu_barrier();
    REQUIRE(test::stats().callbacks_queued == 0);
}

void expect_refused(const std::string &child, const std::string &call)
{
    test::ChildResult result = test::run_child(child);
    if (TEST_DEBUG) {
        EXPECT_TRUE(aborted(result, call + "() of a null function"));
    } else {
        EXPECT_TRUE(exited_well(result));
        EXPECT_TRUE(result.contains(call + "() of a null function; refused")) << result.output;
    }
}

TEST(Misuse, NullCallbackIsRefused)
{
    expect_refused("null_callback", "call_rcu");
    expect_refused("null_retired", "rcu_retire");
    expect_refused("null_tried", "call_rcu_try");
}

CHILD(long_callback)
{
    static rcu_head head;
    call_rcu(&head, [](rcu_head *) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(120);
        while (std::chrono::steady_clock::now() < end) {
        }
    });
    rcu_barrier();
    /* this callback runs after the report of the long one */
    static rcu_head behind;
    call_rcu(&behind, [](rcu_head *) {});
    rcu_barrier();
}

TEST(Misuse, LongCallbackIsReported)
{
    test::ChildResult result = test::run_child("long_callback");
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("1 callbacks took ")) << result.output;
    EXPECT_TRUE(result.contains(" ms, the last one the function at the program 0x")) << result.output;
}

CHILD(queued_again_by_itself)
{
    static std::atomic<int> runs;
    static rcu_head head;
    call_rcu(&head, [](rcu_head *own) {
        if (++runs < 3)
            call_rcu(own, own->func);
    });
    while (runs < 3)
        rcu_barrier();
    call_rcu(&head, nothing);
    rcu_barrier();
}

TEST(Misuse, HeadMayBeQueuedAgainInItsCallback)
{
    EXPECT_TRUE(exited_well(test::run_child("queued_again_by_itself")));
}

/* ---- rcu_free() in contexts that must not wait ---- */

/* A value of errno that the calls must preserve, although malloc() and the kernel fail inside them. */
constexpr int untouched = 12345;

CHILD(free_without_memory)
{
    constexpr uint64_t count = 2000;
    static void *objects[2 * count];
    for (void *&each : objects)
        each = malloc(40);
    rcu_read_lock();
    rcu_free(malloc(40));
    {
        test::NoMemory none;
        errno = untouched;
        for (uint64_t i = 0; i < count; i++)
            rcu_free(objects[i]);
        rcu_read_unlock();
        for (uint64_t i = count; i < count + 3; i++)
            rcu_free(objects[i]);
        REQUIRE(errno == untouched);
    }
    rcu_barrier();
    const struct rtrcu_stats stats = test::stats();
    REQUIRE(stats.frees_leaked > 0);
    REQUIRE(stats.frees_leaked + stats.callbacks_invoked >= count + 1);
    REQUIRE(stats.frees_leaked <= count);
    REQUIRE(stats.callbacks_backlog == 0);
}

TEST(Misuse, FreeInsideASectionDoesNotWaitForMemory)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer's allocator ends the program instead";
    test::ChildResult result = test::run_child("free_without_memory");
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("no memory to queue the pointer")) << result.output;
}

/* A quiescent-state thread is inside until its next quiescent state.  rcu_free() without memory is not a quiescent
 * state: it leaks the pointers instead of waiting for a grace period. */
CHILD(free_without_memory_in_the_discipline)
{
    static void *objects[2000];
    for (void *&each : objects)
        each = malloc(40);
    REQUIRE(rcu_register_thread_qsbr() == 0);
    unsigned long read = get_state_synchronize_rcu();
    {
        test::NoMemory none;
        for (void *each : objects)
            rcu_free(each);
    }
    REQUIRE(!poll_state_synchronize_rcu(read));
    REQUIRE(test::stats().frees_leaked > 0);
    rcu_thread_offline();
    rcu_barrier();
    REQUIRE(test::stats().callbacks_backlog == 0);
}

TEST(Misuse, FreeWithoutMemoryIsNotAQuiescentState)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer's allocator ends the program instead";
    EXPECT_TRUE(exited_well(test::run_child("free_without_memory_in_the_discipline")));
}

/* A listed section is not recorded in its thread, which may be the caller itself, so a wait for it might never end. */
CHILD(free_without_memory_in_a_listed_section)
{
    static void *objects[2000];
    for (void *&each : objects)
        each = malloc(40);
    rcu_task task;
    rcu_task_init(&task, "task");
    rcu_read_lock();
    rcu_task_list(&task);
    {
        test::NoMemory none;
        for (void *each : objects)
            rcu_free(each);
    }
    REQUIRE(test::stats().frees_leaked > 0);
    rcu_task_unlist(&task);
    rcu_barrier();
}

TEST(Misuse, FreeInsideAListedSectionDoesNotWaitForMemory)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer's allocator ends the program instead";
    EXPECT_TRUE(exited_well(test::run_child("free_without_memory_in_a_listed_section")));
}

/* Without memory for the record of a function, rtrcu_defer() waits for a grace period and calls the function. */
CHILD(defer_without_memory)
{
    static std::atomic<bool> called;
    static pthread_t self;
    uint64_t before = test::stats().gp_completed;
    self = pthread_self();
    {
        test::NoMemory none;
        for (int i = 0; i < 2000 && !called; i++)
            rtrcu_defer([](void *) { called = called || pthread_equal(self, pthread_self()); }, nullptr);
    }
    REQUIRE(called);
    REQUIRE(test::stats().gp_completed > before);
}

TEST(Misuse, DeferringThreadWaitsWithoutMemory)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer's allocator ends the program instead";
    EXPECT_TRUE(exited_well(test::run_child("defer_without_memory")));
}

/* A reader delays the grace period, so each function above the limit costs its caller 100 ms. */
CHILD(defer_beside_a_reader)
{
    constexpr uint64_t bound = 4096, above = 3;
    constexpr std::chrono::milliseconds wait{100};
    enum { inside = 1, deferred };
    test::Steps steps;
    rcu_barrier(); /* creates the driver */
    std::thread reader([&] {
        rcu_read_lock();
        steps.reach(inside);
        steps.wait(deferred);
        rcu_read_unlock();
    });
    steps.wait(inside);
    const auto began = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < bound + above; i++)
        defer_rcu([](void *) {}, nullptr);
    const auto took = std::chrono::steady_clock::now() - began;
    REQUIRE(test::stats().callbacks_backlog == bound + above);
    REQUIRE(took >= above * wait);
    steps.reach(deferred);
    reader.join();
    rcu_barrier();
}

TEST(Misuse, DeferBeyondTheLimitWaits)
{
    EXPECT_TRUE(exited_well(test::run_child("defer_beside_a_reader")));
}

CHILD(defer_inside_a_section)
{
    rcu_read_lock();
    for (int i = 0; i < 5000; i++)
        defer_rcu([](void *) {}, nullptr);
    rcu_read_unlock();
    rcu_barrier();
}

TEST(Misuse, DeferringTooMuchInsideASectionIsReported)
{
    test::ChildResult result = test::run_child("defer_inside_a_section");
    if (TEST_DEBUG) {
        EXPECT_TRUE(aborted(result, "with 4096 callbacks pending would wait for itself"));
    } else {
        EXPECT_TRUE(exited_well(result));
        EXPECT_TRUE(result.contains("cannot wait while 4096 callbacks are pending")) << result.output;
    }
}

CHILD(retire_without_memory)
{
    constexpr int count = 2000;
    static int called, refused;
    REQUIRE(rcu_retire(nullptr, [](void *) { called++; }) == 0);
    {
        test::NoMemory none;
        errno = untouched;
        for (int i = 1; i < count; i++)
            refused += rcu_retire(nullptr, [](void *) { called++; }) == -ENOMEM;
        REQUIRE(errno == untouched);
    }
    rcu_barrier();
    REQUIRE(refused > 0);
    REQUIRE(called + refused == count);
    REQUIRE(test::stats().frees_leaked == 0);
}

TEST(Misuse, RetiringWithoutMemoryIsRefused)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer's allocator ends the program instead";
    EXPECT_TRUE(exited_well(test::run_child("retire_without_memory")));
}

pthread_key_t late_key;

/* A destructor that runs in a later round than the library's exit hook. */
void free_late(void *round)
{
    if (reinterpret_cast<uintptr_t>(round) < 3) {
        pthread_setspecific(late_key, static_cast<char *>(round) + 1);
        return;
    }
    rcu_read_lock();
    for (int i = 0; i < 10; i++)
        rcu_free(malloc(40));
    rcu_read_unlock();
}

CHILD(free_in_a_late_destructor)
{
    REQUIRE(pthread_key_create(&late_key, free_late) == 0);
    std::thread([] {
        rcu_read_lock();
        rcu_read_unlock();
        pthread_setspecific(late_key, reinterpret_cast<void *>(uintptr_t{1}));
    }).join();
    rcu_barrier();
    REQUIRE(test::stats().callbacks_invoked == 10);
}

TEST(Misuse, FreeInASectionOfALateDestructorDoesNotWait)
{
    EXPECT_TRUE(exited_well(test::run_child("free_in_a_late_destructor")));
}

/* ---- waiting inside a section ---- */

CHILD(synchronize_inside)
{
    rcu_read_lock();
    synchronize_rcu();
}

CHILD(synchronize_expedited_inside)
{
    rcu_read_lock();
    synchronize_rcu_expedited();
}

CHILD(barrier_inside)
{
    rcu_read_lock();
    call_rcu(&static_head, nothing);
    rcu_barrier();
}

CHILD(cond_inside)
{
    rcu_read_lock();
    cond_synchronize_rcu(get_state_synchronize_rcu());
}

class WaitInside : public testing::TestWithParam<std::pair<const char *, const char *>>
{
};

/* Release builds cannot return either: they print the reason, and the stall report follows at its usual time. */
TEST_P(WaitInside, WaitInsideASectionIsReported)
{
    auto [child, call] = GetParam();
    std::string said = std::string(call) + "() inside a read-side critical section";
    if (TEST_DEBUG) {
        EXPECT_TRUE(aborted(test::run_child(child), said));
        return;
    }
    test::ChildResult result =
        test::run_child_until(child, "callbacks that wait for it", {"RTRCU_STALL_TIMEOUT_MS=50"});
    EXPECT_FALSE(result.timed_out) << "no stall report was printed";
    EXPECT_TRUE(result.contains(said)) << result.output;
    EXPECT_TRUE(result.contains("grace period")) << result.output;
    EXPECT_TRUE(result.contains("inside a read-side critical section, nesting 1")) << result.output;
    EXPECT_TRUE(result.contains("waits for itself in " + std::string(call) + "()")) << result.output;
    EXPECT_FALSE(result.contains("in system call 0")) << result.output;
}

INSTANTIATE_TEST_SUITE_P(Calls, WaitInside,
                         testing::Values(std::pair("synchronize_inside", "synchronize_rcu"),
                                         std::pair("synchronize_expedited_inside", "synchronize_rcu_expedited"),
                                         std::pair("barrier_inside", "rcu_barrier"),
                                         std::pair("cond_inside", "cond_synchronize_rcu")),
                         [](const auto &call) { return call.param.first; });

/* ---- unbalanced sections ---- */

TEST(Misuse, UnlockWithoutLockIsReportedAndLaterSectionsProtect)
{
    test::Worker reader, updater;
    test::CapturedErrors errors;
    reader.run([] {
        rcu_read_unlock();
        rcu_read_lock();
    });
    EXPECT_TRUE(errors.contains("rcu_read_unlock() without rcu_read_lock()")) << errors.text();
    uint64_t slept = test::stats().gp_slept;
    updater.start([] { synchronize_rcu(); });
    ASSERT_TRUE(test::eventually([&] { return test::stats().gp_slept > slept; }));
    EXPECT_FALSE(updater.is_done());
    reader.run([] { rcu_read_unlock(); });
    updater.wait();
}

TEST(Misuse, ExitInsideASectionIsReportedAndGracePeriodsContinue)
{
    test::CapturedErrors errors;
    std::thread([] { rcu_read_lock(); }).join();
    EXPECT_TRUE(errors.contains("exits inside a read-side critical section")) << errors.text();
    synchronize_rcu();
    synchronize_rcu_expedited();
}

/* Messages about a mistake that is repeated for ever are limited, so they cannot fill a disk. */
CHILD(unlocks_without_end)
{
    for (int i = 0; i < 1000000; i++)
        rcu_read_unlock();
}

TEST(Misuse, RepeatedMisuseIsCountedAndReportedAtALimitedRate)
{
    test::ChildResult result = test::run_child("unlocks_without_end");
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("; number 524288 of its kind")) << result.output;
    EXPECT_LT(result.output.size(), 10000u);
}

/* ---- the checks of debug builds ---- */

CHILD(dereference_outside)
{
    int *pointer = nullptr;
    (void)rcu_dereference_check(pointer, false);
}

CHILD(protected_without_reason)
{
    int *pointer = nullptr;
    (void)rcu_dereference_protected(pointer, pointer != nullptr);
}

CHILD(qs_lock_outside_the_discipline)
{
    rcu_read_lock_qs();
}

CHILD(qs_lock_while_offline)
{
    REQUIRE(rcu_register_thread_qsbr() == 0);
    rcu_thread_offline();
    rcu_read_lock_qs();
}

CHILD(quiescent_state_inside)
{
    REQUIRE(rcu_register_thread_qsbr() == 0);
    rcu_read_lock();
    std::thread([] { (void)start_poll_synchronize_rcu(); }).join();
    for (;;) /* ends when the misuse ends the process: once the grace period has requested a report */
        rcu_quiescent_state();
}

CHILD(barrier_at_an_exit_in_a_callback)
{
    REQUIRE(atexit(rcu_barrier) == 0);
    call_rcu(&static_head, [](rcu_head *) { exit(0); });
    for (;;) /* ends when the callback ends the process */
        pause();
}

TEST(Misuse, BarrierInAnExitHandlerThatACallbackStartedIsReported)
{
    EXPECT_TRUE(aborted(test::run_child("barrier_at_an_exit_in_a_callback"), "rcu_barrier() inside a callback"));
}

CHILD(nests_too_deep)
{
    for (int i = 0; i < 524287; i++)
        rcu_read_lock();
    fprintf(stderr, "as deep as may be\n");
    rcu_read_lock();
}

/* The running code may belong to a listed task, which is not recorded in its thread. */
CHILD(dereference_beside_a_listed_task)
{
    static int value = 7;
    static int *place = &value;
    rcu_task task;
    rcu_task_init(&task, "polled");
    rcu_read_lock();
    rcu_task_list(&task);
    REQUIRE(!rcu_read_lock_held());
    REQUIRE(*rcu_dereference_check(place, false) == 7);
    rcu_task_unlist(&task);
    fprintf(stderr, "polled\n");
    REQUIRE(*rcu_dereference_check(place, false) == 7);
}

TEST(Misuse, DebugBuildsSkipSectionChecksWhileATaskIsListed)
{
    if (!TEST_DEBUG)
        GTEST_SKIP() << "release builds do not check";
    test::ChildResult result = test::run_child("dereference_beside_a_listed_task");
    EXPECT_TRUE(result.contains("polled"));
    EXPECT_TRUE(aborted(result, "rcu_dereference_check: neither inside"))
        << "the check applies again after the section";
}

TEST(Misuse, DebugBuildsCheckDereferencesAndDisciplines)
{
    if (!TEST_DEBUG)
        GTEST_SKIP() << "release builds do not check";
    EXPECT_TRUE(aborted(test::run_child("dereference_outside"), "rcu_dereference_check: neither inside"));
    EXPECT_TRUE(aborted(test::run_child("protected_without_reason"), "pointer != nullptr"));
    EXPECT_TRUE(aborted(test::run_child("qs_lock_outside_the_discipline"), "rcu_read_lock_qs() outside"));
    test::ChildResult offline = test::run_child("qs_lock_while_offline");
    EXPECT_TRUE(aborted(offline, "rcu_read_lock_qs() of an offline thread protects nothing"));
    EXPECT_TRUE(offline.contains("call rcu_thread_online() directly after the wait")) << offline.output;
    EXPECT_TRUE(aborted(test::run_child("quiescent_state_inside"), "rcu_quiescent_state() inside"));
    test::ChildResult deep = test::run_child("nests_too_deep");
    EXPECT_TRUE(aborted(deep, "nest deeper than 524287"));
    EXPECT_TRUE(deep.contains("as deep as may be"));
}

} // namespace
