/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tasks on their threads: whose share moves, when a section ends, and threads without a record.
 *
 * The test turns the process's own crank step by step, while other threads do what it says.
 */
#include <csignal>

#include <gtest/gtest.h>

#include "../../support/complaints.h"
#include "../../support/internals.h"
#include "../../support/sync.h"

namespace
{

struct gp *const gp_ = &rtrcu_domain.gp;
reader_registry *const registry = &rtrcu_domain.registry;

/* Does a grace period that begins now wait for somebody?  It is ended by @leave. */
template <typename Leave> bool waits(Leave leave)
{
    test::Crank crank(gp_);
    bool busy = crank.begin_and_scan();
    for (int i = 0; i < 3; i++)
        crank.poll(true);
    busy = busy && !crank.is_clear();
    leave();
    crank.poll(true);
    EXPECT_TRUE(crank.is_clear()) << "somebody is waited for still";
    if (crank.is_clear())
        crank.end();
    return busy;
}

bool is_quiet()
{
    return !waits([] {});
}

class Task : public testing::Test
{
  protected:
    test::Worker first_, second_;
    rcu_task outer_, inner_;

    void SetUp() override
    {
        rcu_task_init(&outer_, "outer");
        rcu_task_init(&inner_, "inner");
    }
    void TearDown() override
    {
        first_.finish();
        second_.finish();
        EXPECT_EQ(registry->anonymous, 0u);
        EXPECT_EQ(registry->anonymous_parked[0] + registry->anonymous_parked[1], 0u);
        EXPECT_TRUE(is_quiet());
    }
};

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

/* The outer task parks while the inner runs on it: what the inner had is the outer's now. */
TEST_F(Task, TakesAlongWhatRunsOnIt)
{
    first_.run([&] {
        rcu_task_resume(&outer_);
        rcu_read_lock();
        rcu_task_park(&inner_); /* it was never resumed: all of it */
        rcu_task_resume(&inner_);
        EXPECT_EQ(rtrcu_self.task, &inner_);
        rcu_task_park(&outer_);
        EXPECT_EQ(rtrcu_self.task, nullptr);
        EXPECT_EQ(inner_.where, static_cast<uint32_t>(PARKED_NOWHERE));
    });
    EXPECT_TRUE(waits([&] {
        second_.run([&] {
            rcu_task_resume(&outer_);
            rcu_read_unlock();
            EXPECT_EQ(outer_.where, static_cast<uint32_t>(PARKED_NOWHERE));
        });
    }));
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
    test::CapturedComplaints errors;
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

/* A thread that parks all that it has open is outside, as behind an unlock: a lent priority goes back. */
TEST_F(Task, WhoParksGivesALentPriorityBack)
{
    first_.run([&] {
        rcu_read_lock();
        reader_record *record = rtrcu_self.record;
        rtrcu_store_relaxed(&record->lent, lock_thread_id() | UINT32_C(1) << 31); /* and somebody sleeps on it */
        reader_arm_self();
        unsigned actions = section_task_park(gp_, &inner_, true);
        EXPECT_TRUE(actions & GP_ACTION_UNLOCK_PI);
        rtrcu_store_relaxed(&record->lent, 0u);
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
}

/* What it had open is closed for good: it may go on, and has nothing open. */
TEST_F(Task, BehindItsExitATaskHasNoSection)
{
    test::CapturedComplaints errors;
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

TEST_F(Task, ExitOfAListedSectionIsSaid)
{
    test::CapturedComplaints errors;
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

TEST_F(Task, ListOutsideASectionIsSaidAndIgnored)
{
    test::CapturedComplaints errors;
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
    test::CapturedComplaints errors;
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

} // namespace
