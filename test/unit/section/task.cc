/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tasks on their threads: whose share moves, when a section ends, and whose list it is on. */
#include <atomic>

#include "tasks.h"

using namespace test;

namespace
{

TEST_F(Task, TakesItsOwnShareAndLeavesTheThreadItsSections)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_resume(&inner_);
        rcu_read_lock();
        rcu_read_lock();
        rcu_task_park(&inner_);
        EXPECT_EQ(section_nesting(), 1u) << "the section beneath is the thread's";
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

/* The section of the task that runs inside ends while the thread stays inside one of its own. */
TEST_F(Task, EndsAboveTheSectionsBeneathIt)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    second_.run([&] {
        rcu_read_lock();
        rcu_task_resume(&inner_);
        rcu_read_unlock();
        EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "its section has ended";
        EXPECT_EQ(section_nesting(), 1u);
        EXPECT_EQ(rtrcu_self.task, nullptr);
        rcu_read_unlock();
    });
}

/* Two tasks with listed sections on one thread, the inner polled by the outer; the outer parks while the inner is
 * parked, and both end elsewhere in the other order. */
TEST_F(Task, SeveralAreMountedAtOnce)
{
    first_.run([&] {
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
    EXPECT_TRUE(waits([&] {
        second_.run([&] {
            rcu_task_resume(&inner_);
            rcu_task_resume(&outer_);
            rcu_read_unlock();
            EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
            EXPECT_NE(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
            rcu_read_unlock();
            EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
        });
    }));
}

/* Compilers may begin to suspend in several operands of one expression before the first has gone on. */
TEST_F(Task, ParksAndResumesTwiceInARow)
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
        EXPECT_NE(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "its outer section goes on";
        rcu_read_unlock();
        EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    });
}

TEST_F(Task, ParkedAlreadyTakesNothingMore)
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

TEST_F(Task, TwoEndAtOnce)
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

/* A fiber yields inside a section that is listed for good only later, elsewhere. */
TEST_F(Task, ASectionThatIsListedLaterLeavesItsTaskOutside)
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
        EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "it has no section of its own any more";
        rcu_task_park(&outer_);
    });
    EXPECT_TRUE(waits([&] { first_.run([&] { rcu_task_unlist(&inner_); }); }));
}

/* The outer task parks while the inner runs on it, which is not how tasks are switched: each keeps its own. */
TEST_F(Task, LeavesWhatRunsOnItToTheThread)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
        rcu_read_lock();
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&outer_);
        rcu_task_resume(&inner_);
        EXPECT_EQ(section_nesting(), 3u);
        rcu_task_park(&outer_);
        EXPECT_EQ(rtrcu_self.task, &inner_);
        EXPECT_EQ(section_nesting(), 2u);
        rcu_read_unlock();
        EXPECT_NE(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "its outer section goes on";
        rcu_task_park(&inner_);
        EXPECT_EQ(section_nesting(), 0u);
        rcu_task_resume(&inner_);
        rcu_read_unlock();
        EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    });
    EXPECT_TRUE(waits([&] {
        second_.run([&] {
            rcu_task_resume(&outer_);
            EXPECT_EQ(section_nesting(), 1u);
            rcu_read_unlock();
            EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
        });
    }));
}

TEST_F(Task, ExitsBeneathAnotherThatKeepsItsSection)
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

/* ---- a section that one task brought along becomes another's: whoever waits for it goes on waiting ---- */

TEST_F(Task, WhatAnotherTookOverIsWaitedForAsBefore)
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

TEST_F(Task, ParkedWithoutResumeLeavesTheThreadWhatIsBeneathTheOtherTask)
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

/* A handler may come where a task's section has ended and its end could not be said yet: what it parks then is the
 * thread's own, which lies beneath. */
TEST_F(Task, ASectionThatHasEndedIsTakenOverByNobody)
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
        ASSERT_EQ(rtrcu_self.task, &outer_) << "its end could not be said";
        rcu_task_park(&inner_);
        EXPECT_EQ(inner_.nesting, 1u);
        EXPECT_EQ(section_nesting(), 0u);
        EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
}

