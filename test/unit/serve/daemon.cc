/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of daemons: their lists of queues, batches in calls of other threads, and scheduling. */
#include <cstddef>
#include <cstring>
#include <pthread.h>
#include <sys/resource.h>

#include "../../support/variant.h"
#include "../../support/driving.h"

namespace
{

using Daemons = DriveWorld;

/* Make the daemon of @cpu count as running; it has no thread, so queues stay on its list. */
struct serve_daemon *still(struct domain_drive *drive, uint32_t cpu)
{
    drive->serve.daemon[cpu].thread.state = WORK_RUNNING;
    return &drive->serve.daemon[cpu];
}

TEST_F(Daemons, UrgentQueueIsListedBeforeOthers)
{
    struct serve_daemon *daemon = still(drive_, 0);
    reader_record *one = world_.craft(0), *two = world_.craft(0), *urgent = world_.craft(0);
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, one, 0, false));
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, two, 0, false));
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, urgent, 0, true));
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, one, 0, false)) << "the queue is listed already";
    EXPECT_EQ(daemon->first, urgent);
    EXPECT_EQ(serve_slot(urgent)->next_ready, one);
    EXPECT_EQ(serve_slot(one)->next_ready, two);
    EXPECT_EQ(serve_slot(two)->next_ready, nullptr);
    EXPECT_EQ(daemon->last, two);
    EXPECT_EQ(drive_->serve.krcud_given.count, 3u);
    for (reader_record *record : {one, two, urgent})
        EXPECT_EQ(serve_slot(record)->listed, 1u);
}

TEST_F(Daemons, SingleUrgentQueueIsFirstAndLast)
{
    struct serve_daemon *daemon = still(drive_, 0);
    reader_record *urgent = world_.craft(0), *next = world_.craft(0);
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, urgent, 0, true));
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, next, 0, false));
    EXPECT_EQ(daemon->first, urgent);
    EXPECT_EQ(serve_slot(urgent)->next_ready, next);
    EXPECT_EQ(daemon->last, next);
}

TEST_F(Daemons, DaemonIsWokenFromItsSleep)
{
    struct serve_daemon *daemon = still(drive_, 0);
    reader_record *one = world_.craft(0), *two = world_.craft(0);
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, one, 0, false));
    EXPECT_EQ(daemon->thread.event, 0u) << "the daemon is awake";
    test::Worker sleeper;
    daemon->thread.sleeping = 1;
    sleeper.start([&] {
        while (rtrcu_load_acquire(&daemon->thread.event) == 0)
            plat_futex_wait(&daemon->thread.event, 0, PLAT_FOREVER);
    });
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, two, 0, false));
    sleeper.wait();
    EXPECT_EQ(daemon->thread.event, 1u);
}

/* If the daemon's thread cannot be created, a running daemon gets the queue.  Without one, the enqueue fails. */
TEST_F(Daemons, AnotherDaemonGetsTheQueueIfADaemonCannotBeCreated)
{
    reader_record *record = world_.craft(0);
    drive_->work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000;
    EXPECT_FALSE(serve_daemon_enqueue(&drive_->serve, record, 0, false));
    EXPECT_EQ(serve_slot(record)->listed, 0u);
    struct serve_daemon *other = still(drive_, PLAT_CPU_MAX - 1);
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, record, 0, false));
    EXPECT_EQ(other->first, record);
}

/* The queue stays with its daemon, and no other daemon is created or requested. */
TEST_F(Daemons, ListedQueueIsNotListedAgain)
{
    reader_record *record = world_.craft(0);
    struct serve_daemon *other = &drive_->serve.daemon[1];
    (void)still(drive_, 0);
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, record, 0, false));
    ASSERT_TRUE(work_thread_hold(&other->thread));
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, record, 1, false));
    EXPECT_EQ(other->thread.state, static_cast<uint32_t>(WORK_STARTING));
    EXPECT_EQ(drive_->serve.krcud_given.count, 1u);
}

