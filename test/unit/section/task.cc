/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of tasks on their threads: the sections that move with a task, their ends, and the lists of tasks. */
#include <atomic>

#include "tasks.h"

using namespace test;

namespace
{

TEST_F(Task, TaskParksOnlyItsOwnSections)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_resume(&inner_);
        rcu_read_lock();
        rcu_read_lock();
        rcu_task_park(&inner_);
        EXPECT_EQ(section_nesting(), 1u) << "the outermost section is the thread's";
        rcu_read_unlock();
        EXPECT_EQ(section_nesting(), 0u);
    });
    EXPECT_TRUE(waits([&] {
        second_.run([&] {
            rcu_task_resume(&inner_);
            EXPECT_EQ(section_nesting(), 2u);
            rcu_read_unlock();
            rcu_read_unlock();
        });
    }));
}

/* The section of the running task ends while the thread stays inside a section of its own. */
TEST_F(Task, TasksSectionEndsWhileTheThreadStaysInside)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    second_.run([&] {
        rcu_read_lock();
        rcu_task_resume(&inner_);
        rcu_read_unlock();
        EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "the task's section has ended";
        EXPECT_EQ(section_nesting(), 1u);
        EXPECT_EQ(rtrcu_self.task, nullptr);
        rcu_read_unlock();
    });
}

/* Two tasks with sections are mounted on one thread, park there, and end their sections on another. */
TEST_F(Task, TwoTasksMayBeMountedOnOneThread)
{
    first_.run([&] {
        /* Give each task a listed section. */
        rcu_task_resume(&outer_);
        rcu_read_lock();
        rcu_task_park(&outer_);
        rcu_task_resume(&outer_);
        rcu_task_resume(&inner_);
        rcu_read_lock();
        rcu_task_park(&inner_);

        rcu_task_resume(&inner_);
        EXPECT_EQ(section_nesting(), 2u);
        EXPECT_EQ(rtrcu_self.task, &inner_);
        EXPECT_EQ(inner_.below, &outer_);

        rcu_task_park(&inner_);
        EXPECT_EQ(rtrcu_self.task, &outer_);
        rcu_task_park(&outer_);
        EXPECT_EQ(section_nesting(), 0u);
    });

    auto end_in_the_other_order = [&] {
        rcu_task_resume(&inner_);
        rcu_task_resume(&outer_);
        rcu_read_unlock();
        EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
        EXPECT_NE(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
        rcu_read_unlock();
        EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    };
    EXPECT_TRUE(waits([&] { second_.run(end_in_the_other_order); }));
}

/* Several operands of one expression may suspend before the first of them continues. */
TEST_F(Task, TaskParksAndResumesTwice)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_park(&inner_);
        EXPECT_EQ(section_nesting(), 0u);
        rcu_task_resume(&inner_);
        rcu_task_resume(&inner_);
        EXPECT_EQ(section_nesting(), 2u);
        rcu_read_unlock();
        EXPECT_NE(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "its outer section continues";
        rcu_read_unlock();
        EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    });
}

TEST_F(Task, SecondParkDoesNotTakeASection)
{
    first_.run([&] {
        rcu_task_resume(&inner_);
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_read_lock();
        rcu_task_park(&inner_);
        EXPECT_EQ(section_nesting(), 1u) << "this section is the thread's";
        rcu_task_resume(&inner_);
        EXPECT_EQ(section_nesting(), 2u);
        rcu_task_park(&inner_);
        rcu_task_park(&inner_);
        EXPECT_EQ(section_nesting(), 1u) << "this section is the thread's";
    });
    second_.run([&] {
        rcu_task_resume(&inner_);
        EXPECT_EQ(section_nesting(), 1u);
        rcu_read_unlock();
        rcu_task_park(&inner_);
    });
    EXPECT_TRUE(waits([&] { first_.run([] { rcu_read_unlock(); }); }));
}

TEST_F(Task, ExitEndsTheInnerTasksSectionAndUnlockTheOuterTasks)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
        rcu_task_resume(&outer_);
        rcu_task_resume(&inner_);
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&inner_);
        rcu_task_exit(&inner_);
        EXPECT_EQ(section_nesting(), 1u);
        rcu_read_unlock();
        EXPECT_EQ(rtrcu_self.task, nullptr);
        EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    });
}

