/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of dispatching, and of a driver's creation, sleep and steps. */
#include <array>
#include <csignal>
#include <pthread.h>
#include <thread>

#include <gtest/gtest.h>

#include "../../support/capture.h"
#include "../../support/driving.h"
#include "../../support/variant.h"

namespace
{

using Dispatch = DriveWorld;

TEST_F(Dispatch, LeafWithoutCallbacksIsNotLocked)
{
    reader_record *busy = world_.craft(0);
    world_.fill_last_leaf();
    reader_record *idle = world_.craft(0);
    ASSERT_NE(busy->leaf, idle->leaf);
    queue_and_collect(busy);
    test::Worker holder, driver;
    holder.run([&] { callback_queues_lock(idle->leaf), reader_lock(idle->leaf); });
    bool ready = true;
    driver.start([&] { ready = serve_dispatch(&drive_->serve); });
    EXPECT_TRUE(test::eventually([&] { return driver.is_done(); }));
    holder.run([&] { reader_unlock(idle->leaf), callback_queues_unlock(idle->leaf); });
    driver.wait();
    EXPECT_FALSE(ready);
}

TEST_F(Dispatch, PassFindsWaitingAndReadyCallbacks)
{
    reader_record *record = world_.craft(0);
    queue_and_collect(record);
    EXPECT_FALSE(serve_dispatch(&drive_->serve)) << "the grace period is not over";
    grace_period();
    EXPECT_TRUE(serve_dispatch(&drive_->serve));
    EXPECT_TRUE(callback_has_ready(record));
    EXPECT_TRUE(serve_dispatch(&drive_->serve)) << "the callback has not run";
    callback_budget budget = {};
    budget.count_max = 10;
    budget.may_wait = true;
    EXPECT_EQ(callback_invoke(cb_, record, &budget).done, 1u);
    EXPECT_FALSE(serve_dispatch(&drive_->serve));
}

/* The driver's thread ends and cannot be created again, so the next call of each owner retries. */
TEST_F(Dispatch, NextCallRcuRetriesToCreateARefusedDriver)
{
    static const work_driver ends = {.name = "ends",
                                     .body =
                                         [](struct driver *gone) {
                                             rtrcu_store_relaxed(&gone->work->refused_ns, plat_clock_now());
                                             pthread_exit(nullptr);
                                         },
                                     .notify = nullptr,
                                     .online = nullptr,
                                     .leave = nullptr};
    keep();
    config_.tick_us = 60000000;
    reader_record *record = world_.craft(0);
    callback_slot(record)->queue.check_at = callback_slot(record)->free_check_at = 5;
    work_driver_change(&drive_->work, &ends, drive_->work.attr);
    ASSERT_EQ(work_driver_start(&drive_->work), 0);
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&callback_slot(record)->free_check_at) == 0; }));
    EXPECT_EQ(rtrcu_load_acquire(&callback_slot(record)->queue.check_at), 0u);
    EXPECT_EQ(rtrcu_load_acquire(&drive_->work.thread.state), static_cast<uint32_t>(WORK_NONE));
}

/* A driver's thread that exits is created again, without a call of another thread. */
TEST_F(Dispatch, ExitedDriverIsRecreated)
{
    static std::atomic<int> begun;
    static const work_driver ends = {.name = "ends once",
                                     .body =
                                         [](struct driver *) {
                                             if (begun++ == 0)
                                                 pthread_exit(nullptr);
                                             begun.wait(2);
                                         },
                                     .notify = nullptr,
                                     .online = nullptr,
                                     .leave = nullptr};
    keep();
    begun = 0;
    reader_record *record = world_.craft(0);
    callback_slot(record)->queue.check_at = 5;
    work_driver_change(&drive_->work, &ends, drive_->work.attr);
    ASSERT_EQ(work_driver_start(&drive_->work), 0);
    EXPECT_TRUE(test::eventually([&] { return begun.load() == 2 && work_driver_runs(&drive_->work); }));
    EXPECT_EQ(callback_slot(record)->queue.check_at, 5u);
}

