/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tasks whose threads can have no record: they are counted. */
#include <csignal>

#include "tasks.h"

using namespace test;

namespace
{

/* No record can be had at first: all slots are taken and the registry is as large as it gets. */
class NoRecord : public Task
{
  protected:
    uint32_t used_ = 0;
    size_t bytes_ = 0;

    void SetUp() override
    {
        Task::SetUp();
        ASSERT_EQ(registry->leaf_count, 1u);
        refuse();
    }
    void refuse()
    {
        used_ = registry->leaf[0]->used;
        rtrcu_store_relaxed(&registry->leaf[0]->used, UINT32_MAX); /* other tests' threads may still be ending */
        bytes_ = registry->plan.bytes;
        registry->plan.bytes = SIZE_MAX / 2; /* more than any machine has */
    }
    void allow()
    {
        registry->plan.bytes = bytes_;
        rtrcu_store_relaxed(&registry->leaf[0]->used, used_);
    }
};

TEST_F(NoRecord, AReaderThatRegistersInsideIsNoLongerCountedBehind)
{
    first_.run([&] {
        rcu_read_lock();
        EXPECT_EQ(rtrcu_self.record, nullptr);
        EXPECT_EQ(registry->anonymous, 1u);
        allow();
        rcu_read_lock();
        EXPECT_NE(rtrcu_self.record, nullptr);
        EXPECT_EQ(registry->anonymous, 1u) << "counted until its section ends";
        rcu_read_unlock();
        rcu_read_unlock();
        EXPECT_EQ(registry->anonymous, 0u);
    });
}

TEST_F(NoRecord, ASectionLeavesSignalsOpen)
{
    auto is_open = [] {
        sigset_t now;
        pthread_sigmask(SIG_SETMASK, nullptr, &now);
        return sigismember(&now, SIGUSR1) == 0;
    };
    first_.run([&] {
        rcu_read_lock();
        EXPECT_TRUE(is_open());
        rcu_read_unlock();
        EXPECT_TRUE(is_open());
    });
    allow();
}

TEST_F(NoRecord, WhatAnotherTookOverIsWaitedForAsBefore)
{
    for (bool listed : {true, false}) {
        SCOPED_TRACE(listed ? "listed" : "parked");
        first_.run([&] {
            rcu_read_lock();
            rcu_task_park(&outer_);
        });
        allow();
        second_.run([] { rtrcu_register_thread(0); });
        take_over(first_, second_, outer_, inner_, listed);
        second_.run([] { rtrcu_unregister_thread(); });
        refuse();
    }
    allow();
}

TEST_F(NoRecord, ATaskThatExitsIsNoLongerCounted)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    allow();
    EXPECT_EQ(registry->anonymous_parked[0] + registry->anonymous_parked[1], 1u);
    rcu_task_exit(&inner_);
    EXPECT_EQ(registry->anonymous_parked[0] + registry->anonymous_parked[1], 0u);
    EXPECT_EQ(registry->anonymous, 0u);
}

/* The section began without a record: only the count speaks for it, whatever record the thread has when it parks. */
TEST_F(NoRecord, ATaskOfASectionThatIsCountedStaysCounted)
{
    first_.run([&] { rcu_read_lock(); });
    EXPECT_EQ(registry->anonymous, 1u);
    allow();
    test::Crank crank(gp_);
    crank.begin_and_scan();
    EXPECT_FALSE(crank.is_clear());
    crank.poll(true); /* threads that enter from now on are counted in the other group */
    first_.run([&] {
        rcu_task_park(&inner_);
        EXPECT_NE(rtrcu_self.record, nullptr);
    });
    crank.poll(true);
    EXPECT_FALSE(crank.is_clear()) << "the task is inside still";
    second_.run([&] {
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
    crank.poll(true);
    EXPECT_TRUE(crank.is_clear());
    crank.end();
}

TEST_F(NoRecord, ATaskStaysCountedWhereverItEnds)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_resume(&inner_);
        rcu_read_lock();
        rcu_task_park(&inner_);
        EXPECT_EQ(registry->anonymous, 2u) << "the task, and the thread";
        EXPECT_EQ(registry->anonymous_parked[0] + registry->anonymous_parked[1], 1u);
        rcu_read_unlock();
        EXPECT_EQ(registry->anonymous, 1u);
    });
    allow();
    EXPECT_TRUE(waits([&] {
        second_.run([&] {
            rcu_task_resume(&inner_);
            EXPECT_EQ(registry->anonymous_parked[0] + registry->anonymous_parked[1], 0u);
            rcu_read_lock();
            rcu_read_unlock();
            EXPECT_EQ(registry->anonymous, 1u);
            rcu_read_unlock();
            EXPECT_EQ(registry->anonymous, 0u);
        });
    }));
}

TEST_F(Task, AThreadThatEndsClosesTheSectionsOfItsTasks)
{
    CapturedComplaints errors;
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&inner_);
    });
    first_.finish();
    EXPECT_TRUE(errors.contains("while task \"inner\" runs on it"));
    EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
}

/* The switch to full fences must see a park that takes the flag back. */
/* Whoever waits for one of them alone is woken. */
TEST_F(Task, AThreadThatEndsReportsForItsTasks)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
    });
    test::Crank crank(gp_);
    EXPECT_TRUE(crank.begin_and_scan());
    for (int i = 0; i < 3; i++)
        crank.poll(true);
    EXPECT_FALSE(crank.is_clear());
    gp_actions actions = GP_ACTION_NONE;
    first_.run([&] {
        test::CapturedComplaints said;
        rcu_task_resume(&outer_);
        actions = section_leave(gp_, true);
    });
    EXPECT_TRUE(actions & GP_ACTION_WAKE_NORMAL);
    ASSERT_TRUE(crank.is_clear());
    crank.end();
}

TEST_F(Task, ParkIsACountedSlowPath)
{
    first_.run([&] {
        rcu_read_lock();
        reader_arm_self();
        rcu_task_park(&inner_); /* a debug build checks INV-RD2 */
        EXPECT_EQ(rtrcu_self.slow, 0u);
        EXPECT_EQ(rtrcu_word_read() >> 24, RTRCU_FLAG_FAST);
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
}

TEST_F(NoRecord, ATaskThatParksAgainIsCountedAgain)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&inner_);
        rcu_task_park(&inner_);
        EXPECT_EQ(registry->anonymous_parked[0] + registry->anonymous_parked[1], 1u);
    });
    allow();
    second_.run([&] {
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
}

TEST_F(Task, TheSectionOfTheTaskThatWasResumedLastIsTakenOver)
{
    rcu_task third;
    rcu_task_init(&third, "third");
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    Crank crank(gp_);
    EXPECT_TRUE(crank.begin_and_scan());
    crank.poll(true);
    EXPECT_TRUE(rcu_task_blocking(&inner_));
    second_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
    });
    EXPECT_FALSE(rcu_task_blocking(&outer_));
    second_.run([&] {
        rcu_task_resume(&outer_);
        rcu_task_resume(&inner_);
        rcu_task_list(&third);
    });
    EXPECT_TRUE(rcu_task_blocking(&third));
    second_.run([&] { rcu_read_unlock(); });
    crank.poll(true);
    EXPECT_FALSE(crank.is_clear());
    rcu_task_unlist(&third);
    crank.poll(true);
    EXPECT_TRUE(crank.is_clear());
    crank.end();
}

} // namespace
