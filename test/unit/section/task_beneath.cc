/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tasks that run without a section of their own: what lies beneath them, and what becomes of that. */
#include <memory>

#include "tasks.h"

using namespace test;

namespace
{

/* What lies beneath a task that came without a section is taken away while it runs: its own is what it opens, with the
 * same nesting or less than it came at, whoever runs beneath it. */
TEST_F(Task, WhatIsTakenFromBeneathATaskIsNotItsOwn)
{
    for (bool listed : {true, false}) {
        SCOPED_TRACE(listed ? "listed" : "parked");
        rcu_task third;
        rcu_task_init(&third, "third");
        first_.run([&] {
            rcu_read_lock();
            rcu_task_resume(&outer_);
            rcu_task_resume(&inner_);
            listed ? rcu_task_list(&third) : rcu_task_park(&third);
            EXPECT_EQ(section_nesting(), 0u);
            rcu_read_lock();
            rcu_task_park(&inner_);
            EXPECT_NE(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
            EXPECT_EQ(section_nesting(), 0u);
            rcu_read_lock();
            rcu_read_lock();
            rcu_task_park(&outer_);
            EXPECT_NE(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
            EXPECT_EQ(section_nesting(), 0u);
        });
        if (listed)
            rcu_task_unlist(&third);
        EXPECT_TRUE(waits([&] {
            second_.run([&] {
                if (!listed) {
                    rcu_task_resume(&third);
                    rcu_read_unlock();
                }
                rcu_task_resume(&inner_);
                EXPECT_EQ(section_nesting(), 1u);
                rcu_read_unlock();
                rcu_task_resume(&outer_);
                EXPECT_EQ(section_nesting(), 2u);
                rcu_read_unlock();
                rcu_read_unlock();
                rcu_task_park(&outer_);
                rcu_task_park(&inner_);
            });
        }));
    }
}

/* The same where the task above leaves without a section: what it knew of the one beneath it stays. */
TEST_F(Task, WhoLeavesWithoutASectionSaysWhatLiesBeneathTheNext)
{
    for (bool exits : {true, false}) {
        SCOPED_TRACE(exits ? "exits" : "parks");
        rcu_task third;
        rcu_task_init(&third, "third");
        first_.run([&] {
            rcu_read_lock();
            rcu_task_resume(&outer_);
            rcu_task_resume(&inner_);
            rcu_task_list(&third);
            exits ? rcu_task_exit(&inner_) : rcu_task_park(&inner_);
            rcu_read_lock();
            rcu_task_park(&outer_);
            EXPECT_EQ(outer_.nesting, 1u) << "its own";
            EXPECT_EQ(section_nesting(), 0u);
        });
        rcu_task_unlist(&third);
        EXPECT_TRUE(waits([&] {
            second_.run([&] {
                rcu_task_resume(&outer_);
                rcu_read_unlock();
                rcu_task_park(&outer_);
            });
        }));
    }
}

/* It leaves first, and what is taken away goes behind it: the next is the innermost again. */
TEST_F(Task, WhoExitsWithoutASectionIsForgotten)
{
    rcu_task third;
    rcu_task_init(&third, "third");
    first_.run([&] {
        rcu_read_lock();
        rcu_task_resume(&outer_);
        rcu_task_resume(&inner_);
        rcu_task_exit(&inner_);
        EXPECT_EQ(rtrcu_self.bare, &outer_);
        rcu_task_list(&third);
        rcu_read_lock();
        rcu_task_park(&outer_);
        EXPECT_EQ(outer_.nesting, 1u) << "its own";
        EXPECT_EQ(section_nesting(), 0u);
    });
    rcu_task_unlist(&third);
    EXPECT_TRUE(waits([&] {
        second_.run([&] {
            rcu_task_resume(&outer_);
            rcu_read_unlock();
        });
    }));
}

/* A task that comes above one that has lost what lay beneath it leaves that one as it was. */
TEST_F(Task, ATaskAboveRemembersWhatLiesBeneathBoth)
{
    rcu_task third;
    rcu_task_init(&third, "third");
    first_.run([&] {
        rcu_read_lock();
        rcu_task_resume(&outer_);
        rcu_task_list(&third);
        rcu_read_lock();
        rcu_task_resume(&inner_);
        rcu_read_lock();
        rcu_task_exit(&inner_);
        EXPECT_EQ(section_nesting(), 1u);
        rcu_task_park(&outer_);
        EXPECT_EQ(outer_.nesting, 1u);
        EXPECT_EQ(section_nesting(), 0u);
    });
    rcu_task_unlist(&third);
    EXPECT_TRUE(waits([&] {
        second_.run([&] {
            rcu_task_resume(&outer_);
            rcu_read_unlock();
        });
    }));
}

/* The same beneath a task whose section has ended there: what it opens then goes with it, the thread is outside. */
TEST_F(Task, WhatIsTakenFromBeneathATaskThatHasEndedIsNotItsOwn)
{
    rcu_task third;
    rcu_task_init(&third, "third");
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_read_lock();
        rcu_task_resume(&outer_);
        rcu_read_unlock();
        rcu_task_resume(&inner_);
        rcu_read_unlock();
        rcu_task_list(&third);
        EXPECT_EQ(section_nesting(), 0u);
        park_both();
    });
    rcu_task_unlist(&third);
    end_both();
}

/* A task above, which came without a section and takes its own from the one that ends so, is the innermost still. */
TEST_F(Task, WhoTakesTheSectionOfTheTaskBeneathStaysAbove)
{
    rcu_task third;
    rcu_task_init(&third, "third");
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
        rcu_task_resume(&outer_);
        rcu_task_resume(&inner_);
        rcu_task_list(&third);
        EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "its section is the third task's";
        park_both();
    });
    rcu_task_unlist(&third);
    end_both();
}

/* One that was forgotten behind its section comes back with another: what lay beneath it then means nothing. */
TEST_F(Task, WhoWasForgottenComesBackAboveWhatIsThere)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
    second_.run([&] {
        rcu_task_resume(&inner_);
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    first_.run([&] {
        rcu_read_lock();
        rcu_task_resume(&inner_);
        rcu_task_park(&inner_);
        EXPECT_EQ(section_nesting(), 1u) << "the thread's own";
        rcu_read_unlock();
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
}

/* A scheduler may forget a task without a section on its thread and let its memory go: nobody looks into it. */
TEST_F(Task, WhoForgetsATaskWithoutASectionIsNotLookedInto)
{
    first_.run([&] {
        auto gone = std::make_unique<rcu_task>();
        rcu_task_init(gone.get(), "gone");
        rcu_task_resume(gone.get());
        gone.reset();
        rcu_task_resume(&inner_);
        rcu_read_lock();
        rcu_task_park(&inner_);
        EXPECT_EQ(inner_.nesting, 1u);
        rcu_task_resume(&inner_);
        rcu_read_unlock();
        rcu_task_exit(&inner_);
    });
}

/* The outer task, which has no section, parks while the inner runs on it: what is open came with the inner one. */
TEST_F(Task, WithoutASectionTakesNothingOfWhatRunsOnIt)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&outer_);
        rcu_task_resume(&inner_);
        rcu_task_park(&outer_);
        EXPECT_EQ(outer_.nesting, 0u);
        EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
        EXPECT_EQ(section_nesting(), 1u);
        rcu_read_unlock();
        EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    });
}

} // namespace
