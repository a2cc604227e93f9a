/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of threads that register, unregister and exit. */
#include <climits>
#include <pthread.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/complaints.h"
#include "../../support/internals.h"
#include "../../support/probes.h"
#include "../../support/sync.h"
#include "tasks.h"

namespace
{

using test::gp_;

/* If a thread sleeps on the boost word, the caller must unlock the word in the kernel (GP_ACTION_UNLOCK_PI). */
TEST(Unregistration, UnregistrationEndsTheBoost)
{
    for (uint32_t waiters : {0u, UINT32_C(1) << 31}) {
        test::Worker reader;
        reader.run([&] {
            reader_record *record = section_record(gp_);
            ASSERT_NE(record, nullptr);
            rtrcu_store_relaxed(&record->boost, lock_thread_number() | waiters);
            gp_actions actions = section_leave(gp_, false);
            EXPECT_EQ((actions & GP_ACTION_UNLOCK_PI) != 0, waiters != 0);
            EXPECT_EQ(rtrcu_load_relaxed(&record->boost) != 0, waiters != 0);
            rtrcu_store_relaxed(&record->boost, 0u);
        });
    }
}

/* The thread is the only holdout, so its unregistration wakes the waiter for the grace period. */
TEST(Unregistration, UnregistrationReportsAQuiescentState)
{
    test::Worker reader;
    reader.run([] { ASSERT_EQ(section_register(gp_, RTRCU_QSBR), 0); });
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    gp_actions actions = GP_ACTION_NONE;
    reader.run([&] { actions = section_leave(gp_, false); });
    EXPECT_TRUE(actions & GP_ACTION_WAKE_NORMAL);
    ASSERT_TRUE(stepper.is_clear());
    stepper.end();
}

/* The thread has no record when its section begins. */
TEST(Unregistration, UnregistrationReportsACountedSection)
{
    test::Worker reader;
    gp_actions actions = GP_ACTION_NONE;
    reader.run([&] {
        reader_self_set(READER_STATE_ANONYMOUS);
        reader_anonymous_enter(gp_registry(gp_), READER_PHASE_EVEN);
        actions = section_leave(gp_, false);
    });
    EXPECT_TRUE(actions & GP_ACTION_WAKE_NORMAL);
    EXPECT_EQ(reader_anonymous(gp_registry(gp_)), 0u);
}

/* The thread has more tasks than are promoted at a time; none may stay on the list of a slot that is free. */
TEST(Unregistration, UnregistrationMovesAllTasksToTheLeaf)
{
    std::vector<rcu_task> tasks(2 * PARKED_PROMOTE_MAX + 1);
    test::Worker reader;
    reader.run([&] {
        for (rcu_task &task : tasks) {
            rcu_task_init(&task, "left");
            rcu_read_lock();
            (void)section_task_park(gp_, &task, true);
        }
        (void)section_leave(gp_, false);
    });
    for (const rcu_task &task : tasks)
        EXPECT_EQ(rtrcu_load_relaxed(&task.where), static_cast<uint32_t>(PARKED_ON_LEAF));
    reader.run([&] {
        for (rcu_task &task : tasks) {
            rcu_task_resume(&task);
            rcu_read_unlock();
        }
    });
}

/* The thread releases its claim before it checks whether its slot can be released, since no other thread repeats the
 * check. */
TEST(Unregistration, UnregistrationInsideTheLastCallbackReleasesTheSlot)
{
    reader_record *record = nullptr;
    std::thread([&] {
        record = section_record(gp_);
        ASSERT_NE(record, nullptr);
        cb_queue *queue = &callback_slot(record)->queue;
        queue->claim = lock_thread_number(); /* the state of the queue during a callback */
        queue->enqueued++;
        queue->started++;
        callback_bound_collect(&rtrcu_domain.cb, callback_slot(record));
        reader_self_set(READER_STATE_CALLBACK);
    }).join();
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(callback_pending(record), 0u);
    EXPECT_EQ(callback_slot(record)->queue.claim, 0u);
    EXPECT_EQ(reader_used(reader_leaf_of(record)) & reader_bit(record), 0u);
}

/* An exited thread must not take a slot again, since its exit hook may not run again. */
TEST(Unregistration, ExitedThreadDoesNotRegisterAgain)
{
    test::Worker reader;
    reader.run([] {
        ASSERT_NE(section_record(gp_), nullptr);
        (void)section_leave(gp_, false);
        ASSERT_NE(section_record(gp_), nullptr) << "the thread may register again";
        (void)section_leave(gp_, true);
        EXPECT_TRUE(reader_self_is(READER_STATE_EXITED));
        EXPECT_EQ(section_record(gp_), nullptr);
    });
}

/* A section after the exit hook has run is counted; the hook, run again, closes it. */
TEST(Unregistration, SectionAfterUnregistrationIsClosedAtThreadExit)
{
    test::CapturedComplaints errors;
    test::Worker reader;
    reader.run([] {
        (void)section_leave(gp_, true);
        ASSERT_EQ(reader_self(), nullptr);
        rcu_read_lock();
        ASSERT_EQ(section_nesting(), 1u);
        EXPECT_EQ(rtrcu_domain.registry.anonymous, 1u);
        (void)section_leave(gp_, true);
        EXPECT_EQ(section_nesting(), 0u);
        EXPECT_EQ(rtrcu_domain.registry.anonymous, 0u);
    });
    EXPECT_TRUE(errors.contains("exits inside a read-side critical section (nesting 1); the library ends it"));
}

/* There are more tasks than an unlock promotes: the unlock wakes waiters, which promote the rest. */
TEST(Unlock, UnlockLeavesManyTasksToAWaiter)
{
    std::vector<rcu_task> tasks(2 * PARKED_PROMOTE_MAX + 1);
    auto where_the_last_is = [&] { return rtrcu_load_relaxed(&tasks.back().where); };
    test::Worker reader;
    reader.run([&] {
        for (rcu_task &task : tasks) {
            rcu_task_init(&task, "many");
            rcu_read_lock();
            (void)section_task_park(gp_, &task, true);
        }
        rcu_read_lock();
    });
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    stepper.poll(true);

    gp_actions actions = GP_ACTION_NONE;
    reader.run([&] {
        EXPECT_TRUE(rtrcu_word_leave());
        actions = section_unlock_slow(gp_);
    });
    EXPECT_EQ(where_the_last_is(), static_cast<uint32_t>(PARKED_ON_THREAD));
    EXPECT_TRUE(actions & GP_ACTION_WAKE_NORMAL);
    EXPECT_TRUE(actions & GP_ACTION_WAKE_EXPEDITED) << "an expedited grace period may wait for the same tasks";

    stepper.poll(true); /* as the woken waiter does */
    EXPECT_EQ(where_the_last_is(), static_cast<uint32_t>(PARKED_ON_LEAF));
    EXPECT_FALSE(stepper.is_clear()) << "the grace period waits for the tasks";

    reader.run([&] {
        for (rcu_task &task : tasks) {
            rcu_task_resume(&task);
            rcu_read_unlock();
        }
    });
    stepper.poll(true);
    ASSERT_TRUE(stepper.is_clear());
    stepper.end();
}

/* The exit hook's key needs memory in each thread.  Only a registration may allocate it; a first section, perhaps of a
 * handler, may not. */
TEST(Registration, ExplicitRegistrationReservesMemoryOfTheExitHook)
{
    std::vector<pthread_key_t> keys;
    pthread_key_t key = 0;
    do {
        ASSERT_EQ(pthread_key_create(&key, nullptr), 0);
        keys.push_back(key);
    } while (key < 64);
    unsigned int *exit_key = reader_exit_key(&rtrcu_domain.registry), before = *exit_key;
    test::Worker reader;
    reader.run([&] {
        *exit_key = key;
        uint32_t registered = reader_threads(&rtrcu_domain.registry);
        EXPECT_EQ(section_record(gp_), nullptr) << "without an exit hook the record would outlive its thread";
        EXPECT_EQ(reader_threads(&rtrcu_domain.registry), registered);
        EXPECT_EQ(section_register(gp_, 0), 0);
        EXPECT_NE(reader_self(), nullptr);
        EXPECT_TRUE(reader_self_is(READER_STATE_EXPLICIT));
        (void)section_leave(gp_, false);
        EXPECT_FALSE(reader_self_is(READER_STATE_EXPLICIT));
        *exit_key = before;
    });
    reader.finish();
    for (pthread_key_t each : keys)
        pthread_key_delete(each);
}

TEST(Registration, FailedRegistrationReleasesTheSlot)
{
    unsigned int *exit_key = reader_exit_key(&rtrcu_domain.registry), before = *exit_key;
    test::Worker reader;
    reader.run([&] {
        reader_registry *registry = &rtrcu_domain.registry;
        uint32_t used = reader_used(reader_leaf_at(registry, 0));
        *exit_key = PTHREAD_KEYS_MAX - 1; /* a key that is not allocated */
        EXPECT_EQ(section_record(gp_), nullptr);
        EXPECT_EQ(section_register(gp_, 0), -ENOMEM);
        *exit_key = before;
        EXPECT_EQ(reader_used(reader_leaf_at(registry, 0)), used);
    });
}

/* A quiescent-state thread is online after its registration, also if it is a deadline thread, which wakes no thread. */
TEST(Registration, QuiescentStateDeadlineThreadIsOnline)
{
    test::Worker reader;
    reader.run([] {
        ASSERT_EQ(section_register(gp_, RTRCU_QSBR | RTRCU_DEADLINE), 0);
        EXPECT_TRUE(reader_word_is_online(reader_self_word()));
    });
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan()) << "the scan found no reader inside";
    stepper.poll(true);
    EXPECT_FALSE(stepper.is_clear());
    reader.run([] { rcu_quiescent_state(); });
    stepper.poll(true);
    ASSERT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST(Offline, GoingOfflineIsPermittedOnlyOutsideSections)
{
    test::Worker reader;
    reader.run([] {
        EXPECT_FALSE(section_may_go_offline(gp_));
        ASSERT_EQ(section_register(gp_, RTRCU_QSBR), 0);
        EXPECT_TRUE(section_may_go_offline(gp_));
        rcu_read_lock();
        EXPECT_FALSE(section_may_go_offline(gp_));
        rcu_read_unlock();
        EXPECT_TRUE(section_may_go_offline(gp_));
        EXPECT_EQ(section_offline(gp_), GP_ACTION_NONE);
        EXPECT_FALSE(section_may_go_offline(gp_)) << "the thread is offline already";
        section_online(gp_);
        EXPECT_TRUE(section_may_go_offline(gp_));
    });
}

TEST(SectionProbes, TracepointsOfSectionsExist)
{
    EXPECT_EQ(test::missing_probes({"task_park", "task_resume"}), std::vector<std::string>{});
}

} // namespace
