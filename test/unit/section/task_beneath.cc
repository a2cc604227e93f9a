/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of tasks that run without a section of their own, above open sections of their thread.
 *
 * The thread's nesting when such a task resumes is the task's base.  In these tests the taker, another task, takes the
 * thread's section over while the task runs.  So the nesting falls below the base, and sections that the task opens
 * afterwards must still count as the task's own. */
#include <initializer_list>
#include <memory>

#include "tasks.h"

using namespace test;

namespace
{

bool holds_a_parked_section(const rcu_task &task)
{
    return task.where != static_cast<uint32_t>(PARKED_NOWHERE);
}

/* Open a section of the calling thread, and mount @tasks above it in this order, without sections of their own. */
void open_section_below(std::initializer_list<rcu_task *> tasks)
{
    rcu_read_lock();
    for (rcu_task *task : tasks)
        rcu_task_resume(task);
}

/* @task, which has no section, opens @sections and parks with them.  The thread is outside afterwards. */
void open_and_park(rcu_task &task, uint32_t sections)
{
    for (uint32_t i = 0; i < sections; i++)
        rcu_read_lock();
    rcu_task_park(&task);
    EXPECT_EQ(task.nesting, sections) << "sections of the task";
    EXPECT_TRUE(holds_a_parked_section(task));
    EXPECT_EQ(section_nesting(), 0u) << "sections of the thread";
}

/* Resume @task, which parked with @sections, on a thread that is outside, and end them. */
void resume_and_end(rcu_task &task, uint32_t sections)
{
    rcu_task_resume(&task);
    EXPECT_EQ(section_nesting(), sections);
    for (uint32_t i = 0; i < sections; i++)
        rcu_read_unlock();
}

/* Returns whether a grace period that begins now waits until @thread has run @leave. */
template <typename Leave> bool waits_until(Worker &thread, Leave leave)
{
    return waits([&] { thread.run(leave); });
}

/* Another task, which takes over a section that is open on the thread. */
class Taker
{
    rcu_task task_;
    const bool lists_; /* takes the section over by rcu_task_list(); otherwise by rcu_task_park() */

