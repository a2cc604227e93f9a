/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Real-time producers: the driver and the daemons become real-time threads for them, for a share of the CPU time, and
 * ordinary ones where that is refused. */
#include <atomic>
#include <chrono>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>

#include "../support/sync.h"
#include "../support/threads.h"
#include "child.h"

namespace
{

/* Returns the real-time priority of @thread, which must be SCHED_FIFO with SCHED_RESET_ON_FORK; 0: an ordinary thread.
 */
int priority_of(pid_t thread)
{
    struct sched_param before = {}, after = {};
    int policy = 0;
    do { /* the library may change the priority between two of these calls */
        REQUIRE(sched_getparam(thread, &before) == 0);
        policy = sched_getscheduler(thread);
        REQUIRE(sched_getparam(thread, &after) == 0);
    } while (before.sched_priority != after.sched_priority);
    REQUIRE(after.sched_priority == 0 || policy == (SCHED_FIFO | SCHED_RESET_ON_FORK));
    return after.sched_priority;
}

bool make_real_time(int priority)
{
    struct sched_param parameter = {.sched_priority = priority};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter) == 0;
}

bool real_time_is_allowed()
{
    bool allowed = false;
    std::thread([&] { allowed = make_real_time(5); }).join();
    return allowed;
}

/* Returns the priority of the library's thread of that name, or -1 if the thread does not exist or has not begun. */
int priority_by_name(const std::string &name)
{
    pid_t thread = test::thread_called(name);
    return thread ? priority_of(thread) : -1;
}

std::atomic<int> priority_in_callback;
std::atomic<pid_t> daemon_of_callback;

void note_priority(struct rcu_head *head)
{
    daemon_of_callback = gettid();
    priority_in_callback = priority_of(0);
    delete head;
}

/* Queues a callback and waits for it.  Returns the priority at which it ran. */
int run_one()
{
    priority_in_callback = -1;
    call_rcu(new rcu_head, note_priority);
    REQUIRE(test::eventually([] { return priority_in_callback >= 0; }));
    return priority_in_callback;
}

/* ---- the driver is raised above ordinary threads for real-time producers ---- */

CHILD(real_time_producer)
{
    std::thread([] {
        REQUIRE(make_real_time(5));
        REQUIRE(run_one() == 1);
        REQUIRE(priority_by_name("rtrcu-gp") == 1);
        REQUIRE(test::eventually([] { return priority_by_name("rtrcu-share") == 2; }));
    }).join();
    /* an ordinary producer: threads that are still real-time are lowered within about a second */
    REQUIRE(run_one() >= 0);
    REQUIRE(test::eventually([] { return run_one() == 0; }));
    REQUIRE(test::eventually([] { return priority_by_name("rtrcu-gp") == 0; }));
}

TEST(RealTime, RealTimeProducerRaisesDriverAndDaemonForASecond)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    EXPECT_TRUE(test::exited_well(test::run_child("real_time_producer")));
}

/* The library's threads are lowered while they sleep: the producer has exited, and no thread queues a callback. */
CHILD(lowered_asleep)
{
    std::thread([] {
        REQUIRE(make_real_time(5));
        REQUIRE(run_one() == 1);
    }).join();
    REQUIRE(test::eventually([] { return priority_by_name("rtrcu-gp") == 0; }));
    REQUIRE(test::eventually([] { return priority_of(daemon_of_callback) == 0; }));
}

TEST(RealTime, SleepingThreadsBecomeOrdinaryAfterTheLastRealTimeProducer)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    EXPECT_TRUE(test::exited_well(test::run_child("lowered_asleep")));
}

/* A real-time producer raises ordinary threads of the library that exist already. */
CHILD(existing_threads_are_raised)
{
    REQUIRE(run_one() == 0);
    REQUIRE(priority_by_name("rtrcu-gp") == 0);
    REQUIRE(priority_by_name("rtrcu-share") == -1);
    std::thread([] {
        REQUIRE(make_real_time(5));
        REQUIRE(test::eventually([] { return run_one() == 1; }));
        REQUIRE(test::eventually([] { return priority_by_name("rtrcu-gp") == 1; }));
    }).join();
}

TEST(RealTime, ExistingThreadsOfTheLibraryAreRaised)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    EXPECT_TRUE(test::exited_well(test::run_child("existing_threads_are_raised")));
}

/* The producer has the flag SCHED_RESET_ON_FORK, which rtkit, PipeWire and JACK set in the threads of programs. */
CHILD(reset_on_fork_producer)
{
    std::thread([] {
        struct sched_param parameter = {.sched_priority = 5};
        REQUIRE(sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameter) == 0);
        REQUIRE(run_one() == 1);
    }).join();
}

TEST(RealTime, CallbackOfAProducerWithResetOnForkRunsAtRealTimePriority)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    EXPECT_TRUE(test::exited_well(test::run_child("reset_on_fork_producer")));
}