/* The test makes the memory after the last daemon look like a running daemon inside a callback; it must not be read. */
TEST_F(Daemons, EachCpuHasAtMostOneDaemon)
{
    struct Two {
        struct domain_drive drive;
        struct serve_daemon room[2];
    };
    auto two = test::zeroed<Two>();
    struct watch watch = {};
    watch_init(&watch, &room_, world_.gp(), cb_);
    api_drive_init(&two->drive, &room_, world_.gp(), cb_, &watch);
    two->drive.work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000;
    struct serve_daemon running = {};
    lock_init(&running.lock, LOCK_RANK_DAEMON);
    running.thread.state = WORK_RUNNING;
    running.serving = 1;
    size_t behind = offsetof(struct domain_drive, serve.daemon) + sizeof(two->drive.serve.daemon);
    memcpy(reinterpret_cast<char *>(two.get()) + behind, &running, sizeof(running));
    EXPECT_FALSE(serve_daemon_enqueue(&two->drive.serve, world_.craft(0), 0, false));
    EXPECT_FALSE(serve_is_invoking(&two->drive.serve));
}

TEST_F(Daemons, DaemonBeingCreatedGetsNoQueue)
{
    reader_record *record = world_.craft(0);
    ASSERT_TRUE(work_thread_hold(&drive_->serve.daemon[0].thread));
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, record, 0, false));
    EXPECT_EQ(serve_slot(record)->listed, 0u);
    EXPECT_EQ(drive_->serve.daemon[0].first, nullptr);
    EXPECT_EQ(drive_->serve.krcud_given.count, 0u);
}

/* A daemon that ends while a queue is passed to it does not read its list again, so the queue must not count as listed.
 */
TEST_F(Daemons, DaemonThatIsEndingGetsNoQueue)
{
    reader_record *record = world_.craft(0);
    struct serve_daemon *daemon = still(drive_, 0);
    test::Worker driver;
    lock_acquire(&daemon->lock);
    driver.start([&] { EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, record, 0, false)); });
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&drive_->serve.krcud_given.count) == 1; }));
    rtrcu_store_relaxed(&daemon->thread.state, uint32_t{WORK_NONE});
    lock_release(&daemon->lock);
    driver.wait();
    EXPECT_EQ(serve_slot(record)->listed, 0u);
    EXPECT_EQ(daemon->first, nullptr);
}

/* Policy krcud needs all daemons, so each creation is attempted, even directly after a refusal. */
TEST_F(Daemons, StartOfAllDaemonsIgnoresAnEarlierRefusal)
{
    keep();
    static struct plat_thread_attr attr; /* static, since the daemon uses it after the test */
    attr = *drive_->work.attr;
    ASSERT_EQ(plat_cpus_parse("0", &attr.cpus), 0);
    drive_->work.refused_ns = INT64_MAX / 2; /* a refusal that counts as recent throughout the test */
    EXPECT_EQ(serve_daemon_start_all(&drive_->serve, &config_, &attr), 0);
    EXPECT_EQ(rtrcu_load_acquire(&drive_->serve.daemon[0].thread.state), uint32_t{WORK_RUNNING});
}

TEST_F(Daemons, EachCpuHasItsOwnDaemon)
{
    if (plat_cpus_configured() < 2)
        GTEST_SKIP() << "there is one CPU";
    keep();
    static struct plat_thread_attr attr;
    attr = *drive_->work.attr;
    ASSERT_EQ(plat_cpus_parse("0-1", &attr.cpus), 0);
    EXPECT_EQ(serve_daemon_start_all(&drive_->serve, &config_, &attr), 0);
    for (int cpu : {0, 1})
        EXPECT_EQ(rtrcu_load_acquire(&drive_->serve.daemon[cpu].thread.state), uint32_t{WORK_RUNNING}) << cpu;
}

/* The thread's last CPU is unknown, so a CPU of the process is chosen. */
TEST_F(Daemons, QueueOfAnExitedThreadGoesToACpuOfTheProcess)
{
    plat_thread_attr attr = *drive_->work.attr;
    ASSERT_EQ(plat_cpus_parse("0", &attr.cpus), 0);
    drive_->work.attr = &attr;
    reader_record *record = world_.craft(0);
    ASSERT_NE(record->slot, 0u);
    world_.withdraw(record);
    EXPECT_EQ(serve_cpu_of(&drive_->serve, record), 0u);
}

