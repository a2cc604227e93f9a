/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fixture of the tests of tasks: two worker threads, two tasks, and the process's own grace periods, which the tests
 * advance step by step. */
#pragma once

#include <gtest/gtest.h>

#include "../../support/complaints.h"
#include "../../support/internals.h"
#include "../../support/sync.h"

namespace test
{

inline struct gp *const gp_ = &rtrcu_domain.gp;
inline reader_registry *const registry = &rtrcu_domain.registry;

/* Returns whether a grace period that begins now waits for a reader.  @leave ends the wait. */
template <typename Leave> bool waits(Leave leave)
{
    GpStepper stepper(gp_);
    bool busy = stepper.begin_and_scan();
    for (int i = 0; i < 3; i++)
        stepper.poll(true);
    busy = busy && !stepper.is_clear();
    leave();
    stepper.poll(true);
    EXPECT_TRUE(stepper.is_clear()) << "the grace period still waits for a reader";
    if (stepper.is_clear())
        stepper.end();
    return busy;
}

inline bool is_quiet()
{
    return !waits([] {});
}

/* The number of counted tasks. */
inline int counted()
{
    const struct rtrcu_link *head = &parked_leaf(registry->leaf[0])->counted.tasks;
    int count = 0;
    for (const struct rtrcu_link *link = head->next; link != head; link = link->next)
        count++;
    return count;
}

class Task : public testing::Test
{
  protected:
    Worker first_, second_;
    rcu_task outer_, inner_;

    void SetUp() override
    {
        rcu_task_init(&outer_, "outer");
        rcu_task_init(&inner_, "inner");
    }
    /* The calling thread opens a section in each task and parks it.  Afterwards the thread is outside. */
    void park_both()
    {
        rcu_read_lock();
        rcu_task_park(&inner_);
        EXPECT_EQ(inner_.nesting, 1u);
        rcu_read_lock();
        rcu_task_park(&outer_);
        EXPECT_EQ(outer_.nesting, 1u);
        EXPECT_EQ(section_nesting(), 0u);
    }
    void end_both()
    {
        second_.run([&] {
            rcu_task_resume(&inner_);
            rcu_read_unlock();
            rcu_task_resume(&outer_);
            rcu_read_unlock();
        });
    }
    void TearDown() override
    {
        first_.finish();
        second_.finish();
        EXPECT_EQ(registry->anonymous, 0u);
        EXPECT_EQ(counted(), 0);
        EXPECT_TRUE(is_quiet());
        EXPECT_FALSE(parked_any(registry)) << "tasks that do not exist are counted";
    }
};

/* A grace period waits for a section with which @outer has parked.  @outer resumes on @second, where @inner takes the
 * section over; it ends on @first. */
inline void take_over(Worker &first, Worker &second, rcu_task &outer, rcu_task &inner, bool listed)
{
    GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    stepper.poll(true);
    bool waited_for = rcu_task_blocking(&outer);
    bool is_told = waited_for && !parked_is_counted(outer.where);
    uint32_t came = gp_tasks_came(gp_, GP_NORMAL);
    second.run([&] {
        rcu_task_resume(&outer);
        listed ? rcu_task_list(&inner) : rcu_task_park(&inner);
        EXPECT_EQ(section_nesting(), 0u);
        EXPECT_EQ(outer.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "the other task has taken its section over";
    });
    stepper.poll(true);
    EXPECT_FALSE(stepper.is_clear());
    EXPECT_EQ(rcu_task_blocking(&inner), waited_for);
    EXPECT_EQ(gp_tasks_came(gp_, GP_NORMAL), came + is_told) << "the scheduler of @inner is notified of an arrival";
    first.run([&] {
        if (listed) {
            rcu_task_unlist(&inner);
        } else {
            rcu_task_resume(&inner);
            rcu_read_unlock();
        }
        EXPECT_EQ(inner.where, static_cast<uint32_t>(PARKED_NOWHERE));
    });
    stepper.poll(true);
    EXPECT_TRUE(stepper.is_clear());
    if (stepper.is_clear())
        stepper.end();
}

} // namespace test