/* A deadline thread creates no driver, except the first thread of a fork's child. */
TEST_F(Dispatch, DeadlineThreadCreatesOnlyAChildsFirstDriver)
{
    keep();
    test::Worker thread;
    thread.run([&] {
        reader_self_set(READER_STATE_DEADLINE);
        work_driver_start_in_call(&drive_->work);
        EXPECT_EQ(drive_->work.thread.state, static_cast<uint32_t>(WORK_NONE));
        drive_->work.survivor = {lock_thread_number() + 1};
        work_driver_start_in_call(&drive_->work);
        EXPECT_EQ(drive_->work.thread.state, static_cast<uint32_t>(WORK_NONE));
        drive_->work.survivor = lock_thread_id();
        work_driver_start_in_call(&drive_->work);
        EXPECT_TRUE(work_driver_runs(&drive_->work));
        reader_self_clear(READER_STATE_DEADLINE);
    });
}

TEST_F(Dispatch, DriverSeesUrgentQueuedAndNeededWork)
{
    EXPECT_FALSE(driver_anything_new(&drive_->driver));
    drive_->work.urgent = 1;
    EXPECT_TRUE(driver_anything_new(&drive_->driver));
    driver_sleep_pacing(&drive_->driver, drive_->work.thread.event, PLAT_FOREVER); /* does not sleep */
    drive_->work.urgent = 0;
    queue(world_.craft(0), 1);
    EXPECT_TRUE(driver_anything_new(&drive_->driver));
    ASSERT_TRUE(callback_collect(cb_));
    EXPECT_TRUE(driver_anything_new(&drive_->driver)) << "a grace period is needed";
    grace_period();
    EXPECT_FALSE(driver_anything_new(&drive_->driver));
    EXPECT_EQ(drive_->work.thread.sleeping, static_cast<uint32_t>(WORK_AWAKE));
}

TEST_F(Dispatch, StartOfARunningDriverReturnsImmediately)
{
    config_.tick_us = 60000000;
    drive_->work.refused_ns = plat_clock_now();
    work_driver_change(&drive_->work, driver_of(RTRCU_DRIVER_SCHED), drive_->work.attr);
    EXPECT_EQ(work_driver_start_surely(&drive_->work), 0); /* does not sleep */
    EXPECT_TRUE(work_driver_runs(&drive_->work));
    EXPECT_EQ(work_driver_start_surely(&drive_->work), 0);
}

/* A waiter sleeps: a waiter that spins could preempt the thread that creates the driver. */
TEST_F(Dispatch, WaiterSleepsWhileADriverIsCreated)
{
    config_.tick_us = 60000000;
    drive_->work.thread.state = WORK_STARTING;
    test::Worker waiter;
    std::atomic<pid_t> id = 0;
    int error = -1;
    waiter.start([&] {
        id = pid_t(lock_thread_number());
        error = work_driver_start_surely(&drive_->work);
    });
    EXPECT_TRUE(test::eventually([&] { return id && test::is_asleep(id); }));
    EXPECT_FALSE(waiter.is_done());
    rtrcu_exchange(&drive_->work.thread.state, static_cast<uint32_t>(WORK_RUNNING));
    plat_futex_wake(&drive_->work.thread.state, INT32_MAX);
    waiter.wait();
    EXPECT_EQ(error, 0);
    drive_->work.thread.state = WORK_NONE;
}

TEST_F(Dispatch, QuiescentStateInsideACallbackDoesNoDriverWork)
{
    work_driver_change(&drive_->work, driver_of(RTRCU_DRIVER_SCHED), drive_->work.attr);
    struct serve_call_budget call_budget = {};
    test::Worker thread;
    thread.run([&] {
        reader_self_set(READER_STATE_CALLBACK);
        driver_step_here(&drive_->driver, &call_budget, true);
        reader_self_clear(READER_STATE_CALLBACK);
        EXPECT_EQ(drive_->driver.passes.count, 0u);
        driver_step_here(&drive_->driver, &call_budget, true);
        EXPECT_EQ(drive_->driver.passes.count, 1u);
    });
}