/* The slot of an exited thread is free after its last callback. */
TEST_F(Daemons, SlotIsReleasedOnceItsQueueIsEmpty)
{
    keep();
    reader_record *record = world_.craft(0);
    make_ready(record, 3);
    world_.withdraw(record);
    EXPECT_TRUE(test::eventually([&] {
        (void)serve_daemon_enqueue(&drive_->serve, record, 0, false);
        return (reader_used(record->leaf) & reader_bit(record)) == 0;
    }));
}

TEST_F(Daemons, BatchInACallIsCountedUntilItEnds)
{
    static struct domain_drive *drive;
    static bool at_work;
    drive = drive_;
    at_work = false;
    reader_record *record = world_.craft(0);
    make_ready(record, 1,
               [](rcu_head *) { at_work = serve_is_invoking(&drive->serve) && drive->serve.aside.serving == 1; });
    struct serve_call_budget call_budget = {};
    call_budget.ns = PLAT_FOREVER;
    EXPECT_FALSE(serve_is_invoking(&drive_->serve));
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_TRUE(at_work);
    EXPECT_EQ(drive_->serve.aside.serving, 0u);
    EXPECT_FALSE(serve_is_invoking(&drive_->serve));
    EXPECT_EQ(serve_slot(record)->listed, 0u);
    EXPECT_EQ(call_budget.spent_ns, 0) << "an unlimited budget counts no time";
    EXPECT_FALSE(call_budget.left);
}

TEST_F(Daemons, BatchOfADaemonIsCounted)
{
    drive_->serve.daemon[PLAT_CPU_MAX - 1].serving = 1;
    EXPECT_FALSE(serve_is_invoking(&drive_->serve)) << "the daemon has no thread";
    drive_->serve.daemon[PLAT_CPU_MAX - 1].thread.state = WORK_RUNNING;
    EXPECT_TRUE(serve_is_invoking(&drive_->serve));
}

TEST_F(Daemons, CallStopsOnceItsTimeBudgetIsSpent)
{
    config_.blimit = 4;
    config_.qhimark = config_.qmax = 1000000;
    reader_record *record = world_.craft(0);
    make_ready(record, 10);
    struct serve_call_budget call_budget = {};
    call_budget.ns = 3600 * INT64_C(1000000000);
    call_budget.spent_ns = 5 * INT64_C(1000000000);
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(left(record), 6u) << "the batch ended at blimit";
    EXPECT_TRUE(call_budget.left);
    EXPECT_GE(call_budget.spent_ns, 5 * INT64_C(1000000000));
    EXPECT_LT(call_budget.spent_ns, 3000 * INT64_C(1000000000));
    call_budget.spent_ns = call_budget.ns;
    call_budget.left = false;
    uint64_t stops = cb_->budget_stops.count;
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(left(record), 6u) << "the budget is spent";
    EXPECT_EQ(call_budget.spent_ns, call_budget.ns) << "no further time is counted";
    EXPECT_EQ(cb_->budget_stops.count, stops);
    EXPECT_TRUE(call_budget.left);
    call_budget.spent_ns = 0;
    call_budget.left = false;
    config_.blimit = 100;
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(left(record), 0u);
    EXPECT_FALSE(call_budget.left);
    call_budget.left = true;
    make_ready(record, 1);
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_TRUE(call_budget.left) << "callbacks of another queue are left";
}

TEST_F(Daemons, TimeOfCallbacksCountsAgainstTheCallsBudget)
{
    constexpr int64_t each_ns = 200000;
    reader_record *record = world_.craft(0);
    make_ready(record, 1, [](rcu_head *) {
        for (int64_t began = plat_clock_now(); plat_clock_now() - began < each_ns;)
            ;
    });
    struct serve_call_budget call_budget = {};
    call_budget.ns = 3600 * INT64_C(1000000000);
    call_budget.spent_ns = 5 * INT64_C(1000000000);
    int64_t began = plat_clock_now();
    serve_in_call(&drive_->serve, record, &call_budget);
    int64_t took = plat_clock_now() - began, spent = call_budget.spent_ns - 5 * INT64_C(1000000000);
    EXPECT_EQ(left(record), 0u);
    EXPECT_GE(spent, each_ns);
    EXPECT_LE(spent, took);
}

