/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the length of the longest section, which code built with RTRCU_DEBUG measures. */
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

/* Wait until the clock has advanced by @ns; returns by how much it advanced. */
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

CHILD(longest_section_is_measured)
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

/* Sections that are not measured: the code of the lock or of the unlock is built without RTRCU_DEBUG. */
CHILD(sections_that_begin_without_debug)
{
    sections_plain_lock();
    pass(ms);
    sections_plain_unlock();
    REQUIRE(longest() == 0);
    sections_plain_lock();
    pass(ms);
    sections_debug_unlock();
    REQUIRE(longest() == 0);
    sections_debug_unlock(); /* a surplus unlock ends no section */
    REQUIRE(longest() == 0);
}

/* A section that was parked is not measured: its thread was outside in between. */
CHILD(sections_are_parked)
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

TEST(Sections, LongestSectionIsMeasured)
{
    EXPECT_TRUE(test::exited_well(test::run_child("longest_section_is_measured")));
}

TEST(Sections, SectionThatBeginsInCodeWithoutDebugIsNotMeasured)
{
    EXPECT_TRUE(test::exited_well(test::run_child("sections_that_begin_without_debug")));
}

TEST(Sections, ParkedSectionsAreNotMeasured)
{
    EXPECT_TRUE(test::exited_well(test::run_child("sections_are_parked")));
}

} // namespace