/* The driver polls callbacks that wait for their owner once per tick. */
TEST_F(Dispatch, DriverSleepsTheWholeTick)
{
    keep();
    config_.tick_us = 3600000000;
    reader_record *record = world_.craft(0);
    make_ready(record, 1);
    callback_slot(record)->idle_since_ns = plat_clock_now();
    work_driver_change(&drive_->work, driver_of(RTRCU_DRIVER_LTIMER), drive_->work.attr);
    ASSERT_EQ(work_driver_start(&drive_->work), 0);
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&drive_->driver.passes.count) >= 2; }));
    auto driver = static_cast<pid_t>(plat_thread_tid(&drive_->work.thread.plat).number);
    EXPECT_TRUE(test::eventually([&] { return test::is_asleep(driver) || drive_->driver.passes.count > 2; }));
    EXPECT_EQ(rtrcu_load_acquire(&drive_->driver.passes.count), 2u) << "the first begins the tick";
}

/* Grace periods that only callbacks need begin once per tick, even if the driver is woken earlier. */
TEST_F(Dispatch, EarlyWakeUpBeginsNoGracePeriod)
{
    keep();
    config_.tick_us = 3600000000;
    auto request_reports = [&] { return gp_request(world_.gp(), GP_NORMAL, gp_snap(world_.gp(), GP_NORMAL)); };
    auto paces = [&] { return rtrcu_load_acquire(&drive_->work.thread.sleeping) == WORK_PACING; };
    ASSERT_TRUE(request_reports());
    work_driver_change(&drive_->work, driver_of(RTRCU_DRIVER_KTHREAD), drive_->work.attr);
    ASSERT_EQ(work_driver_start(&drive_->work), 0);
    EXPECT_TRUE(test::eventually([&] { return !gp_is_needed(world_.gp(), GP_NORMAL); })) << "the first begins the tick";
    uint64_t before = gp_seq(world_.gp(), GP_NORMAL);
    ASSERT_TRUE(request_reports());
    work_driver_wake(&drive_->work, false);
    for (int i = 0; i < 3; i++) {
        ASSERT_TRUE(test::eventually(paces));
        uint64_t passes = rtrcu_load_acquire(&drive_->driver.passes.count);
        work_thread_wake(&drive_->work.thread);
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&drive_->driver.passes.count) > passes; }));
    }
    EXPECT_TRUE(test::eventually(paces));
    EXPECT_EQ(gp_seq(world_.gp(), GP_NORMAL), before);
}

/* With driver sched, a thread that exits sets the flags of online threads, which continue the remaining work. */
TEST_F(Dispatch, ExitingThreadSetsFlagsOfOnlineThreadsForRemainingWork)
{
    work_driver_change(&drive_->work, driver_of(RTRCU_DRIVER_SCHED), drive_->work.attr);
    reader_record *online = world_.craft(RTRCU_QSBR_ONLINE), *offline = world_.craft(0), *inside = world_.craft(1);
    auto words = [&] {
        return std::array{rtrcu_word_of(online->self), rtrcu_word_of(offline->self), rtrcu_word_of(inside->self)};
    };
    const auto before = words();
    work_driver_leave(&drive_->work);
    EXPECT_EQ(words(), before) << "no work is left";
    (void)gp_request(world_.gp(), GP_NORMAL, gp_snap(world_.gp(), GP_NORMAL));
    work_driver_leave(&drive_->work);
    EXPECT_NE(words()[0], before[0]);
    EXPECT_EQ(words()[1], before[1]);
    EXPECT_EQ(words()[2], before[2]);
}

/* The nudger's creation may be refused, so the booster requests it each time until it exists. */
TEST(Boosting, RequestForTheNudgerIsRepeatedUntilItExists)
{
    struct domain_drive *drive = &rtrcu_domain.drive;
    struct work_thread *nudger = &drive->work.worker[WORK_WORKER_NUDGE].thread;
    int allowed = -1;
    std::thread([&] { allowed = plat_sched_set(1, 0); }).join();
    if (allowed != 0)
        GTEST_SKIP() << "real-time scheduling is refused";
    if (!work_thread_hold(nudger))
        GTEST_SKIP() << "the nudger was created in an earlier repetition";
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    test::GpStepper stepper(drive->turn.gp, GP_NORMAL);
    ASSERT_TRUE(stepper.begin_and_scan(plat_clock_now()));
    EXPECT_TRUE(test::eventually([&] {
        turn_boost(turn_gp_state(&drive->turn, GP_NORMAL));
        return (rtrcu_load_acquire(&nudger->state) & WORK_NEEDED) != 0;
    }));
    (void)work_thread_release(nudger);
    EXPECT_TRUE(test::eventually([&] {
        turn_boost(turn_gp_state(&drive->turn, GP_NORMAL));
        return work_thread_runs(nudger);
    }));
    reader.run([] { rcu_read_unlock(); });
    (void)stepper.poll(true);
    ASSERT_TRUE(stepper.is_clear());
    stepper.end(plat_clock_now());
}