/* The deadline of a thread also applies to callbacks of other threads that it runs. */
TEST_F(Daemons, InvokersOwnDeadlineEndsTheBatch)
{
    reader_record *record = world_.craft(0);
    make_ready(record, 10);
    struct serve_call_budget call_budget = {};
    call_budget.ns = PLAT_FOREVER;
    test::Worker server;
    server.run([&] {
        rtrcu_set_deadline(1); /* long past */
        serve_in_call(&drive_->serve, record, &call_budget);
    });
    EXPECT_EQ(left(record), 10u);
    EXPECT_EQ(cb_->deadline_stops.count, 1u);
    server.run([&] {
        rtrcu_set_deadline(0); /* no deadline */
        serve_in_call(&drive_->serve, record, &call_budget);
        rcu_unregister_thread();
    });
    EXPECT_EQ(left(record), 0u);
}

TEST_F(Daemons, CallRunsNoQueueThatADaemonHasListed)
{
    reader_record *record = world_.craft(0);
    make_ready(record, 1);
    struct serve_call_budget call_budget = {};
    call_budget.ns = PLAT_FOREVER;
    serve_slot(record)->listed = 1;
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(left(record), 1u);
    EXPECT_EQ(drive_->serve.aside.serving, 0u);
    EXPECT_EQ(serve_slot(record)->listed, 1u);
    serve_slot(record)->listed = 0;
    tally_raise(&drive_->serve.fork.pause.forking);
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(left(record), 1u) << "a thread forks";
    EXPECT_FALSE(call_budget.left) << "the callbacks are not left for the caller";
    EXPECT_EQ(drive_->serve.aside.serving, 0u);
    (void)tally_lower(&drive_->serve.fork.pause.forking);
}

/* The queue is passed to a daemon after the caller has checked it the first time. */
TEST_F(Daemons, CallRunsNoQueueThatIsListedMeanwhile)
{
    reader_record *record = world_.craft(0);
    make_ready(record, 1);
    struct serve_call_budget call_budget = {};
    call_budget.ns = PLAT_FOREVER;
    test::Worker holder, server;
    std::atomic<pid_t> id = 0;
    holder.run([&] { lock_acquire(&drive_->serve.aside.lock); });
    server.start([&] {
        id = pid_t(lock_thread_number());
        serve_in_call(&drive_->serve, record, &call_budget);
    });
    EXPECT_TRUE(test::eventually([&] { return id && (server.is_done() || test::is_asleep(id)); }));
    EXPECT_FALSE(server.is_done());
    rtrcu_exchange(&serve_slot(record)->listed, 1);
    holder.run([&] { lock_release(&drive_->serve.aside.lock); });
    server.wait();
    EXPECT_EQ(left(record), 1u);
    EXPECT_EQ(serve_slot(record)->listed, 1u);
    EXPECT_EQ(drive_->serve.aside.serving, 0u);
}

/* A thread that forks sleeps until each invoker is between callbacks. */
TEST_F(Daemons, ForkingThreadIsWokenAfterTheBatch)
{
    static struct domain_drive *drive;
    drive = drive_;
    reader_record *record = world_.craft(0);
    struct serve_call_budget call_budget = {};
    call_budget.ns = PLAT_FOREVER;
    make_ready(record, 1);
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(drive_->serve.fork.pause.event, 0u) << "no thread forks";
    make_ready(record, 1, [](rcu_head *) { tally_raise(&drive->serve.fork.pause.forking); });
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(drive_->serve.fork.pause.event, 1u);
    tally_reset(&drive_->serve.fork.pause.forking);
}

/* The callback does what the fork handler does in the child. */
TEST_F(Daemons, ForkInsideACallbackIsCountedOnce)
{
    static struct domain_drive *drive;
    static reader_record *record;
    drive = drive_;
    record = world_.craft(0);
    make_ready(record, 1, [](rcu_head *) {
        drive->serve.fork.generation++;
        drive->serve.aside.serving = 0;
    });
    struct serve_call_budget call_budget = {};
    call_budget.ns = PLAT_FOREVER;
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_EQ(drive_->serve.aside.serving, 0u);
    EXPECT_EQ(serve_slot(record)->listed, 1u) << "the batch of the parent does not unlist the queue";
}