  public:
    explicit Taker(bool lists = true) : lists_(lists)
    {
        rcu_task_init(&task_, "taker");
    }
    /* Take over the section that is open on the calling thread. */
    void take()
    {
        lists_ ? rcu_task_list(&task_) : rcu_task_park(&task_);
    }
    void end()
    {
        if (lists_) {
            rcu_task_unlist(&task_);
        } else {
            rcu_task_resume(&task_);
            rcu_read_unlock();
        }
    }
};

TEST_F(Task, SectionsCountAsTheTasksOwnAfterItTakesOverASection)
{
    for (bool lists : {true, false}) {
        SCOPED_TRACE(lists ? "taken over by rcu_task_list()" : "taken over by rcu_task_park()");
        Taker taker(lists);

        first_.run([&] {
            open_section_below({&outer_, &inner_});
            taker.take();
            EXPECT_EQ(section_nesting(), 0u);
            open_and_park(inner_, 1);
            open_and_park(outer_, 2); /* more sections than the task's former base of 1 */
        });

        second_.run([&] { taker.end(); });
        EXPECT_TRUE(waits_until(second_, [&] {
            resume_and_end(inner_, 1);
            resume_and_end(outer_, 2);
            rcu_task_park(&outer_);
            rcu_task_park(&inner_);
        }));
    }
}

/* The inner task stores the base of the outer one, and restores it when it exits or parks. */
TEST_F(Task, ExitOrParkOfATaskRestoresTheBaseBelow)
{
    for (auto leave : {rcu_task_exit, rcu_task_park}) {
        SCOPED_TRACE(leave == rcu_task_exit ? "exits" : "parks");
        Taker taker;

        first_.run([&] {
            open_section_below({&outer_, &inner_});
            taker.take();
            leave(&inner_);
            open_and_park(outer_, 1);
        });

        second_.run([&] { taker.end(); });
        EXPECT_TRUE(waits_until(second_, [&] {
            resume_and_end(outer_, 1);
            rcu_task_park(&outer_);
        }));
    }
}

/* The inner task, which has no section, exits before another task takes over the thread's section. */
TEST_F(Task, TaskThatExitsWithoutASectionIsForgotten)
{
    Taker taker;

    first_.run([&] {
        open_section_below({&outer_, &inner_});
        rcu_task_exit(&inner_);
        EXPECT_EQ(rtrcu_self.bare, &outer_) << "the outer task is the innermost one without a section";
        taker.take();
        open_and_park(outer_, 1);
    });

    second_.run([&] { taker.end(); });
    EXPECT_TRUE(waits_until(second_, [&] { resume_and_end(outer_, 1); }));
}

/* The inner task resumes above a section that the outer one has opened since the takeover. */
TEST_F(Task, ResumeAfterATakeoverKeepsTheBaseBelow)
{
    Taker taker;

    first_.run([&] {
        open_section_below({&outer_});
        taker.take();
        rcu_read_lock(); /* a section of the outer task */
        rcu_task_resume(&inner_);
        rcu_read_lock(); /* a section of the inner task */
        rcu_task_exit(&inner_);
        EXPECT_EQ(section_nesting(), 1u);
        rcu_task_park(&outer_);
        EXPECT_EQ(outer_.nesting, 1u) << "sections of the task";
        EXPECT_EQ(section_nesting(), 0u) << "sections of the thread";
    });

    second_.run([&] { taker.end(); });
    EXPECT_TRUE(waits_until(second_, [&] { resume_and_end(outer_, 1); }));
}

/* Both tasks resume with a section, and end it before the takeover. */
TEST_F(Task, SectionsCountAsTheTasksOwnAfterItsFirstEnded)
{
    Taker taker;

    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
        rcu_read_lock();
        rcu_task_park(&inner_);

        rcu_read_lock(); /* a section of the thread */
        rcu_task_resume(&outer_);
        rcu_read_unlock();
        rcu_task_resume(&inner_);
        rcu_read_unlock();
        taker.take();
        EXPECT_EQ(section_nesting(), 0u);
        park_both();
    });

    second_.run([&] { taker.end(); });
    end_both();
}

/* The taker takes the outer task's section, while the inner task runs above it without one. */
TEST_F(Task, TaskThatTakesOverTheLowerSectionStaysAbove)
{
    Taker taker;

    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
        rcu_task_resume(&outer_);
        rcu_task_resume(&inner_);
        taker.take();
        EXPECT_FALSE(holds_a_parked_section(outer_)) << "the taker has its section";
        park_both();
    });

    second_.run([&] { taker.end(); });
    end_both();
}

/* When the task's section ends on the first thread, that thread forgets the task and its base. */
TEST_F(Task, TaskResumedAboveTheThreadsSectionParksOnlyItsOwn)
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
        rcu_read_lock(); /* a section of the thread */
        rcu_task_resume(&inner_);
        rcu_task_park(&inner_);
        EXPECT_EQ(section_nesting(), 1u) << "sections of the thread";
        rcu_read_unlock();
        resume_and_end(inner_, 1);
    });
}

/* A scheduler may drop a task without a section that is still mounted, and free its memory. */
TEST_F(Task, ForgottenTaskIsNotDereferenced)
{
    first_.run([&] {
        auto dropped = std::make_unique<rcu_task>();
        rcu_task_init(dropped.get(), "dropped");
        rcu_task_resume(dropped.get());
        dropped.reset();

        rcu_task_resume(&inner_);
        open_and_park(inner_, 1);
        resume_and_end(inner_, 1);
        rcu_task_exit(&inner_);
    });
}

/* The outer task, which has no section, parks while the inner one runs with its section. */
TEST_F(Task, TaskWithoutASectionDoesNotTakeSectionsOfLaterTasks)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&outer_);
        rcu_task_resume(&inner_);

        rcu_task_park(&outer_);
        EXPECT_EQ(outer_.nesting, 0u);
        EXPECT_FALSE(holds_a_parked_section(outer_));
        EXPECT_EQ(section_nesting(), 1u) << "the section of the inner task";

        rcu_read_unlock();
        EXPECT_FALSE(holds_a_parked_section(inner_));
    });
}

} // namespace