/* Runs in a child process: one call_rcu() with driver sched, which needs no thread. */
void call_with_driver_sched()
{
    static rcu_head head;
    rtrcu_config config;
    rtrcu_config_get(&config);
    config.driver = RTRCU_DRIVER_SCHED;
    config.policy = RTRCU_POLICY_INLINE;
    bool configured = rtrcu_configure(&config) == 0;
    call_rcu(&head, [](rcu_head *) {});
    bool runs = work_thread_runs(&rtrcu_domain.drive.work.thread);
    /* whether the next call may skip the slow path */
    bool need_not_look = callback_slot(reader_self())->queue.check_at > 2;
    rcu_barrier();
    exit(configured && runs && need_not_look ? 0 : 1);
}

/* The test needs a process in which the driver can still be chosen. */
TEST(SchedDeathTest, FirstCallRcuEnablesTheFastPath)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator cannot execute this program again";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(call_with_driver_sched(), testing::ExitedWithCode(0), "");
}

/* The holder of a gp lock may be between a fence and its scan, so readers' fences change only with both locks held. */
void change_fences_beside(gp_kind kind)
{
    rtrcu_config config;
    rtrcu_config_get(&config);
    config.membarrier = RTRCU_MEMBARRIER_OFF;
    bool full = rtrcu_configure(&config) == 0 && reader_fences_are_full(&rtrcu_domain.registry);
    config.membarrier = RTRCU_MEMBARRIER_AUTO;
    test::Worker holder, changer;
    std::atomic<pid_t> id = 0;
    std::atomic<bool> configured = false;
    holder.run([&] { turn_gp_lock(turn_gp_state(&rtrcu_domain.drive.turn, kind)); });
    changer.start([&] {
        id = pid_t(lock_thread_number());
        configured = rtrcu_configure(&config) == 0;
    });
    bool waits = test::eventually([&] { return id && (changer.is_done() || test::is_asleep(id)); });
    bool stays = !changer.is_done() && reader_fences_are_full(&rtrcu_domain.registry);
    holder.run([&] { turn_gp_unlock(turn_gp_state(&rtrcu_domain.drive.turn, kind)); });
    changer.wait();
    exit(full && waits && stays && configured ? 0 : 1);
}

TEST(FencesDeathTest, FenceModeChangesOnlyUnderBothGpLocks)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator cannot execute this program again";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(change_fences_beside(GP_NORMAL), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(change_fences_beside(GP_EXPEDITED), testing::ExitedWithCode(0), "");
}

/* ---- deadline threads, each in a process of its own ---- */

/* Configures @policy.  The driver's thread is held, so that no other thread runs. */
bool configured_for_owners(int32_t policy)
{
    rtrcu_config config;
    rtrcu_config_get(&config);
    config.policy = policy;
    config.krcud_when = RTRCU_KRCUD_WHEN_ALWAYS;
    config.bhlimit = 1; /* one of the two ready callbacks */
    return work_thread_hold(&rtrcu_domain.drive.work.thread) && rtrcu_configure(&config) == 0;
}

/* A deadline thread runs as many of two ready callbacks as its policy allows.  Returns whether @number is unchanged. */
template <typename Number> bool stays_in_a_deadline_threads_call(Number number)
{
    static rcu_head heads[2];
    test::Worker owner;
    const reader_record *record = nullptr;
    uint64_t before = 0, ran = 0;
    owner.run([&] {
        (void)section_register(&rtrcu_domain.gp, RTRCU_DEADLINE);
        for (rcu_head &head : heads)
            call_rcu(&head, [](rcu_head *) {});
        record = reader_self();
    });
    bool ready = test::eventually([&] {
        (void)rcu_process_callbacks(0);
        return callback_has_ready(record);
    });
    owner.run([&] {
        before = number();
        ran = rcu_process_callbacks(-1);
    });
    return ready && ran > 0 && number() == before;
}

