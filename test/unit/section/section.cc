/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of sections: nesting, handlers, disciplines, unbalanced programs, threads that register and exit.
 * The tests advance the process's own grace periods step by step, while worker threads follow their commands. */
#include <limits.h>
#include <climits>
#include <csignal>
#include <atomic>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>

#include <gtest/gtest.h>

#include "../../support/complaints.h"
#include "../../support/internals.h"
#include "../../support/sandbox.h"
#include "../../support/sync.h"
#include "../../support/variant.h"
#include "tasks.h"

namespace
{

using test::gp_;
using test::registry;

/* Advance a grace period, and expect that it waits for no reader. */
void expect_quiet()
{
    test::GpStepper stepper(gp_);
    EXPECT_FALSE(stepper.begin_and_scan());
    for (int i = 0; i < 3; i++)
        stepper.poll(true);
    ASSERT_TRUE(stepper.is_clear());
    stepper.end();
}

/* Advance a grace period, and expect that it waits until @leave has run, and no longer. */
template <typename Leave> void expect_waits_until(Leave leave)
{
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan()) << "the scan found no reader inside";
    for (int i = 0; i < 3; i++)
        stepper.poll(true);
    EXPECT_FALSE(stepper.is_clear());
    leave();
    EXPECT_TRUE(stepper.is_clear()) << "the reader, whose flag is set, did not report";
    stepper.poll(true);
    ASSERT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST(Section, SectionEndsWithTheOutermostUnlock)
{
    test::Worker reader;
    reader.run([] {
        rcu_read_lock();
        rcu_read_lock();
        rcu_read_lock();
    });
    expect_waits_until([&] {
        reader.run([] { rcu_read_unlock(); });
        reader.run([] { rcu_read_unlock(); });
        reader.run([] { EXPECT_TRUE(rcu_read_lock_held()); });
        reader.run([] { rcu_read_unlock(); });
        reader.run([] { EXPECT_FALSE(rcu_read_lock_held()); });
    });
    expect_quiet();
}

TEST(Section, SectionIsNotExtendedByLaterSections)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    expect_waits_until([&] {
        reader.run([] {
            rcu_read_unlock();
            rcu_read_lock();
        });
    });
    reader.run([] { rcu_read_unlock(); });
}

