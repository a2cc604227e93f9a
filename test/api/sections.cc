/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How long sections take: the longest of code that is built with RTRCU_DEBUG is known, and none that was not measured.
 */
#include <ctime>

#include "child.h"

extern "C" {
void sections_debug_lock(void);
void sections_debug_unlock(void);
void sections_debug_around(int64_t (*body)(int64_t ns), int64_t ns);
void sections_plain_lock(void);
void sections_plain_unlock(void);
}

namespace
{

int64_t now_ns()
{
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Until the clock has gone on by so much; how far it went. */
int64_t pass(int64_t ns)
{
    const int64_t begin = now_ns();
    while (now_ns() < begin + ns)
        ;
    return now_ns() - begin;
}

constexpr int64_t ms = 1000000;

uint64_t longest()
{
    return test::stats().section_ns_max;
}

CHILD(measured)
{
    REQUIRE(longest() == 0);
    const int64_t begin = now_ns();
    sections_debug_around(pass, 2 * ms);
    const uint64_t first = longest();
    REQUIRE(first >= 2 * ms && first <= static_cast<uint64_t>(now_ns() - begin));
    const uint64_t place = test::stats().section_longest, code = reinterpret_cast<uintptr_t>(sections_debug_around);
    REQUIRE(place > code && place < code + 1024);
    sections_debug_around(pass, static_cast<int64_t>(first) + 1);
    const uint64_t second = longest();
    REQUIRE(second > first);
    for (int i = 0; i < 1000 && longest() == second; i++) {
        sections_debug_lock();
        sections_debug_unlock();
    }
    REQUIRE(longest() >= second);
}

/* Locks and unlocks that are not both of such code. */
CHILD(not_measured)
{
    sections_plain_lock();
    pass(ms);
    sections_plain_unlock();
    REQUIRE(longest() == 0);
    sections_plain_lock();
    pass(ms);
    sections_debug_unlock();
    REQUIRE(longest() == 0);
    sections_debug_unlock(); /* one too many is no end of a section */
    REQUIRE(longest() == 0);
}

/* A section that was parked did not keep this thread inside, and what the thread went on with began at another time. */
CHILD(parked)
{
    rcu_task task, other;
    rtrcu_task_init(&task, "task");
    rtrcu_task_init(&other, "other");
    for (rcu_task *one : {&task, &other}) {
        rcu_task_resume(one);
        sections_debug_lock();
        rcu_task_park(one);
    }
    for (rcu_task *one : {&task, &other}) {
        pass(ms);
        rcu_task_resume(one);
        sections_debug_unlock();
        rcu_task_park(one);
        rcu_task_exit(one);
        REQUIRE(longest() == 0);
    }
    sections_debug_around(pass, ms);
    REQUIRE(longest() >= ms);
}

TEST(Sections, TheLongestIsMeasured)
{
    EXPECT_TRUE(test::exited_well(test::run_child("measured")));
}

TEST(Sections, WithoutABeginningNoneIsMeasured)
{
    EXPECT_TRUE(test::exited_well(test::run_child("not_measured")));
}

TEST(Sections, ParkedOnesAreNotMeasured)
{
    EXPECT_TRUE(test::exited_well(test::run_child("parked")));
}

} // namespace