void tell_who_waits()
{
    bool configured = configured_for_owners(RTRCU_POLICY_INLINE);
    tally_raise(&rtrcu_domain.drive.serve.progress_waiters);
    auto told = [] { return rtrcu_load_acquire(&rtrcu_domain.drive.serve.progress); };
    exit(configured && stays_in_a_deadline_threads_call(told) ? 0 : 1);
}

/* A deadline thread wakes no waiter when its callbacks return: a wake-up would be a system call.  Waiters poll once per
 * tick. */
TEST(DeadlineDeathTest, CallbacksReturnWithoutAWakeUp)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator cannot execute this program again";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(tell_who_waits(), testing::ExitedWithCode(0), "");
}

void use_up_the_quota()
{
    bool configured = configured_for_owners(RTRCU_POLICY_KRCUD);
    auto given = [] { return counter_read(&rtrcu_domain.drive.serve.krcud_given); };
    exit(configured && stays_in_a_deadline_threads_call(given) ? 0 : 1);
}

/* A deadline thread does not wake the daemon, which may need its creation, its lock and a system call.  The driver
 * wakes it instead. */
TEST(DeadlineDeathTest, UsedUpQuotaWakesNoDaemon)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator cannot execute this program again";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(use_up_the_quota(), testing::ExitedWithCode(0), "");
}

/* The previous poller may have exited, so a new grace period has no poller until a thread becomes one. */
TEST_F(Dispatch, GracePeriodBeginsWithoutAPoller)
{
    for (int kind = 0; kind < GP_KINDS; kind++) {
        drive_->turn.gp_state[kind].poller = {77};
        (void)gp_request(world_.gp(), gp_kind(kind), gp_snap(world_.gp(), gp_kind(kind)));
        EXPECT_TRUE(turn_step(turn_gp_state(&drive_->turn, gp_kind(kind)))) << "no thread reads";
        EXPECT_EQ(drive_->turn.gp_state[kind].poller.number, 0u);
    }
}

/* rcu_barrier() suspends the caller's deadline, which would stop the callbacks that it runs. */
TEST(Barrier, BarrierRestoresTheCallersDeadline)
{
    std::thread([] {
        ASSERT_EQ(rtrcu_register_thread(0), 0);
        int64_t deadline_ns = plat_clock_now() + INT64_C(3600000000000);
        callback_set_deadline(reader_self(), deadline_ns);
        rcu_barrier();
        EXPECT_EQ(callback_deadline(reader_self()), deadline_ns);
    }).join();
}

/* The queue of an exited thread was on the list of a daemon.  In the child the queue is on no list, so its slot is
 * free. */
TEST_F(Dispatch, ForksChildHasNoListedQueue)
{
    reader_record *record = world_.craft(0);
    serve_slot(record)->listed = 1;
    serve_slot(record)->next_ready = record;
    turn_slot(record)->booster = 77;
    world_.withdraw(record);
    EXPECT_NE(world_.craft(0), record) << "the queue is on a daemon's list";
    after_fork_child(PLAT_NOBODY);
    EXPECT_EQ(serve_slot(record)->listed, 0u);
    EXPECT_EQ(serve_slot(record)->next_ready, nullptr);
    EXPECT_EQ(turn_slot(record)->booster, 0u) << "the booster does not exist in the child";
    EXPECT_EQ(world_.craft(0), record);
}

/* A handler that interrupts a call of the library creates no thread, since the interrupted call may hold a lock that
 * the creation needs. */
TEST_F(Dispatch, NestedCallCreatesNoDriver)
{
    keep();
    call_begin();
    call_begin();
    work_driver_start_in_call(&drive_->work);
    EXPECT_EQ(drive_->work.thread.state, static_cast<uint32_t>(WORK_NONE));
    call_end();
    work_driver_start_in_call(&drive_->work);
    EXPECT_TRUE(work_driver_runs(&drive_->work));
    call_end();
}

} // namespace