/* What it had when it parked last means nothing once its section has ended. */
TEST_F(Task, BringsNothingAlongOnceItsSectionHasEnded)
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
        EXPECT_EQ(rtrcu_self.task, nullptr) << "no section of it can end here";
        rcu_task_exit(&inner_);
    });
}

TEST_F(Task, ListOfATaskThatIsListedIsSaidAndIgnored)
{
    CapturedComplaints errors;
    first_.run([&] {
        rcu_read_lock();
        rcu_read_lock();
        rcu_task_list(&inner_);
        rcu_task_list(&inner_);
        EXPECT_EQ(section_nesting(), 1u) << "the second is the thread's still";
        rcu_task_unlist(&inner_);
        rcu_read_unlock();
    });
    EXPECT_TRUE(errors.contains("rcu_task_list() of a task that is listed; ignored"));
}

/* A thread that parks all that it has open is outside, as behind an unlock: its boost ends. */
TEST_F(Task, WhoParksEndsItsBoost)
{
    first_.run([&] {
        rcu_read_lock();
        reader_record *record = rtrcu_self.record;
        rtrcu_store_relaxed(&record->boost, lock_thread_number() | UINT32_C(1) << 31); /* and somebody sleeps on it */
        reader_arm_self();
        gp_actions actions = section_task_park(gp_, &inner_, true);
        EXPECT_TRUE(actions & GP_ACTION_UNLOCK_PI);
        rtrcu_store_relaxed(&record->boost, 0u);
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
}

/* What it had open is closed for good: it may go on, and has nothing open. */
TEST_F(Task, BehindItsExitATaskHasNoSection)
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

/* While its thread stays inside a section of its own, which nobody waits for. */
TEST_F(Task, WhoExitsInsideASectionThatIsWaitedForWakesWhoWaits)
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

/* Whoever exits with several tasks mounted closes the section of each. */
TEST_F(Task, WhoExitsLeavesNoTaskBehind)
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

TEST_F(Task, ExitOfAListedSectionIsSaid)
{
    CapturedComplaints errors;
    first_.run([&] {
        rcu_read_lock();
        rcu_task_list(&inner_);
        rcu_task_exit(&inner_);
    });
    EXPECT_TRUE(errors.contains("task \"inner\" exits inside a read-side critical section"));
}

TEST_F(Task, AListedSectionIsNoThreadsUntilItEnds)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_read_lock();
        rcu_task_list(&inner_);
        EXPECT_EQ(section_nesting(), 1u) << "one is given back";
        rcu_read_unlock();
        EXPECT_EQ(section_nesting(), 0u);
        rcu_read_lock(); /* a later poll, on this thread or another */
        rcu_read_unlock();
    });
    EXPECT_TRUE(waits([&] { second_.run([&] { rcu_task_unlist(&inner_); }); }));
    second_.run([&] { rcu_task_unlist(&inner_); });
}

/* Who comes second has waited for the leaf's lock, and finds it on no list. */
TEST_F(Task, AListedSectionIsEndedByTwoAtOnce)
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

TEST_F(Task, ListOutsideASectionIsSaidAndIgnored)
{
    CapturedComplaints errors;
    first_.run([&] { rcu_task_list(&inner_); });
    EXPECT_TRUE(errors.contains("rcu_task_list() outside a read-side critical section; ignored"));
}

/* ---- threads that have no record when the task comes ---- */

TEST_F(Task, ComesToAThreadThatNeverReadAndNests)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    EXPECT_TRUE(waits([&] {
        second_.run([&] {
            rcu_task_resume(&inner_);
            EXPECT_NE(rtrcu_self.record, nullptr) << "it registers: if it ends now, it closes the section";
            rcu_read_lock();
            rcu_read_unlock();
            rcu_read_unlock();
            EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "the outermost unlock took it off";
        });
    }));
}

void nothing(struct rcu_head *)
{
}

TEST_F(Task, ComesToAThreadThatNeverReadAndQueues)
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

/* A task's 0 says that it runs nowhere; others' ids are given out again here, while they run no task. */
TEST_F(Task, TheFirstThreadThatRunsOneIsNotNobody)
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

/* Its grace periods wait for the task; but they boost only threads at which they look. */
TEST_F(Task, WhoRunsATaskIsAwake)
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
