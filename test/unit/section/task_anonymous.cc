/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of tasks on threads that cannot have a record, and so are counted. */
#include <atomic>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../../support/sandbox.h"
#include "../../support/variant.h"
#include "tasks.h"

using namespace test;

namespace
{

/* Until allow(), no thread can get a record: all slots are in use, and the registry cannot grow. */
class NoRecord : public Task
{
  protected:
    std::vector<uint32_t> used_; /* the slots in use of each leaf, before refuse() */
    size_t bytes_ = 0;

    void SetUp() override
    {
        Task::SetUp();
        refuse();
    }
    void refuse()
    {
        used_.clear();
        for (reader_leaf *leaf = nullptr; (leaf = reader_next_leaf(registry, leaf));) {
            used_.push_back(rtrcu_load_relaxed(&leaf->used));
            rtrcu_store_relaxed(&leaf->used, UINT32_MAX); /* threads of other tests may still be exiting */
        }
        bytes_ = registry->plan.bytes;
        registry->plan.bytes = SIZE_MAX / 2; /* more memory than any machine has */
    }
    void allow()
    {
        registry->plan.bytes = bytes_;
        for (size_t i = 0; i < used_.size(); i++)
            rtrcu_store_relaxed(&registry->leaf[i]->used, used_[i]);
    }
};

/* An exit inside a section removes the thread from the count, since no thread could do that afterwards. */
TEST_F(NoRecord, ExitInsideASectionRemovesTheCount)
{
    static std::atomic<uint32_t> handled;
    handled = 0;
    rtrcu_set_exit_handler([] { handled++; });
    std::thread([&] {
        rcu_read_lock();
        EXPECT_EQ(rtrcu_self.record, nullptr);
        EXPECT_EQ(registry->anonymous, 1u);
    }).join();
    rtrcu_set_exit_handler(nullptr);
    EXPECT_EQ(handled, 1u);
    EXPECT_EQ(registry->anonymous, 0u);
    allow();
}

TEST_F(NoRecord, CountedTaskIsReportedAsBlocking)
{
    rcu_task task;
    rcu_task_init(&task, "counted");
    first_.run([&] {
        EXPECT_FALSE(rcu_task_blocking(&task));
        rcu_read_lock();
        rcu_task_park(&task);
        EXPECT_TRUE(rcu_task_blocking(&task));
        rcu_task_resume(&task);
        rcu_read_unlock();
        EXPECT_FALSE(rcu_task_blocking(&task));
    });
    allow();
}

TEST_F(NoRecord, ReaderThatRegistersInsideIsNotCountedAfterwards)
{
    first_.run([&] {
        rcu_read_lock();
        EXPECT_EQ(rtrcu_self.record, nullptr);
        EXPECT_EQ(registry->anonymous, 1u);
        allow();
        rcu_read_lock();
        EXPECT_NE(rtrcu_self.record, nullptr);
        EXPECT_EQ(registry->anonymous, 1u) << "the reader is counted until its section ends";
        rcu_read_unlock();
        rcu_read_unlock();
        EXPECT_EQ(registry->anonymous, 0u);
    });
}

TEST_F(NoRecord, ReaderThatRegistersInsideAndExitsIsNotCounted)
{
    CapturedComplaints errors;
    first_.run([&] {
        rcu_read_lock();
        allow();
        rcu_read_lock();
        EXPECT_NE(rtrcu_self.record, nullptr);
        EXPECT_EQ(registry->anonymous, 1u);
    });
    first_.finish();
    EXPECT_EQ(registry->anonymous, 0u);
    EXPECT_TRUE(errors.contains("exits inside a read-side critical section"));
}

TEST_F(NoRecord, SectionOfAThreadWithoutARecordLeavesSignalsUnblocked)
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

TEST_F(NoRecord, TakenOverSectionIsWaitedForAsBefore)
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

TEST_F(NoRecord, ExitedTaskIsNotCounted)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    allow();
    EXPECT_EQ(counted(), 1);
    rcu_task_exit(&inner_);
    EXPECT_EQ(counted(), 0);
    EXPECT_EQ(registry->anonymous, 0u);
}

/* The section began without a record, so it is counted even if the thread has a record when the task parks. */
TEST_F(NoRecord, TaskOfACountedSectionStaysCounted)
{
    first_.run([&] { rcu_read_lock(); });
    EXPECT_EQ(registry->anonymous, 1u);
    allow();
    test::GpStepper stepper(gp_);
    stepper.begin_and_scan();
    EXPECT_FALSE(stepper.is_clear());
    stepper.poll(true); /* from now on, readers that enter are counted in the other phase */
    first_.run([&] {
        rcu_task_park(&inner_);
        EXPECT_NE(rtrcu_self.record, nullptr);
    });
    stepper.poll(true);
    EXPECT_FALSE(stepper.is_clear()) << "the task is still inside";
    second_.run([&] {
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
    stepper.poll(true);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(NoRecord, TaskStaysCountedUntilItEndsOnAnyThread)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_resume(&inner_);
        rcu_read_lock();
        rcu_task_park(&inner_);
        EXPECT_EQ(registry->anonymous, 2u) << "the task and the thread are counted";
        EXPECT_EQ(counted(), 1);
        rcu_read_unlock();
        EXPECT_EQ(registry->anonymous, 1u);
    });
    allow();
    EXPECT_TRUE(waits([&] {
        second_.run([&] {
            rcu_task_resume(&inner_);
            rcu_read_lock();
            rcu_read_unlock();
            EXPECT_EQ(registry->anonymous, 1u);
            rcu_read_unlock();
            EXPECT_EQ(registry->anonymous, 0u);
            EXPECT_EQ(counted(), 0);
        });
    }));
}