/* A fiber yields inside a section, resumes on another thread, and another task takes the section over there. */
TEST_F(Task, TaskIsOutsideAfterAnotherTaskTakesItsSection)
{
    first_.run([&] {
        rcu_task_resume(&outer_);
        rcu_read_lock();
        rcu_task_park(&outer_);
    });
    second_.run([&] {
        rcu_task_resume(&outer_);
        rcu_task_list(&inner_);
        EXPECT_EQ(section_nesting(), 0u);
        EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "the outer task has no section any more";
        rcu_task_park(&outer_);
    });
    EXPECT_TRUE(waits([&] { first_.run([&] { rcu_task_unlist(&inner_); }); }));
}

/* The outer task parks while the inner one, mounted above it, continues.  Each keeps its own sections. */
TEST_F(Task, ParkOfATaskKeepsTheSectionsOfTheTaskAbove)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_); /* with one section */
        rcu_read_lock();
        rcu_read_lock();
        rcu_task_park(&inner_); /* with two */
        rcu_task_resume(&outer_);
        rcu_task_resume(&inner_);
        EXPECT_EQ(section_nesting(), 3u);

        rcu_task_park(&outer_);
        EXPECT_EQ(rtrcu_self.task, &inner_);
        EXPECT_EQ(section_nesting(), 2u) << "the sections of the inner task";

        rcu_read_unlock();
        EXPECT_NE(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "its outer section continues";
        rcu_task_park(&inner_);
        EXPECT_EQ(section_nesting(), 0u);
        rcu_task_resume(&inner_);
        rcu_read_unlock();
        EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    });

    auto end_the_outer_task = [&] {
        rcu_task_resume(&outer_);
        EXPECT_EQ(section_nesting(), 1u);
        rcu_read_unlock();
        EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    };
    EXPECT_TRUE(waits([&] { second_.run(end_the_outer_task); }));
}

TEST_F(Task, ExitOfATaskKeepsTheSectionOfTheTaskAbove)
{
    CapturedComplaints errors;
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&outer_);
        rcu_read_lock();
        rcu_task_resume(&inner_);
        rcu_task_exit(&outer_);
        EXPECT_EQ(section_nesting(), 1u);
        EXPECT_EQ(inner_.base, 0u);
        rcu_read_unlock();
        EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    });
    EXPECT_TRUE(errors.contains("task \"outer\" exits inside a read-side critical section (nesting 1)"));
}

/* ---- a task takes over the section of another: grace periods that wait for the section still do ---- */

TEST_F(Task, TakenOverSectionIsWaitedForAsBefore)
{
    for (bool own_list : {true, false}) {
        for (bool listed : {true, false}) {
            SCOPED_TRACE(testing::Message()
                         << (own_list ? "the thread's list" : "the leaf's list") << (listed ? ", listed" : ", parked"));
            second_.run([] { rtrcu_register_thread(0); });
            first_.run([&] {
                rcu_read_lock();
                (void)section_task_park(gp_, &outer_, own_list);
            });
            take_over(first_, second_, outer_, inner_, listed);
        }
    }
}

/* inner_ was never resumed: its park takes over outer_'s section, and the thread keeps the section that it opened
 * before outer_ was resumed. */
TEST_F(Task, ParkOfAnUnmountedTaskTakesOnlySectionsOfTheInnermostTask)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
    });
    second_.run([&] {
        rcu_read_lock();
        rcu_task_resume(&outer_);
        rcu_task_park(&inner_);
        EXPECT_EQ(section_nesting(), 1u);
        EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
        rcu_task_resume(&inner_);
        EXPECT_EQ(section_nesting(), 2u);
        rcu_read_unlock();
        EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
        rcu_read_unlock();
    });
}

/* A handler runs after a task's section has ended, but before the task is removed from its list.  The section that the
 * handler parks is the thread's. */
