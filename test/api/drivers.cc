/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of every driver with every policy that it allows, and of the behaviour of each driver. */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

#include "../support/replaced.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <rtrcu/detail/word.h>
#pragma GCC diagnostic pop

#include "../support/sync.h"
#include "../support/threads.h"
#include "child.h"
#include "owned.h"

namespace
{

using owned::queue, owned::runs;

/* The same small program for every driver: readers of both disciplines, callbacks, frees, waits, barriers, threads that
 * exit. */
CHILD(run_callbacks)
{
    test::Replaced shared;
    std::atomic<bool> stop{false};
    std::atomic<long> queued{0};
    std::vector<std::thread> threads;
    auto read = [&] {
        rcu_read_lock();
        shared.look();
        rcu_read_unlock();
    };
    threads.emplace_back([&] {
        while (!stop)
            read();
    });
    threads.emplace_back([&] {
        REQUIRE(rcu_register_thread_qsbr() == 0);
        while (!stop) {
            shared.look();
            queue(1);
            queued++;
            rcu_quiescent_state();
        }
        rcu_thread_offline();
    });
    threads.emplace_back([&] {
        for (int i = 0; i < 30; i++) {
            std::thread([&] {
                read();
                queue(2);
                rcu_free(malloc(8));
                queued += 2;
            }).join();
        }
    });
    int turn = 0;
    REQUIRE(shared.replace_until_spanned(40, 20, [&] {
        rcu_process_callbacks(0);
        if (turn++ % 3 == 0)
            cond_synchronize_rcu(start_poll_synchronize_rcu());
        else
            synchronize_rcu();
    }));
    stop = true;
    for (auto &thread : threads)
        thread.join();
    rcu_barrier();
    REQUIRE(shared.bad() == 0);
    REQUIRE(runs == queued);
    REQUIRE(test::stats().callbacks_backlog == 0);
}

struct Pair {
    const char *driver, *policy;
};

class Drivers : public testing::TestWithParam<Pair>
{
};

TEST_P(Drivers, CallbacksRunWithEveryDriverAndPolicy)
{
    auto [driver, policy] = GetParam();
    EXPECT_TRUE(exited_well(test::run_child(
        "run_callbacks", {std::string("RTRCU_DRIVER=") + driver, std::string("RTRCU_POLICY=") + policy})));
}

std::vector<Pair> all_pairs()
{
    std::vector<Pair> pairs;
    for (const char *driver : {"kthread", "ltimer", "sched", "poll"}) {
        for (const char *policy : {"daemon", "inline", "krcud", "throttle", "unbounded"}) {
            bool needs_thread = policy == std::string("daemon") || policy == std::string("krcud");
            if (driver != std::string("sched") || !needs_thread)
                pairs.push_back({driver, policy});
        }
    }
    return pairs;
}

INSTANTIATE_TEST_SUITE_P(Pairs, Drivers, testing::ValuesIn(all_pairs()),
                         [](const auto &pair) { return std::string(pair.param.driver) + "_" + pair.param.policy; });

/* ---- kthread ---- */

CHILD(sleeps_without_work)
{
    queue(1);
    rcu_barrier();
    struct rtrcu_stats before = test::stats(), now = before;
    const pid_t driver = test::thread_called("rtrcu-gp");
    /* The driver has no work if it makes no pass for forty ticks and then sleeps. On a busy machine a ticking driver
     * may make no pass in that time, but then it is not asleep. */
    REQUIRE(test::eventually([&] {
        before = test::stats();
        auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
        while (std::chrono::steady_clock::now() < until)
            sched_yield();
        if (!test::is_asleep(driver))
            return false;
        now = test::stats();
        return now.driver_passes == before.driver_passes;
    }));
    REQUIRE(now.callbacks_backlog == 0);
}

TEST(Kthread, SleepsWithoutWork)
{
    EXPECT_TRUE(exited_well(test::run_child("sleeps_without_work", {"RTRCU_TICK_US=50"})));
}

TEST(Ltimer, TicksOnlyWhileItHasWork)
{
    EXPECT_TRUE(exited_well(test::run_child("sleeps_without_work", {"RTRCU_DRIVER=ltimer", "RTRCU_TICK_US=50"})));
}

/* Grace periods that only callbacks need begin at most once per tick, so that callbacks share them. */
CHILD(paces_callbacks)
{
    queue(1);
    rcu_barrier();
    uint64_t before = test::stats().gp_completed;
    for (int i = 0; i < 200; i++) {
        std::thread([] { queue(1); }).join();
        rcu_read_lock();
        rcu_read_unlock();
    }
    uint64_t made = test::stats().gp_completed - before;
    REQUIRE(made < 20); /* 200 batches of callbacks were queued, each in much less than a second */
    rcu_barrier();
    REQUIRE(runs == 201);
}

TEST(Kthread, BatchesCallbacksOfOneTick)
{
    EXPECT_TRUE(exited_well(test::run_child("paces_callbacks", {"RTRCU_TICK_US=1000000"})));
}

/* ---- sched: no thread of the library ---- */

CHILD(creates_no_thread)
{
    int before = test::threads_of_this_process();
    REQUIRE(rcu_register_thread_qsbr() == 0);
    queue(100);
    while (runs < 100)
        rcu_quiescent_state();
    rcu_thread_offline();
    synchronize_rcu();
    rcu_barrier();
    unsigned long cookie = start_poll_synchronize_rcu_expedited();
    REQUIRE(test::eventually([cookie] {
        rcu_process_callbacks(0);
        return poll_state_synchronize_rcu_expedited(cookie);
    }));
    REQUIRE(test::threads_of_this_process() == before);
}

/* Expedited grace periods, boosting and reports work without a thread of the library too. */
CHILD(creates_no_worker)
{
    test::Worker reader;
    synchronize_rcu_expedited();
    int before = test::threads_of_this_process();
    for (auto wait : {rtrcu_synchronize_expedited, rtrcu_synchronize}) {
        reader.run([] { rcu_read_lock(); });
        uint64_t reports = test::stats().stall_reports;
        std::thread waiter(wait);
        REQUIRE(test::eventually([reports] { return test::stats().stall_reports > reports; }));
        REQUIRE(test::threads_of_this_process() == before + 1); /* the waiter */
        reader.run([] { rcu_read_unlock(); });
        waiter.join();
    }
    REQUIRE(before == 2); /* only the main thread and the reader exist */
}

/* A stall handler of the program needs a thread to run on. */
CHILD(reports_to_a_handler)
{
    static std::atomic<int> lines{0};
    test::Worker reader;
    rtrcu_set_stall_handler([](const char *) { lines++; });
    reader.run([] { rcu_read_lock(); });
    std::thread waiter(rtrcu_synchronize);
    REQUIRE(test::eventually([] { return lines > 0; }));
    reader.run([] { rcu_read_unlock(); });
    waiter.join();
}

TEST(Sched, CreatesNoWorker)
{
    const std::vector<std::string> reports_soon = {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline",
                                                   "RTRCU_STALL_TIMEOUT_MS=10", "RTRCU_BOOST_DELAY_US=0"};
    if (TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "the race detector and the emulator create threads";
    EXPECT_TRUE(exited_well(test::run_child("creates_no_worker", reports_soon)));
    EXPECT_TRUE(exited_well(test::run_child("reports_to_a_handler", reports_soon)));
}

TEST(Sched, CreatesNoThreadAndRunsCallbacksAtQuiescentStates)
{
    for (const char *policy : {"inline", "throttle", "unbounded"})
        EXPECT_TRUE(exited_well(
            test::run_child("creates_no_thread", {"RTRCU_DRIVER=sched", std::string("RTRCU_POLICY=") + policy})));
}

CHILD(preemptible_program)
{
    queue(50);
    while (runs < 50) {
        rcu_read_lock();
        rcu_read_unlock();
        rcu_process_callbacks(-1);
    }
}

/* ---- sched: threads that do the driver's work, and threads that never do ---- */

CHILD(unlock_does_no_work)
{
    REQUIRE(rcu_register_thread() == 0);
    queue(10);
    uint64_t before = test::stats().driver_passes;
    for (int i = 0; i < 1000; i++) {
        rcu_read_lock();
        rtrcu_word_arm(&rtrcu_self); /* so that the unlock takes its slow path */
        rcu_read_unlock();
    }
    REQUIRE(test::stats().driver_passes == before);
    REQUIRE(runs == 0);
    while (runs < 10)
        rcu_process_callbacks(-1);
    queue(10);
    while (runs < 20)
        rcu_quiescent_state(); /* takes the driver's steps, although the caller is a preemptible thread */
    queue(10);
    rcu_barrier();
    REQUIRE(runs == 30);
}

TEST(Sched, UnlockDoesNoDriverWork)
{
    EXPECT_TRUE(exited_well(test::run_child("unlock_does_no_work", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

/* Half of a call's time is for callbacks of other threads.  Each callback takes more than a quarter of the time, so two
 * of them run. */
CHILD(half_of_a_call_runs_callbacks_of_others)
{
    static constexpr int64_t budget_ns = 100000000, takes_ns = 30000000;
    constexpr long count = 12;
    static rcu_head heads[count];
    REQUIRE(rcu_register_thread() == 0);
    std::thread([] {
        for (rcu_head &head : heads)
            call_rcu(&head, [](rcu_head *) {
                auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(takes_ns);
                while (std::chrono::steady_clock::now() < end)
                    ;
                runs++;
            });
    }).join();
    for (long before = runs; runs < count; before = runs) {
        REQUIRE(rcu_process_callbacks(budget_ns) == 0);
        REQUIRE(runs - before <= 2);
    }
}

TEST(Sched, HalfOfACallsBudgetGoesToOtherThreadsCallbacks)
{
    EXPECT_TRUE(exited_well(test::run_child("half_of_a_call_runs_callbacks_of_others",
                                            {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline", "RTRCU_BLIMIT=100"})));
}

/* A deadline thread takes no step for driver sched.  Its callbacks run once another thread takes the steps. */
CHILD(deadline_thread_does_no_work)
{
    REQUIRE(rtrcu_register_thread(RTRCU_QSBR | RTRCU_DEADLINE) == 0);
    queue(10);
    uint64_t before = test::stats().driver_passes;
    for (int i = 0; i < 1000; i++) {
        rcu_quiescent_state();
        rcu_process_callbacks(-1);
    }
    rcu_thread_offline();
    rcu_thread_online();
    REQUIRE(test::stats().driver_passes == before);
    REQUIRE(runs == 0);
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop)
            rcu_process_callbacks(0);
    });
    while (runs < 10) {
        rcu_quiescent_state();
        rcu_process_callbacks(-1);
    }
    stop = true;
    other.join();
    queue(10);
    rcu_barrier();
    synchronize_rcu();
    REQUIRE(runs == 20);
}

TEST(Sched, DeadlineThreadDoesNoDriverWork)
{
    EXPECT_TRUE(
        exited_well(test::run_child("deadline_thread_does_no_work", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

TEST(Sched, GracePeriodsAdvanceInAProgramWithoutQuiescentStateThreads)
{
    EXPECT_TRUE(exited_well(test::run_child("preemptible_program", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

/* ---- sched: work that exited threads have left ---- */

constexpr long left_behind = 1280;

/* Leave as many callbacks as the adaptive limit allows by count, since the time limit depends on the machine. */
void leave_callbacks_behind()
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    config.budget_ns = 1000000000;
    REQUIRE(rtrcu_configure(&config) == 0);
    REQUIRE(rcu_register_thread_qsbr() == 0);
    rcu_thread_offline();
    std::thread([] { queue(left_behind); }).join();
    rcu_thread_online();
}

/* No thread was online when the thread exited; a thread that comes online later takes over the callbacks. */
CHILD(online_threads_serve_exited_ones)
{
    leave_callbacks_behind();
    long most = 0;
    REQUIRE(test::eventually([&] {
        long before = runs;
        rcu_quiescent_state();
        most = std::max(most, runs - before);
        return runs == left_behind;
    }));
    REQUIRE(most <= std::max(left_behind / 128, 10L));
    rcu_thread_offline();
}

CHILD(going_offline_runs_no_callback)
{
    leave_callbacks_behind();
    for (int i = 0; i < 100; i++) {
        rcu_thread_offline();
        REQUIRE(runs == 0);
        rcu_thread_online();
    }
    rcu_thread_offline();
    rcu_barrier();
    REQUIRE(runs == left_behind);
}

constexpr int more_than_a_turn = 10000; /* more callbacks than one batch in a call */

/* rcu_barrier() waits for ready callbacks, but not for the readers of a later grace period. */
CHILD(sched_barrier_beside_a_reader)
{
    test::Worker owner, reader;
    owner.run([&] { queue(more_than_a_turn); });
    rcu_process_callbacks(0); /* collects the callbacks, so that the next grace period covers them */
    synchronize_rcu();
    synchronize_rcu();
    reader.run([] { rcu_read_lock(); });
    (void)start_poll_synchronize_rcu();
    REQUIRE(runs == 0);
    rcu_barrier();
    REQUIRE(runs == more_than_a_turn);
    reader.run([] { rcu_read_unlock(); });
}

TEST(Drivers, SchedBarrierDoesNotWaitForLaterReaders)
{
    EXPECT_TRUE(
        exited_well(test::run_child("sched_barrier_beside_a_reader", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

TEST(Drivers, SchedRunsCallbacksOfExitedThreadsWithinTheCallersLimits)
{
    EXPECT_TRUE(exited_well(
        test::run_child("online_threads_serve_exited_ones", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
    EXPECT_TRUE(
        exited_well(test::run_child("going_offline_runs_no_callback", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

/* ---- real-time scheduling that is not permitted ---- */

CHILD(without_permission)
{
    REQUIRE(rcu_register_thread() == 0);
    queue(10);
    rcu_barrier();
    REQUIRE(runs == 10);
    synchronize_rcu_expedited(); /* creates a worker, which requests kthread_prio */
    REQUIRE(test::eventually([] { return test::stats().rt_refused > 0; }));
}

CHILD(drop_permission)
{
    test::become_child_without_real_time("without_permission");
}

TEST(RealTime, DriverRefusedRealTimePriorityCountsTheRefusalAndRuns)
{
    for (const char *setting : {"RTRCU_KTHREAD_PRIO=5", "RTRCU_KRCUD_RTPRIO=5"})
        EXPECT_TRUE(exited_well(test::run_child("drop_permission", {setting}))) << setting;
}

/* ---- callers that are preempted for long ---- */

/* Calls synchronize_rcu() @times times at low priority; returns how many grace periods the calls advanced
 * themselves. */
unsigned long advanced_by_itself(int times)
{
    struct sched_param parameter = {};
    REQUIRE(sched_setscheduler(0, SCHED_IDLE, &parameter) == 0);
    struct rtrcu_stats before = test::stats();
    for (int i = 0; i < times; i++)
        synchronize_rcu();
    struct rtrcu_stats after = test::stats();
    REQUIRE(after.gp_completed >= before.gp_completed + static_cast<unsigned>(times));
    return after.gp_by_caller - before.gp_by_caller;
}

CHILD(low_priority_callers)
{
    REQUIRE(rcu_register_thread() == 0);
    std::thread([] { REQUIRE(advanced_by_itself(10) == 0); }).join();
}

/* In a process of low priority, a caller with the same priority still advances grace periods itself. */
CHILD(low_priority_process)
{
    REQUIRE(rcu_register_thread() == 0);
    REQUIRE(advanced_by_itself(10) > 0);
}

TEST(Callers, LowPriorityCallerLeavesGracePeriodStepsToTheDriver)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator ignores scheduling calls";
    /* With idle_scans=0 no reader becomes idle.  Grace periods skip idle readers, so they would complete immediately in
     * the caller. */
    EXPECT_TRUE(exited_well(test::run_child("low_priority_callers", {"RTRCU_IDLE_SCANS=0"})));
    EXPECT_TRUE(exited_well(test::run_child("low_priority_process")));
}

/* ---- one CPU only ---- */

CHILD(on_one_cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
    test::become_child("run_callbacks");
}

/* A late destructor reads without a record, so only polling finds the end of its section. */
struct LateReader {
    pthread_key_t key;
    int rounds = 0;
    test::Steps steps;
};
LateReader late;

void read_late(void *value)
{
    if (++late.rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(late.key, value);
        return;
    }
    rcu_read_lock();
    late.steps.reach(1);
    late.steps.wait(2);
    rcu_read_unlock();
}

CHILD(late_reader_on_one_cpu)
{
    REQUIRE(pthread_key_create(&late.key, read_late) == 0);
    REQUIRE(rcu_register_thread() == 0);
    std::thread reader([] { pthread_setspecific(late.key, &late); });
    late.steps.wait(1);
    uint64_t busy = test::stats().gp_busy;
    queue(1);
    REQUIRE(test::eventually([&] { return test::stats().gp_busy > busy; }));
    const pid_t driver = test::thread_called("rtrcu-gp");
    REQUIRE(test::eventually(
        [&] { return test::is_asleep(driver); })); /* the driver has set the flags and polled once more */
    late.steps.reach(2);
    reader.join();
    REQUIRE(test::eventually([] { return runs == 1; }));
}

CHILD(pinned_with_late_reader)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
    test::become_child("late_reader_on_one_cpu");
}

TEST(OneCpu, PollDriverContinuesToPollOnOneCpu)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the race detector forgets a thread before its last destructors";
    EXPECT_TRUE(exited_well(test::run_child("pinned_with_late_reader", {"RTRCU_DRIVER=poll"})));
}

TEST(OneCpu, EveryDriverWorksOnOneCpu)
{
    for (const char *driver : {"kthread", "poll"})
        EXPECT_TRUE(exited_well(test::run_child("on_one_cpu", {std::string("RTRCU_DRIVER=") + driver})));
}

} // namespace