/* A nested pair inside a section whose flag is set takes the slow path, and must not report. */
TEST(Section, NestedSectionDoesNotReport)
{
    test::Worker reader;
    reader.run([] {
        rcu_read_lock();
        rcu_read_unlock();
        rcu_read_lock();
    });
    test::GpStepper stepper(gp_);
    ASSERT_TRUE(stepper.begin_and_scan());
    EXPECT_GE(stepper.poll(true), test::membarrier_is_refused() ? 0u : 1u); /* the flag of a fencing reader stays set */
    reader.run([] {
        for (int i = 0; i < 10; i++) {
            rcu_read_lock();
            rcu_read_unlock();
        }
    });
    EXPECT_FALSE(stepper.is_clear());
    reader.run([] { rcu_read_unlock(); });
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST(Section, SectionsTakeTheFastPathBetweenGracePeriods)
{
    SKIP_WITHOUT_MEMBARRIER();
    test::Worker reader;
    reader.run([] {
        rcu_read_lock();
        rcu_read_unlock();
        uint64_t before = rtrcu_self.record->slow_calls.count;
        for (int i = 0; i < 1000; i++) {
            rcu_read_lock();
            rcu_read_unlock();
        }
        EXPECT_EQ(rtrcu_self.record->slow_calls.count, before);
    });
}

/* The unlock of a task that has parked takes the slow path, which leaves other parked tasks on the thread's list. */
TEST(Section, ParkedTasksStayOnTheirThreadBetweenGracePeriods)
{
    test::Worker reader;
    rcu_task first, second;
    reader.run([&] {
        for (rcu_task *task : {&first, &second}) {
            rcu_task_init(task, "task");
            rcu_read_lock();
            rcu_task_park(task);
        }
        const reader_record *record = rtrcu_self.record;
        rcu_task_resume(&first);
        rcu_task_park(&first);
        EXPECT_EQ(parked_on_thread(record), 2u) << "parking again promotes nothing";
        rcu_task_resume(&first);
        rcu_read_unlock();
        EXPECT_EQ(parked_on_thread(record), 1u) << "the other task stays on the thread's list";
        EXPECT_EQ(parked_on_leaf(record->leaf), 0u);
    });
    expect_waits_until([&] {
        reader.run([&] {
            rcu_task_resume(&second);
            rcu_read_unlock();
        });
    });
    expect_quiet();
}

TEST(Section, BhSectionsProtect)
{
    test::Worker reader;
    reader.run([] {
        rcu_read_lock_bh();
        EXPECT_EQ(rtrcu_self.bh, 1u);
    });
    expect_waits_until([&] { reader.run([] { rcu_read_unlock_bh(); }); });
    reader.run([] { EXPECT_EQ(rtrcu_self.bh, 0u); });
}

/* ---- signal handlers ---- */

test::Steps *handler_steps;

void reading_handler(int)
{
    rcu_read_lock();
    rcu_read_lock();
    handler_steps->reach(1);
    handler_steps->wait(2);
    rcu_read_unlock();
    rcu_read_unlock();
}

TEST(Section, HandlerReadsBeforeItsThreadIsRegistered)
{
    test::Steps steps;
    handler_steps = &steps;
    struct sigaction action = {}, old;
    action.sa_handler = reading_handler;
    sigaction(SIGUSR1, &action, &old);
    test::Worker reader;
    reader.start([] {
        EXPECT_EQ(rtrcu_self.record, nullptr);
        raise(SIGUSR1);
        EXPECT_FALSE(rcu_read_lock_held());
        EXPECT_NE(rtrcu_self.record, nullptr) << "the handler has registered the thread";
    });
    steps.wait(1);
    expect_waits_until([&] {
        steps.reach(2);
        reader.wait();
    });
    sigaction(SIGUSR1, &old, nullptr);
}

TEST(Section, HandlerReadsInsideASectionOfItsThread)
{
    test::Steps steps;
    handler_steps = &steps;
    struct sigaction action = {}, old;
    action.sa_handler = reading_handler;
    sigaction(SIGUSR1, &action, &old);
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    reader.start([] {
        raise(SIGUSR1);
        EXPECT_TRUE(rcu_read_lock_held());
    });
    steps.wait(1);
    expect_waits_until([&] {
        steps.reach(2);
        reader.wait();
        reader.run([] { rcu_read_unlock(); });
    });
    sigaction(SIGUSR1, &old, nullptr);
}

/* ---- unbalanced programs ---- */

void expect_repaired(test::Worker *reader, const char *what)
{
    test::CapturedComplaints errors;
    reader->run([] { rcu_read_unlock(); });
    EXPECT_TRUE(errors.contains("rcu_read_unlock() without rcu_read_lock(); ignored")) << what << errors.text();
    reader->run([] {
        EXPECT_FALSE(rcu_read_lock_held());
        rcu_read_lock();
        EXPECT_TRUE(rcu_read_lock_held());
    });
    expect_waits_until([&] { reader->run([] { rcu_read_unlock(); }); });
    expect_quiet();
    reader->run([] { EXPECT_FALSE(rcu_read_lock_held()); });
}

TEST(Section, UnlockWithoutLockIsReportedAndHasNoEffect)
{
    test::Worker reader;
    reader.run([] {
        rcu_read_lock();
        rcu_read_unlock();
    });
    expect_repaired(&reader, "registered thread: ");
    expect_repaired(&reader, "a second time: ");
}

TEST(Section, UnlockWithoutLockBeforeRegistrationIsReported)
{
    test::Worker reader;
    expect_repaired(&reader, "thread that never read: ");
}

TEST(Section, UnlockWithoutLockWithTheFlagSetIsReported)
{
    test::Worker reader;
    reader.run([] {
        rcu_read_lock();
        rcu_read_unlock();
        reader_arm_self();
    });
    expect_repaired(&reader, "thread with its flag set: ");
}

TEST(Section, UnlockWithoutLockInAQuiescentStateThreadIsReported)
{
    test::Worker reader;
    test::CapturedComplaints errors;
    reader.run([] {
        ASSERT_EQ(section_register(gp_, RTRCU_QSBR), 0);
        rcu_read_unlock();
    });
    expect_waits_until([&] { reader.run([] { rcu_quiescent_state(); }); });
    EXPECT_TRUE(errors.contains("rcu_read_unlock() without rcu_read_lock(); ignored"));
    expect_waits_until([&] { reader.run([] { rcu_quiescent_state(); }); });
    reader.run([] { rcu_thread_offline(); });
    expect_quiet();
}

/* A surplus unlock borrows from the bits of the discipline; the thread stays online, whatever it calls next. */
TEST(Section, UnlockWithoutLockLeavesAQuiescentStateThreadOnline)
{
    test::Worker reader;
    test::CapturedComplaints errors;
    reader.run([] {
        ASSERT_EQ(section_register(gp_, RTRCU_QSBR), 0);
        reader_arm_self();
        rcu_read_unlock();
        rcu_read_lock(); /* looks like a first lock */
        rcu_read_unlock();
    });
    expect_waits_until([&] { reader.run([] { rcu_quiescent_state(); }); });
    EXPECT_TRUE(errors.contains("rcu_read_unlock() without rcu_read_lock(); ignored"));
    reader.run([] {
        rcu_read_unlock();
        rcu_thread_offline();
    });
    expect_quiet();
}

TEST(Section, UnlockWithoutLockLeavesAQuiescentStateThreadOffline)
{
    test::Worker reader;
    test::CapturedComplaints errors;
    reader.run([] {
        ASSERT_EQ(section_register(gp_, RTRCU_QSBR), 0);
        rcu_thread_offline();
        rcu_read_unlock();
    });
    EXPECT_TRUE(errors.contains("rcu_read_unlock() without rcu_read_lock(); ignored"));
    expect_quiet();
}

/* ---- quiescent-state discipline ---- */

class Qsbr : public testing::Test
{
  protected:
    test::Worker reader_;

    void SetUp() override
    {
        reader_.run([] { ASSERT_EQ(section_register(gp_, RTRCU_QSBR), 0); });
    }
};

TEST_F(Qsbr, ThreadIsInsideUntilItsQuiescentState)
{
    reader_.run([] {
        EXPECT_TRUE(rcu_read_lock_held());
        rcu_read_lock_qs();
        rcu_read_unlock_qs();
    });
    expect_waits_until([&] { reader_.run([] { rcu_quiescent_state(); }); });
    expect_waits_until([&] { reader_.run([] { rcu_thread_offline(); }); });
    expect_quiet();
    reader_.run([] { rcu_thread_online(); });
    expect_waits_until([&] { reader_.run([] { rcu_quiescent_state(); }); });
}

TEST_F(Qsbr, OnlineAndOfflineMayBeRepeated)
{
    reader_.run([] {
        rcu_thread_online();
        rcu_thread_offline();
        rcu_thread_offline();
        EXPECT_FALSE(rcu_read_lock_held());
    });
    expect_quiet();
    reader_.run([] { rcu_thread_online(); });
    expect_waits_until([&] { reader_.run([] { rcu_thread_offline(); }); });
}

TEST_F(Qsbr, ExplicitSectionsNestAndProtect)
{
    reader_.run([] {
        rcu_read_lock();
        rcu_read_unlock();
        EXPECT_TRUE(rcu_read_lock_held()) << "the thread is still online";
        rcu_thread_offline();
        rcu_read_lock();
    });
    expect_waits_until([&] { reader_.run([] { rcu_read_unlock(); }); });
}

TEST_F(Qsbr, OfflineInsideASectionIsRefused)
{
    test::CapturedComplaints errors;
    reader_.run([] {
        rcu_read_lock();
        rcu_thread_offline();
    });
    EXPECT_TRUE(errors.contains("rcu_thread_offline() inside a read-side critical section; ignored"));
    expect_waits_until([&] {
        reader_.run([] {
            rcu_read_unlock();
            rcu_thread_offline();
        });
    });
}

TEST_F(Qsbr, QuiescentStateInsideASectionDoesNotEndIt)
{
    if (CHECK_DEBUG)
        GTEST_SKIP() << "debug builds refuse it, see SectionDeathTest";
    reader_.run([] { rcu_read_lock(); });
    expect_waits_until([&] {
        reader_.run([] { rcu_quiescent_state(); });
        EXPECT_FALSE(gp_is_clear(gp_, GP_NORMAL));
        reader_.run([] {
            rcu_read_unlock();
            rcu_quiescent_state();
        });
    });
}

TEST_F(Qsbr, SecondRegistrationChangesTheDiscipline)
{
    expect_waits_until([&] {
        reader_.run([] {
            ASSERT_EQ(rtrcu_register_thread(0), 0);
            EXPECT_FALSE(rcu_read_lock_held());
        });
    });
    expect_quiet();
    reader_.run([] { ASSERT_EQ(section_register(gp_, RTRCU_QSBR), 0); });
    expect_waits_until([&] { reader_.run([] { rcu_quiescent_state(); }); });
}

TEST_F(Qsbr, ExitedThreadIsNotWaitedFor)
{
    expect_waits_until([&] { reader_.finish(); });
    expect_quiet();
}

TEST(Section, QuiescentStateOfAPreemptibleThreadHasNoEffect)
{
    test::Worker reader;
    reader.run([] {
        rcu_quiescent_state(); /* before the thread is registered */
        rcu_thread_offline();
        rcu_thread_online();
        rcu_read_lock();
    });
    expect_waits_until([&] { reader.run([] { rcu_read_unlock(); }); });
}

/* ---- registration ---- */

TEST(Register, RegistrationCountsDeadlineThreads)
{
    uint32_t before = registry->deadline_count;
    test::Worker reader;
    reader.run([&] {
        ASSERT_EQ(section_register(gp_, RTRCU_DEADLINE), 0);
        EXPECT_EQ(rtrcu_load_relaxed(&registry->deadline_count), before + 1);
        ASSERT_EQ(section_register(gp_, RTRCU_DEADLINE | RTRCU_QSBR), 0);
        EXPECT_EQ(rtrcu_load_relaxed(&registry->deadline_count), before + 1);
    });
    reader.finish();
    EXPECT_EQ(registry->deadline_count, before);
}

TEST(Register, RegistrationIsRefusedInsideASection)
{
    test::Worker reader;
    reader.run([] {
        rcu_read_lock();
        EXPECT_EQ(rtrcu_register_thread(RTRCU_QSBR), -EBUSY);
        EXPECT_EQ(rtrcu_unregister_thread(), -EBUSY);
        rcu_read_unlock();
        EXPECT_EQ(rtrcu_register_thread(8), -EINVAL);
        EXPECT_EQ(rtrcu_unregister_thread(), 0);
        EXPECT_EQ(rtrcu_self.record, nullptr);
        EXPECT_EQ(rtrcu_unregister_thread(), 0) << "a second call is no error";
        rcu_read_lock();
        EXPECT_NE(rtrcu_self.record, nullptr) << "the thread is registered again at its next section";
        rcu_read_unlock();
    });
}

TEST(Register, ExitInsideASectionIsReportedAndEndsTheSection)
{
    uint32_t before = registry->registered;
    test::CapturedComplaints errors;
    test::Worker reader;
    reader.run([] {
        rcu_read_lock();
        rcu_read_lock();
    });
    expect_waits_until([&] { reader.finish(); });
    EXPECT_TRUE(errors.contains("exits inside a read-side critical section (nesting 2); the library ends it"))
        << errors.text();
    EXPECT_EQ(registry->registered, before);
    expect_quiet();
}

/* A thread whose key destructor reads in the given round, and whose memory is unmapped after its exit, so that a scan
 * that accesses it crashes. */
class LateDestructor : public testing::TestWithParam<int>
{
  public:
    static constexpr size_t stack_size = 1 << 20;
    static inline pthread_key_t key;
    /* Atomic, since the race detector does not know that a join follows the destructors. */
    static inline std::atomic<int> read_in_round;
    static inline std::atomic<int> round;
    static inline std::atomic<bool> read_before, exits_inside;

    static void destructor(void *value)
    {
        round++;
        if (round == read_in_round) {
            rcu_read_lock();
            EXPECT_TRUE(rcu_read_lock_held());
            if (!exits_inside)
                rcu_read_unlock();
        }
        if (round < PTHREAD_DESTRUCTOR_ITERATIONS)
            pthread_setspecific(key, value);
    }

    static void *body(void *)
    {
        if (read_before) {
            rcu_read_lock();
            rcu_read_unlock();
        }
        pthread_setspecific(key, &key);
        return nullptr;
    }

    void run_and_unmap()
    {
        uint32_t before = registry->registered;
        void *stack = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(stack, MAP_FAILED);
        ASSERT_EQ(pthread_key_create(&key, destructor), 0);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, stack, stack_size);
        pthread_t thread;
        round = 0;
        ASSERT_EQ(pthread_create(&thread, &attributes, body, nullptr), 0);
        pthread_join(thread, nullptr);
        pthread_attr_destroy(&attributes);
        pthread_key_delete(key);
        EXPECT_EQ(round, PTHREAD_DESTRUCTOR_ITERATIONS);
        /* If the record still points to the memory, unmapping it would crash the other tests. */
        ASSERT_EQ(registry->registered, before) << "the record outlives its thread";
        munmap(stack, stack_size);
        expect_quiet();
        EXPECT_EQ(rtrcu_load_relaxed(&registry->anonymous), 0u);
    }
};