/* Fork, and return whether @is_right() is true in the child. */
bool child_is_right(bool (*is_right)())
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(is_right() ? 0 : 1);
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

rcu_task *forked_with[3];

bool nothing_is_counted_once_all_end()
{
    close(2); /* suppresses the reports of tasks that exit inside */
    for (rcu_task *task : forked_with)
        rcu_task_exit(task);
    return registry->anonymous == 0 && registry->anonymous_in[0] == 0 && registry->anonymous_in[1] == 0 &&
           counted() == 0 && !parked_any(registry);
}

class ForkedNoRecord : public NoRecord
{
  protected:
    rcu_task third_;

    void SetUp() override
    {
        if (TEST_EMULATED || TEST_TSAN)
            GTEST_SKIP() << "here the child of a process with threads cannot create threads";
        NoRecord::SetUp();
        rcu_task_init(&third_, "third");
        forked_with[0] = &outer_;
        forked_with[1] = &inner_;
        forked_with[2] = &third_;
    }
};

/* A fork's child drops tasks mounted on other threads, keeps parked tasks, and counts neither. */
TEST_F(ForkedNoRecord, ChildDoesNotCountDroppedTasks)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&inner_);
    });
    second_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
    });
    EXPECT_EQ(registry->anonymous, 2u);
    EXPECT_TRUE(child_is_right([] {
        return registry->anonymous == 0 && forked_with[0]->where == PARKED_ON_LEAF &&
               forked_with[1]->where == PARKED_NOWHERE && nothing_is_counted_once_all_end();
    }));
    first_.run([] { rcu_read_unlock(); });
    second_.run([&] {
        rcu_task_resume(&outer_);
        rcu_read_unlock();
    });
    allow();
}

/* A task mounted on the forking thread continues in the child. */
TEST_F(ForkedNoRecord, ChildKeepsTheForkingThreadsTask)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&inner_);
        EXPECT_TRUE(child_is_right([] {
            bool kept = forked_with[1]->where == PARKED_ON_LEAF && parked_any(registry);
            rcu_read_unlock();
            return kept && nothing_is_counted_once_all_end();
        }));
        rcu_read_unlock();
    });
    allow();
}

/* Other threads park, resume and end counted tasks during the fork. */
TEST_F(ForkedNoRecord, ForkKeepsTheCountOfParkedTasksExact)
{
    std::atomic<bool> stop{false};
    std::atomic<int> running{0};
    std::vector<std::thread> threads;
    for (rcu_task *task : forked_with) {
        threads.emplace_back([&stop, &running, task] {
            for (running++; !stop;) {
                rcu_read_lock();
                rcu_task_park(task);
                rcu_task_resume(task);
                rcu_task_park(task);
                rcu_task_resume(task);
                rcu_read_unlock();
                rcu_task_park(task);
            }
        });
    }
    while (running < 3)
        std::this_thread::yield();
    int wrong = 0;
    for (int i = 0; i < 120; i++)
        wrong += !child_is_right(nothing_is_counted_once_all_end);
    stop = true;
    for (std::thread &thread : threads)
        thread.join();
    allow();
    EXPECT_EQ(wrong, 0);
}

TEST_F(Task, ExitingThreadClosesSectionsOfItsTasks)
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

/* The grace period waits for the task only, and its waiter is woken when the thread exits. */
TEST_F(Task, ExitingThreadReportsForItsTasks)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&outer_);
    });
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    for (int i = 0; i < 3; i++)
        stepper.poll(true);
    EXPECT_FALSE(stepper.is_clear());
    gp_actions actions = GP_ACTION_NONE;
    first_.run([&] {
        test::CapturedComplaints said;
        rcu_task_resume(&outer_);
        actions = section_leave(gp_, true);
    });
    EXPECT_TRUE(actions & GP_ACTION_WAKE_NORMAL);
    ASSERT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(Task, ParkIsCountedAsASlowPath)
{
    first_.run([&] {
        rcu_read_lock();
        reader_arm_self();
        rcu_task_park(&inner_); /* debug builds check INV-RD2 */
        EXPECT_EQ(rtrcu_self.slow, 0u);
        EXPECT_EQ(rtrcu_word_read() >> 24, test::membarrier_is_refused() ? RTRCU_FLAG_SPECIAL : RTRCU_FLAG_FAST);
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
}

TEST_F(NoRecord, TaskThatParksAgainIsCountedAgain)
{
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
        rcu_task_resume(&inner_);
        rcu_task_park(&inner_);
        EXPECT_EQ(counted(), 1);
    });
    allow();
    second_.run([&] {
        rcu_task_resume(&inner_);
        rcu_read_unlock();
    });
}

TEST_F(Task, SectionOfTheLastResumedTaskIsTakenOver)
{
    rcu_task third;
    rcu_task_init(&third, "third");
    first_.run([&] {
        rcu_read_lock();
        rcu_task_park(&inner_);
    });
    GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    stepper.poll(true);
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
    stepper.poll(true);
    EXPECT_FALSE(stepper.is_clear());
    rcu_task_unlist(&third);
    stepper.poll(true);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

} // namespace
