/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the fork handlers of serve/, and of invokers during a fork.  The tests call the handlers, not fork(). */
#include <pthread.h>

#include "../../support/capture.h"
#include "../../support/driving.h"

namespace
{

using ServeFork = DriveWorld;

/* A thread that runs the fork handlers. */
class Forker
{
    struct domain_drive *drive_;
    test::Worker thread_;

  public:
    explicit Forker(struct domain_drive *drive) : drive_(drive)
    {
    }
    void begin()
    {
        thread_.start([this] { serve_before_fork(&drive_->serve); });
    }
    void end()
    {
        thread_.wait();
        thread_.run([this] { serve_after_fork_parent(&drive_->serve); });
    }
    bool is_ready() const
    {
        return thread_.is_done();
    }
};

/* While threads fork, invokers are held off, but for fork_wait_us at most: then one batch runs. */
TEST_F(ServeFork, HeldOffInvokerRunsOneBatchAfterForkWait)
{
    constexpr uint64_t batch = 64;
    reader_record *record = world_.craft(0);
    struct serve_call_budget call_budget = {};
    call_budget.ns = PLAT_FOREVER;
    make_ready(record, 2 * batch);
    tally_raise(&drive_->serve.fork.pause.forking);
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(left(record), 2 * batch);
    drive_->serve.aside.held_off_ns -= config_.fork_wait_us * 1000 + 1;
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(left(record), batch);
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(left(record), batch) << "the invoker is held off again";
    (void)tally_lower(&drive_->serve.fork.pause.forking);
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(left(record), 0u);
    EXPECT_EQ(drive_->serve.aside.held_off_ns, 0);
}

TEST_F(ServeFork, HeldOffDaemonRunsWhileThreadsFork)
{
    config_.fork_wait_us = 1000;
    keep();
    reader_record *record = world_.craft(0);
    make_ready(record, 1);
    tally_raise(&drive_->serve.fork.pause.forking); /* a fork is in progress until the test ends */
    EXPECT_TRUE(test::eventually([&] {
        (void)serve_daemon_enqueue(&drive_->serve, record, 0, false);
        return left(record) == 0;
    }));
}

TEST_F(ServeFork, DaemonWithoutWorkIsNotHeldOff)
{
    keep();
    reader_record *record = world_.craft(0);
    make_ready(record, 1);
    EXPECT_TRUE(
        test::eventually([&] { return serve_daemon_enqueue(&drive_->serve, record, 0, false) && left(record) == 0; }));
    EXPECT_TRUE(test::eventually([&] { return work_thread_sleeps(&drive_->serve.daemon[0].thread) == WORK_ASLEEP; }))
        << "the queue may be on the list once more, without callbacks";
    tally_raise(&drive_->serve.fork.pause.forking);
    work_thread_wake(&drive_->serve.daemon[0].thread);
    EXPECT_TRUE(test::eventually([&] { return work_thread_sleeps(&drive_->serve.daemon[0].thread) == WORK_ASLEEP; }));
    lock_acquire(&drive_->serve.daemon[0].lock); /* the daemon may check again */
    EXPECT_EQ(drive_->serve.daemon[0].held_off_ns, 0);
    lock_release(&drive_->serve.daemon[0].lock);
    (void)tally_lower(&drive_->serve.fork.pause.forking);
}

/* Each fork that gives up waiting for a callback is counted; the first is reported. */
TEST_F(ServeFork, CallbackThatAForkDidNotWaitForIsReportedOnce)
{
    config_.fork_wait_us = 1000;
    drive_->serve.aside.serving = 1;
    for (uint64_t forks = 1; forks <= 3; forks++) {
        test::CapturedErrors errors;
        serve_before_fork(&drive_->serve);
        serve_after_fork_parent(&drive_->serve);
        EXPECT_EQ(errors.contains("a callback has not returned in time"), forks == 1) << forks;
        EXPECT_EQ(drive_->serve.fork.given_up.count, forks);
    }
    drive_->serve.aside.serving = 0;
}

/* During a fork readers and grace periods continue. */
TEST_F(ServeFork, ReadersAndGracePeriodsContinueDuringAFork)
{
    struct rcu_task task = {};
    reader_record *record = world_.craft(0);
    struct parked_slot *slot = parked_slot(record);
    Forker forker(drive_);
    forker.begin();
    EXPECT_TRUE(test::eventually([&] { return forker.is_ready(); }));
    test::Worker other;
    other.start([&] {
        parked_add_to_thread(record, &task);
        test::GpStepper stepper(world_.gp());
        EXPECT_TRUE(stepper.begin_and_scan());
        EXPECT_EQ(slot->count, 0u) << "the task was promoted";
        reader_lock(record->leaf);
        (void)gp_unpark(world_.gp(), record->leaf, &task);
        reader_unlock(record->leaf);
        stepper.end();
        world_.withdraw(record);
    });
    EXPECT_TRUE(test::eventually([&] { return other.is_done(); }));
    forker.end();
    other.wait();
}

TEST_F(ServeFork, NoThreadMovesCallbacksDuringAFork)
{
    reader_record *record = world_.craft(0);
    queue(record, 1);
    Forker forker(drive_);
    forker.begin();
    EXPECT_TRUE(test::eventually([&] { return forker.is_ready(); }));
    std::atomic<pid_t> id = 0;
    test::Worker other;
    other.start([&] {
        id = gettid();
        (void)callback_collect(cb_);
    });
    EXPECT_TRUE(test::eventually([&] { return id && (other.is_done() || test::is_asleep(id)); }));
    EXPECT_FALSE(other.is_done());
    EXPECT_FALSE(cbqueue_is_waiting(&callback_slot(record)->queue));
    forker.end();
    other.wait();
    EXPECT_TRUE(cbqueue_is_waiting(&callback_slot(record)->queue));
}

/* A fork inside a callback, and a fork by a deadline thread, wait for no callback. */
TEST_F(ServeFork, CallbacksAndDeadlineThreadsMayForkWithoutWaiting)
{
    config_.fork_wait_us = 60000000;
    drive_->serve.aside.serving = 1;
    for (uint32_t state : {READER_STATE_CALLBACK, READER_STATE_DEADLINE}) {
        reader_self_set(state);
        serve_before_fork(&drive_->serve);
        serve_after_fork_parent(&drive_->serve);
        reader_self_clear(state);
    }
    EXPECT_EQ(tally_read(&drive_->serve.fork.pause.forking), 0u);
    EXPECT_EQ(drive_->serve.fork.given_up.count, 0u);
    drive_->serve.aside.serving = 0;
}

TEST_F(ServeFork, ChildHasNoDaemonsAndNoListedQueues)
{
    reader_record *record = world_.craft(0);
    const uint32_t cpus[] = {0, 1, PLAT_CPU_MAX - 1};
    for (uint32_t cpu : cpus) {
        struct serve_daemon &daemon = drive_->serve.daemon[cpu];
        daemon.first = daemon.last = record;
        daemon.serving = 1;
        daemon.held_off_ns = 1;
        daemon.thread.state = WORK_RUNNING;
    }
    drive_->work.threads = 1 + sizeof(cpus) / sizeof(cpus[0]);
    drive_->work.urgent = drive_->serve.aside.serving = 1;
    drive_->work.refused_ns = 1;
    drive_->serve.aside.held_off_ns = 1;
    tally_raise(&drive_->serve.progress_waiters);
    tally_raise(&drive_->serve.fork.pause.forking);
    after_fork_child(PLAT_NOBODY);
    for (uint32_t cpu : cpus) {
        const struct serve_daemon &daemon = drive_->serve.daemon[cpu];
        EXPECT_EQ(daemon.first, nullptr) << "daemon " << cpu;
        EXPECT_EQ(daemon.last, nullptr) << "daemon " << cpu;
        EXPECT_EQ(daemon.serving, 0u) << "daemon " << cpu;
        EXPECT_EQ(daemon.held_off_ns, 0) << "daemon " << cpu;
        EXPECT_EQ(daemon.thread.state, static_cast<uint32_t>(WORK_NONE)) << "daemon " << cpu;
    }
    EXPECT_EQ(drive_->work.threads, 0u);
    EXPECT_EQ(drive_->work.urgent | tally_read(&drive_->serve.progress_waiters), 0u);
    EXPECT_EQ(drive_->work.refused_ns, 0) << "a refusal in the parent does not count";
    EXPECT_EQ(drive_->serve.aside.serving, 0u);
    EXPECT_EQ(drive_->serve.aside.held_off_ns, 0);
    EXPECT_EQ(tally_read(&drive_->serve.fork.pause.forking), 0u);
}

/* One thread boosts at a time; the child clears the booster, which may not exist there. */
TEST_F(ServeFork, NoThreadBoostsInAChild)
{
    static const uint32_t cpu = 0;
    drive_->turn.boosting = {{77}, 9, 1000, 0, &cpu};
    after_fork_child(PLAT_NOBODY);
    EXPECT_TRUE(plat_tid_is_nobody(drive_->turn.boosting.booster));
    EXPECT_EQ(drive_->turn.boosting.priority, 0);
    EXPECT_EQ(drive_->turn.boosting.nap_ns, 0);
    EXPECT_EQ(drive_->turn.boosting.cpu_at, nullptr);
}

/* A daemon's callback forks.  In the child another daemon has the queue, so the first daemon must not list it again. */
TEST_F(ServeFork, DaemonThatEndsAfterAForkLeavesItsQueueToAnotherDaemon)
{
    keep();
    static struct domain_drive *drive;
    static reader_record *record;
    static std::atomic<bool> began, may_end;
    drive = drive_;
    record = world_.craft(0);
    began = may_end = false;
    /* the other daemon does nothing, so the queue stays on its list */
    drive_->serve.daemon[1].thread.state = WORK_RUNNING;
    make_ready(record, 1, [](rcu_head *) {
        began = true;
        may_end.wait(false);
        drive->serve.fork.generation++; /* as in the child, which passes the queue to another daemon */
        drive->serve.daemon[0].serving = 0;
        *serve_slot(record) = {};
        EXPECT_TRUE(serve_daemon_enqueue(&drive->serve, record, 1, false));
        pthread_exit(nullptr);
    });
    give_until_the_daemon_ends(record, began, may_end);
    EXPECT_EQ(drive_->serve.daemon[1].first, record);
    EXPECT_EQ(serve_slot(record)->listed, 1u) << "the queue is still listed";
    EXPECT_EQ(drive_->serve.daemon[0].serving, 0u);
}

/* A callback that runs in a call of another thread forks.  In the child a daemon has the queue, so the end of the batch
 * must not unlist the queue. */
TEST_F(ServeFork, EndOfBatchInCallBeforeForkDoesNotUnlistTheQueue)
{
    static struct domain_drive *drive;
    static reader_record *record;
    drive = drive_;
    record = world_.craft(0);
    drive_->serve.daemon[1].thread.state = WORK_RUNNING; /* the daemon does nothing, so the queue stays on its list */
    make_ready(record, 1, [](rcu_head *) {
        drive->serve.fork.generation++;
        drive->serve.aside.serving = 0;
        *serve_slot(record) = {};
        EXPECT_TRUE(serve_daemon_enqueue(&drive->serve, record, 1, false));
    });
    struct serve_call_budget call_budget = {};
    call_budget.ns = PLAT_FOREVER;
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(left(record), 0u);
    EXPECT_EQ(drive_->serve.daemon[1].first, record);
    EXPECT_EQ(serve_slot(record)->listed, 1u) << "the queue is still listed";
    EXPECT_EQ(drive_->serve.aside.serving, 0u);
    drive_->serve.daemon[1].thread.state = WORK_NONE;
}

} // namespace