TEST_P(LateDestructor, SectionOfAThreadThatHadReadIsProtected)
{
    read_in_round = GetParam();
    read_before = true;
    exits_inside = false;
    run_and_unmap();
}

TEST_P(LateDestructor, FirstSectionOfAThreadIsProtected)
{
    if (GetParam() == PTHREAD_DESTRUCTOR_ITERATIONS)
        GTEST_SKIP() << "a first section after the last round of the exit hook is not protected, see decision 0007";
    if (TEST_TSAN && GetParam() == PTHREAD_DESTRUCTOR_ITERATIONS - 1)
        GTEST_SKIP() << "the exit hook would run after the race detector's own";
    read_in_round = GetParam();
    read_before = exits_inside = false;
    run_and_unmap();
}

INSTANTIATE_TEST_SUITE_P(Rounds, LateDestructor, testing::Range(1, PTHREAD_DESTRUCTOR_ITERATIONS + 1));

/* ---- misuse that debug builds refuse ---- */

void quiescent_state_inside_a_section()
{
    section_register(gp_, RTRCU_QSBR);
    rcu_read_lock();
    reader_arm_self();
    rcu_quiescent_state();
}

void read_lock_qs_while_offline()
{
    section_register(gp_, RTRCU_QSBR);
    rcu_thread_offline();
    rcu_read_lock_qs();
}

void dereference_outside()
{
    int *pointer = nullptr;
    (void)rcu_dereference_check(pointer, false);
}

TEST(SectionDeathTest, DebugBuildsRefuseMisuse)
{
    if (!CHECK_DEBUG)
        GTEST_SKIP() << "release builds do not check the discipline";
    EXPECT_DEATH(quiescent_state_inside_a_section(), "rcu_quiescent_state\\(\\) inside a read-side critical section");
    EXPECT_DEATH(read_lock_qs_while_offline(), "rcu_read_lock_qs\\(\\) of an offline thread");
    EXPECT_DEATH(dereference_outside(), "rcu_dereference_check: neither inside");
}

} // namespace