CHILD(registration_raises_the_driver)
{
    std::thread([] {
        REQUIRE(make_real_time(5));
        REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE) == 0);
        REQUIRE(test::eventually([] { return priority_by_name("rtrcu-gp") == 1; }));
        REQUIRE(run_one() == 1);
    }).join();
}

TEST(RealTime, RegisteringARealTimeDeadlineThreadRaisesTheDriver)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    EXPECT_TRUE(test::exited_well(test::run_child("registration_raises_the_driver")));
}

/* The priority at which the callback last ran.  It queues itself again; the producer that queued it first has exited.
 */
std::atomic<int> last_priority;

void requeue(struct rcu_head *head)
{
    last_priority = priority_of(0);
    call_rcu(head, requeue);
}

CHILD(callbacks_keep_no_daemon_real_time)
{
    static rcu_head head;
    last_priority = -1;
    std::thread([] {
        REQUIRE(make_real_time(5));
        call_rcu(&head, requeue);
        REQUIRE(test::eventually([] { return last_priority == 1; }));
    }).join();
    REQUIRE(test::eventually([] { return last_priority == 0; }));
    _exit(0);
}

TEST(RealTime, CallbackThatQueuesAnotherDoesNotKeepItsDaemonRealTime)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    EXPECT_TRUE(test::exited_well(test::run_child("callbacks_keep_no_daemon_real_time")));
}

/* A real-time driver preempts ordinary threads for each grace period, so it begins at most one grace period in four
 * ticks. */
CHILD(driver_paces_grace_periods)
{
    std::thread([] {
        REQUIRE(make_real_time(5));
        REQUIRE(run_one() == 1);
        auto start = std::chrono::steady_clock::now(), now = start;
        uint64_t before = test::stats().gp_completed;
        for (; now - start < std::chrono::milliseconds(200); now = std::chrono::steady_clock::now()) {
            call_rcu(new rcu_head, note_priority);
            usleep(500); /* leave time to the driver; the result does not depend on the amount */
        }
        uint64_t completed = test::stats().gp_completed - before;
        auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - start).count();
        REQUIRE(completed <= static_cast<uint64_t>(ms) / 4 + 4);
        rcu_barrier();
    }).join();
}

TEST(RealTime, DriverPacesGracePeriodsOfCallbacks)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    EXPECT_TRUE(test::exited_well(test::run_child("driver_paces_grace_periods")));
}

/* ---- settings ---- */

CHILD(stays_ordinary)
{
    std::thread([] {
        REQUIRE(make_real_time(5));
        REQUIRE(run_one() == 0);
        rcu_barrier();
        REQUIRE(priority_by_name("rtrcu-gp") == 0);
        REQUIRE(priority_by_name("rtrcu-share") == -1);
    }).join();
}

TEST(RealTime, PrioritiesOfZeroKeepAllThreadsOrdinary)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    EXPECT_TRUE(test::exited_well(test::run_child("stays_ordinary", {"RTRCU_GP_RTPRIO=0", "RTRCU_KRCUD_RTPRIO=0"})));
}

CHILD(configured_priorities_apply)
{
    REQUIRE(run_one() == 7);
    REQUIRE(priority_by_name("rtrcu-gp") == 4);
    REQUIRE(test::eventually([] { return priority_by_name("rtrcu-share") == 8; }));
}

TEST(RealTime, ConfiguredPrioritiesApplyToOrdinaryProducersToo)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    EXPECT_TRUE(test::exited_well(
        test::run_child("configured_priorities_apply", {"RTRCU_GP_RTPRIO=4", "RTRCU_KRCUD_RTPRIO=7"})));
}

void set_priorities(int driver, int daemons)
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    config.gp_rtprio = driver;
    config.krcud_rtprio = daemons;
    REQUIRE(rtrcu_configure(&config) == 0);
}

/* The settings change while the library's threads sleep: no thread queues a callback meanwhile. */
CHILD(settings_change_asleep)
{
    REQUIRE(run_one() == 0);
    set_priorities(4, 7);
    REQUIRE(test::eventually([] { return priority_by_name("rtrcu-gp") == 4; }));
    REQUIRE(test::eventually([] { return priority_of(daemon_of_callback) == 7; }));
    set_priorities(0, 3);
    REQUIRE(test::eventually([] { return priority_by_name("rtrcu-gp") == 0; }));
    REQUIRE(test::eventually([] { return priority_of(daemon_of_callback) == 3; }));
    REQUIRE(test::eventually([] { return priority_by_name("rtrcu-share") == 4; }));
}

TEST(RealTime, ChangedSettingsApplyToThreadsAtRest)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    EXPECT_TRUE(test::exited_well(test::run_child("settings_change_asleep")));
}

/* ---- the share ---- */

int64_t cpu_ns()
{
    struct timespec used = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return int64_t(used.tv_sec) * 1000000000 + used.tv_nsec;
}

std::atomic<int64_t> lowered_after_ns{0};