TEST_F(Task, EndedSectionIsNotTakenOver)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
    });
    second_.run([&] {
        struct lock held;
        lock_init(&held, LOCK_RANK_TASKS);
        rcu_read_lock();
        rcu_task_resume(&outer_);
        lock_acquire(&held);
        rcu_read_unlock();
        lock_release(&held);
        ASSERT_EQ(rtrcu_self.task, &outer_) << "the lock that was held prevented the removal";
        rcu_task_park(&inner_);
        EXPECT_EQ(inner_.nesting, 1u);
        EXPECT_EQ(section_nesting(), 0u);
        EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
}

/* Sections that the task had at its last park have ended, and do not count when it resumes. */
TEST_F(Task, EndedSectionIsNotResumed)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
    second_.run([&] {
        rcu_task_resume(&inner_);
        EXPECT_EQ(section_nesting(), 0u);
        EXPECT_EQ(rtrcu_self.task, nullptr) << "the task has no section here";
        rcu_task_exit(&inner_);
    });
}

TEST_F(Task, ListingAListedTaskIsReportedAndIgnored)
{
    CapturedComplaints errors;
    first_.run([&] {
        rcu_read_lock();
        rcu_read_lock();
        rcu_task_list(&inner_);
        rcu_task_list(&inner_);
        EXPECT_EQ(section_nesting(), 1u) << "the second section is still the thread's";
        rcu_task_unlist(&inner_);
        rcu_read_unlock();
    });
    EXPECT_TRUE(errors.contains("rcu_task_list() of a task that is listed; ignored"));
}

/* A thread that parks all its open sections is outside, as after an unlock: its boost ends. */
TEST_F(Task, ParkingEndsTheBoost)
{
    first_.run([&] {
        rcu_read_lock();
        reader_record *record = rtrcu_self.record;
        rtrcu_store_relaxed(&record->boost, lock_thread_number() | UINT32_C(1) << 31); /* a thread sleeps on the word */
        reader_arm_self();
        gp_actions actions = section_task_park(gp_, &inner_, true);
        EXPECT_TRUE(actions & GP_ACTION_UNLOCK_PI);
        rtrcu_store_relaxed(&record->boost, 0u);
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
}

/* rcu_task_exit() closes the task's sections.  The task may continue, without open sections. */
TEST_F(Task, ExitedTaskHasNoSection)
{
    CapturedComplaints errors;
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    rcu_task_exit(&inner_);
    EXPECT_TRUE(errors.contains("exits inside a read-side critical section"));
    second_.run([&] {
        rcu_task_resume(&inner_);
        EXPECT_EQ(section_nesting(), 0u);
        rcu_task_exit(&inner_);
    });
    EXPECT_TRUE(is_quiet());
}

/* The thread stays inside a section of its own, which began after the grace period. */
TEST_F(Task, ExitInsideAWaitedForSectionWakesTheWaiter)
{
    CapturedComplaints errors;
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    stepper.poll(true);
    second_.run([&] {
        rcu_read_lock();
        rcu_task_resume(&inner_);
        gp_actions actions = section_task_exit(gp_, &inner_);
        EXPECT_EQ(section_nesting(), 1u);
        EXPECT_TRUE(actions & GP_ACTION_WAKE_NORMAL);
        turn_perform(&rtrcu_domain.drive.turn, actions);
        rcu_read_unlock();
    });
    EXPECT_TRUE(errors.contains("exits inside a read-side critical section"));
    stepper.poll(true);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

/* A thread that exits with several tasks mounted closes the sections of each. */
TEST_F(Task, TasksMountedOnAnExitingThreadAreOnNoList)
{
    CapturedComplaints errors;
    for (rcu_task *task : {&outer_, &inner_}) {
        first_.run([&] {
            rcu_read_lock();
            rcu_task_park(task);
        });
    }
    second_.run([&] {
        rcu_task_resume(&outer_);
        rcu_task_resume(&inner_);
        turn_perform(&rtrcu_domain.drive.turn, section_task_abandon(gp_));
        EXPECT_EQ(rtrcu_self.task, nullptr);
        while (section_nesting() != 0)
            rcu_read_unlock();
    });
    EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    EXPECT_TRUE(is_quiet());
}

TEST_F(Task, ExitOfAListedSectionIsReported)
{
    CapturedComplaints errors;
    first_.run([&] {
        rcu_read_lock();
        rcu_task_list(&inner_);
        rcu_task_exit(&inner_);
    });
    EXPECT_TRUE(errors.contains("task \"inner\" exits inside a read-side critical section"));
}

TEST_F(Task, ListedSectionDoesNotKeepItsThreadInside)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_read_lock();
        rcu_task_list(&inner_);
        EXPECT_EQ(section_nesting(), 1u) << "listing takes one section from the thread";
        rcu_read_unlock();
        EXPECT_EQ(section_nesting(), 0u);
        rcu_read_lock(); /* a later poll, on this thread or another */
        rcu_read_unlock();
    });
    EXPECT_TRUE(waits([&] { second_.run([&] { rcu_task_unlist(&inner_); }); }));
    second_.run([&] { rcu_task_unlist(&inner_); });
}