/* The slot of a thread that exits during a batch of its queue is released when the batch ends. */
TEST_F(Daemons, SlotOfAnExitingThreadIsReleasedAfterTheBatch)
{
    static test::World *world;
    static reader_record *record;
    static bool kept;
    world = &world_;
    record = world_.craft(0);
    kept = false;
    make_ready(record, 1, [](rcu_head *) {
        world->withdraw(record);
        kept = world->craft(0) != record;
    });
    struct serve_call_budget call_budget = {};
    call_budget.ns = PLAT_FOREVER;
    serve_in_call(&drive_->serve, record, &call_budget);
    EXPECT_TRUE(kept);
    EXPECT_EQ(world_.craft(0), record);
}

/* The queue is longer than one batch: the daemon continues without another wake-up. */
TEST_F(Daemons, DaemonRunsALongQueueWithoutFurtherWakeUps)
{
    keep();
    reader_record *record = world_.craft(0), *other = world_.craft(0);
    make_ready(record, 10000);
    make_ready(other, 10000);
    EXPECT_TRUE(test::eventually([&] {
        return serve_daemon_enqueue(&drive_->serve, record, 0, false) &&
               work_thread_runs(&drive_->serve.daemon[0].thread);
    }));
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, record, 0, false));
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, other, 0, false));
    EXPECT_TRUE(test::eventually([&] { return left(record) == 0 && left(other) == 0; }));
    EXPECT_TRUE(test::eventually([&] {
        return rtrcu_load_acquire(&serve_slot(record)->listed) == 0 && !serve_is_invoking(&drive_->serve) &&
               rtrcu_load_acquire(&serve_slot(other)->listed) == 0;
    }));
    EXPECT_STREQ(drive_->serve.daemon[0].thread.plat.name, "krcud/0");
    make_ready(other, 1);
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, other, 0, false));
    EXPECT_TRUE(test::eventually([&] { return left(other) == 0; })) << "the daemon serves again after a sleep";
}

/* A callback ends the daemon's thread; a fork must not wait for its batch. */
TEST_F(Daemons, DaemonEndedByACallbackIsNotCountedAsInvoking)
{
    keep();
    reader_record *record = world_.craft(0);
    static std::atomic<bool> began, may_end;
    began = may_end = false;
    make_ready(record, 1, [](rcu_head *) {
        began = true;
        may_end.wait(false);
        pthread_exit(nullptr);
    });
    give_until_the_daemon_ends(record, began, may_end);
    EXPECT_EQ(serve_slot(record)->listed, 0u);
    EXPECT_EQ(drive_->serve.daemon[0].serving, 0u);
}

/* A daemon that finds the claim held unlists the queue, and the holder notifies the driver at its end. */
TEST_F(Daemons, DaemonLeavesAQueueToTheClaimHolder)
{
    keep();
    reader_record *record = world_.craft(0);
    make_ready(record, 2);
    callback_slot(record)->queue.claim = 0x123;
    EXPECT_TRUE(test::eventually([&] {
        return serve_daemon_enqueue(&drive_->serve, record, 0, false) &&
               work_thread_runs(&drive_->serve.daemon[0].thread);
    }));
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, record, 0, false));
    EXPECT_TRUE(test::eventually([&] {
        return rtrcu_load_acquire(&callback_slot(record)->queue.claim) == (0x123 | CB_CLAIM_WANTED) &&
               rtrcu_load_acquire(&serve_slot(record)->listed) == 0;
    }));
    EXPECT_EQ(left(record), 2u);
    rtrcu_store_release(&callback_slot(record)->queue.claim, 0);
    EXPECT_TRUE(serve_daemon_enqueue(&drive_->serve, record, 0, false));
    EXPECT_TRUE(test::eventually([&] { return left(record) == 0; }));
}

/* While a backlog is at qmax, an ordinary daemon has a better nice value, if that is permitted; afterwards the
 * configured one. */