/* Spins until it runs at ordinary priority, like a callback that waits for a spinlock of an ordinary thread. */
void spin_until_ordinary(struct rcu_head *head)
{
    int64_t begin_ns = cpu_ns(), used_ns = 0;
    while (priority_of(0) != 0 && used_ns < 2000000000)
        used_ns = cpu_ns() - begin_ns;
    /* well before this time the share of CPU time is available again; the callback must stay ordinary all the same */
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < until)
        REQUIRE(priority_of(0) == 0);
    lowered_after_ns = used_ns + 1;
    delete head;
}

CHILD(callback_spins)
{
    std::thread([] {
        REQUIRE(make_real_time(5));
        REQUIRE(run_one() == 1);
        call_rcu(new rcu_head, spin_until_ordinary);
        REQUIRE(test::eventually([] { return lowered_after_ns != 0; }));
    }).join();
    printf("lowered after %ld us\n", long(lowered_after_ns / 1000));
    REQUIRE(lowered_after_ns < 50000000);
    std::thread([] {
        REQUIRE(make_real_time(5));
        REQUIRE(test::eventually([] { return run_one() == 1; })); /* the batch has ended */
    }).join();
}

TEST(RealTime, SpinningCallbackBecomesOrdinaryUntilItReturns)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    EXPECT_TRUE(test::exited_well(test::run_child("callback_spins")));
}

/* ---- refused ---- */

CHILD(real_time_is_refused)
{
    REQUIRE(run_one() == 0);
    REQUIRE(run_one() == 0);
    REQUIRE(test::eventually([] { return run_one() == 0 && test::stats().rt_refused > 0; }));
}

/* After the execve() the thread is still a real-time thread, but may not make other threads real-time. */
CHILD(real_time_lost_at_exec)
{
    REQUIRE(make_real_time(5));
    test::become_child_without_real_time("real_time_is_refused");
}

class Refused : public testing::TestWithParam<const char *>
{
};

TEST_P(Refused, RefusedRealTimePriorityIsCountedAndReportedOnce)
{
    if (!real_time_is_allowed())
        GTEST_SKIP() << "real-time scheduling is refused";
    std::string value = GetParam();
    test::ChildResult result =
        test::run_child("real_time_lost_at_exec", {"RTRCU_GP_RTPRIO=" + value, "RTRCU_KRCUD_RTPRIO=" + value});
    EXPECT_TRUE(test::exited_well(result));
    size_t first = result.output.find("real-time scheduling is refused");
    EXPECT_NE(first, std::string::npos) << result.output;
    EXPECT_EQ(result.output.find("real-time scheduling is refused", first + 1), std::string::npos) << result.output;
}

INSTANTIATE_TEST_SUITE_P(Settings, Refused, testing::Values("auto", "3"));

/* ---- threads of class SCHED_DEADLINE, which cannot create threads ---- */

void use_all()
{
    priority_in_callback = -1;
    call_rcu(new rcu_head, note_priority);
    synchronize_rcu();
    synchronize_rcu_expedited();
    rcu_barrier();
    REQUIRE(priority_in_callback >= 0);
}

CHILD(deadline_class)
{
    std::thread([] {
        if (!test::become_sched_deadline(5000000))
            _exit(77);
        use_all();
    }).join();
    priority_in_callback = -1;
    REQUIRE(test::eventually([] { /* a refused thread is created by a later call */
                                  call_rcu(new rcu_head, note_priority);
                                  return priority_in_callback >= 0;
    }));
    rcu_barrier();
}

CHILD(deadline_class_registered)
{
    std::thread([] {
        REQUIRE(rtrcu_register_thread(0) == 0);
        if (!test::become_sched_deadline(5000000))
            _exit(77);
        use_all();
    }).join();
}

/* The thread cannot create the boost worker, and no other thread of the program calls the library meanwhile. */
CHILD(deadline_class_boosts)
{
    std::atomic<bool> inside{false};
    std::thread reader([&] {
        rcu_read_lock();
        inside = true;
        REQUIRE(test::eventually([] { return test::thread_called("rtrcu-boost") != 0; }));
        rcu_read_unlock();
    });
    std::thread([&] {
        REQUIRE(rtrcu_register_thread(0) == 0);
        if (!test::become_sched_deadline(5000000))
            _exit(77);
        REQUIRE(test::eventually([&] { return inside.load(); }));
        synchronize_rcu_expedited();
    }).join();
    reader.join();
}

class DeadlineClass : public testing::TestWithParam<const char *>
{
};

TEST_P(DeadlineClass, SchedDeadlineThreadsMayCallTheLibraryAlthoughTheyCannotCreateThreads)
{
    test::ChildResult result = test::run_child(GetParam());
    if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == 77)
        GTEST_SKIP() << "SCHED_DEADLINE is refused";
    EXPECT_TRUE(test::exited_well(result));
}

INSTANTIATE_TEST_SUITE_P(Threads, DeadlineClass,
                         testing::Values("deadline_class", "deadline_class_registered", "deadline_class_boosts"));

} // namespace