/* The second thread waits for the leaf's lock, then finds the task on no list. */
TEST_F(Task, ListedSectionEndsOnceIfTwoThreadsEndIt)
{
    std::atomic<pid_t> id = 0;
    first_.run([&] {
        rcu_read_lock();
        turn_perform(&rtrcu_domain.drive.turn, section_task_list(gp_, &inner_, false));
    });
    ASSERT_EQ(inner_.where, static_cast<uint32_t>(PARKED_ON_LEAF));
    struct reader_leaf *leaf = inner_.leaf;
    reader_lock(leaf);
    second_.start([&] {
        id = static_cast<pid_t>(lock_thread_number());
        rcu_task_unlist(&inner_);
    });
    EXPECT_TRUE(test::eventually([&] { return id && (second_.is_done() || test::is_asleep(id)); }));
    EXPECT_FALSE(second_.is_done());
    EXPECT_EQ(gp_unpark(gp_, leaf, &inner_), GP_ACTION_NONE);
    reader_unlock(leaf);
    second_.wait();
    EXPECT_EQ(parked_on_leaf(leaf), 0u);
}

TEST_F(Task, ListingOutsideASectionIsReportedAndIgnored)
{
    CapturedComplaints errors;
    first_.run([&] { rcu_task_list(&inner_); });
    EXPECT_TRUE(errors.contains("rcu_task_list() outside a read-side critical section; ignored"));
}

/* ---- threads that have no record when the task resumes there ---- */

TEST_F(Task, SectionsNestOnAThreadThatNeverRead)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    EXPECT_TRUE(waits([&] {
        second_.run([&] {
            rcu_task_resume(&inner_);
            EXPECT_NE(rtrcu_self.record, nullptr)
                << "the resume registers the thread, so that its exit closes the section";
            rcu_read_lock();
            rcu_read_unlock();
            rcu_read_unlock();
            EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE))
                << "the outermost unlock removed it from the list";
        });
    }));
}

void nothing(struct rcu_head *)
{
}

TEST_F(Task, CallRcuInATaskRegistersAThreadThatNeverRead)
{
    static struct rcu_head head;
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    EXPECT_TRUE(waits([&] {
        second_.run([&] {
            rcu_task_resume(&inner_);
            call_rcu(&head, nothing); /* registers */
            rcu_read_unlock();
            EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
        });
    }));
    rcu_barrier();
}

/* `mounted` is 0 in a task that runs on no thread.  This test lets the ids begin again; no other task is mounted. */
TEST_F(Task, MountIdIsNeverZero)
{
    uint32_t given = rtrcu_exchange(&registry->mount_ids, 0);
    first_.run([&] {
        rcu_task_resume(&inner_);
        EXPECT_NE(inner_.mounted, 0u);
        EXPECT_EQ(inner_.mounted, rtrcu_self.mount_id);
        rcu_task_park(&inner_);
    });
    rtrcu_store_relaxed(&registry->mount_ids, given);
}

/* A grace period can boost a task only on a thread that is scanned. */
TEST_F(Task, ThreadThatRunsATaskIsScanned)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    second_.run([&] {
        rtrcu_register_thread(0);
        struct reader_leaf *leaf = reader_leaf_of(rtrcu_self.record);
        uint32_t bit = reader_bit(rtrcu_self.record);
        rtrcu_self.record->outside_scans = 1;
        reader_lock(leaf);
        (void)reader_idle_propose(leaf, 1);
        reader_idle_settle(leaf, bit);
        reader_unlock(leaf);
        ASSERT_FALSE(reader_scanned_slots(leaf) & bit);
        rcu_task_resume(&inner_);
        EXPECT_TRUE(reader_scanned_slots(leaf) & bit);
        rcu_read_unlock();
    });
}

} // namespace