TEST_F(Daemons, FloodRaisesADaemonUntilTheFloodEnds)
{
    static std::atomic<int> seen;
    static std::atomic<bool> ran;
    bool may_lift = false;
    std::thread([&] { may_lift = plat_sched_set(0, WORK_LIFTED_NICE) == 0; }).join();
    keep();
    reader_record *record = world_.craft(0);
    int before = getpriority(PRIO_PROCESS, 0);
    for (bool flood : {false, true, false}) {
        rtrcu_store_release(&drive_->work.flooded_ns,
                            flood ? INT64_MAX / 2 : INT64_MIN / 2); /* a recent flood, or one long ago */
        ran = false;
        make_ready(record, 1, [](rcu_head *) {
            seen = getpriority(PRIO_PROCESS, 0);
            ran = true;
        });
        EXPECT_TRUE(test::eventually([&] {
            (void)serve_daemon_enqueue(&drive_->serve, record, 0, false);
            return ran.load();
        }));
        EXPECT_TRUE(test::eventually([&] { /* its next batch checks again */
                                           return rtrcu_load_acquire(&serve_slot(record)->listed) == 0 &&
                                                  !serve_is_invoking(&drive_->serve);
        }));
        EXPECT_EQ(seen.load(), flood && may_lift ? WORK_LIFTED_NICE : before);
    }
}

/* The second thread starts with the configured nice value, and is raised as the first one was. */
TEST_F(Daemons, DaemonRecreatedDuringAFloodIsRaised)
{
    static std::atomic<int> seen;
    static std::atomic<bool> may_end;
    bool may_lift = false;
    std::thread([&] { may_lift = plat_sched_set(0, WORK_LIFTED_NICE) == 0; }).join();
    if (!may_lift)
        GTEST_SKIP() << "a better nice value is not permitted";
    keep();
    rtrcu_store_release(&drive_->work.flooded_ns, INT64_MAX / 2); /* a recent flood */
    reader_record *record = world_.craft(0);
    for (const char *which : {"the first", "the second"}) {
        seen = 100;
        may_end = false;
        make_ready(record, 1, [](rcu_head *) {
            seen = getpriority(PRIO_PROCESS, 0);
            may_end.wait(false); /* keeps the daemon alive until the test has read `seen` */
            pthread_exit(nullptr);
        });
        EXPECT_TRUE(test::eventually([&] {
            (void)serve_daemon_enqueue(&drive_->serve, record, 0, false);
            return seen.load() != 100;
        }));
        may_end = true;
        may_end.notify_all();
        EXPECT_EQ(seen.load(), WORK_LIFTED_NICE) << which;
        EXPECT_TRUE(test::eventually(
            [&] { return rtrcu_load_acquire(&drive_->serve.daemon[0].thread.state) == uint32_t(WORK_NONE); }));
    }
}

/* Any nice value is below a real-time priority. */
TEST_F(Daemons, FloodDoesNotChangeARealTimeDaemon)
{
    static std::atomic<int> seen;
    if (!real_time_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    keep();
    config_.krcud_rtprio = 3;
    reader_record *record = world_.craft(0);
    for (bool flood : {false, true}) {
        rtrcu_store_release(&drive_->work.flooded_ns, flood ? INT64_MAX / 2 : INT64_MIN / 2);
        seen = -1;
        make_ready(record, 1, [](rcu_head *) { seen = plat_sched_rt_priority(); });
        EXPECT_TRUE(test::eventually([&] {
            (void)serve_daemon_enqueue(&drive_->serve, record, 0, false);
            return seen.load() >= 0;
        }));
        EXPECT_EQ(seen.load(), 3);
        EXPECT_TRUE(test::eventually([&] {
            return rtrcu_load_acquire(&serve_slot(record)->listed) == 0 && !serve_is_invoking(&drive_->serve);
        }));
    }
}

class Nice : public DriveWorld, public testing::WithParamInterface<int>
{
};

/* The setting is relative to the nice value with which the process began. */
TEST_P(Nice, DaemonHasTheConfiguredNiceValue)
{
    static std::atomic<int> seen;
    keep();
    config_.krcud_nice = GetParam();
    seen = -100;
    int wanted = getpriority(PRIO_PROCESS, 0) + GetParam();
    if (wanted > 19)
        GTEST_SKIP() << "the nice value of this process is too high";
    reader_record *record = world_.craft(0);
    make_ready(record, 1, [](rcu_head *) { seen = getpriority(PRIO_PROCESS, 0); });
    EXPECT_TRUE(test::eventually([&] {
        (void)serve_daemon_enqueue(&drive_->serve, record, 0, false);
        return seen.load() != -100;
    }));
    EXPECT_EQ(seen.load(), wanted);
}

INSTANTIATE_TEST_SUITE_P(Levels, Nice, testing::Values(0, 1, 4));

} // namespace
