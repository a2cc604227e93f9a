/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of idle threads that read, fork, exit, become deadline threads, or lose the heavy fence. */
#include <atomic>
#include <functional>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../support/replaced.h"
#include "../support/sandbox.h"
#include "../support/sync.h"
#include "child.h"

namespace
{

/* Threads that have read once, then wait for a common command. */
class Idle
{
    std::atomic<int> ready_{0}, done_{0}, asked_{0};
    std::atomic<void (*)()> task_{nullptr};
    std::vector<std::thread> threads_;

  public:
    explicit Idle(int count, bool qsbr = false)
    {
        for (int i = 0; i < count; i++)
            threads_.emplace_back([this, qsbr] {
                if (qsbr) {
                    REQUIRE(rcu_register_thread_qsbr() == 0);
                    rcu_thread_offline();
                } else {
                    rcu_read_lock();
                    rcu_read_unlock();
                }
                ready_++;
                for (int seen = 0; seen >= 0;) {
                    asked_.wait(seen);
                    seen = asked_;
                    if (seen >= 0)
                        task_.load()();
                    done_++;
                }
            });
        REQUIRE(test::eventually([&] { return ready_ == count; }));
    }
    ~Idle()
    {
        asked_ = -1;
        asked_.notify_all();
        for (auto &thread : threads_)
            thread.join();
    }
    /* Run @task in each thread; the calling thread calls @meanwhile until they have finished. */
    void have_all_do(
        void (*task)(), const std::function<void()> &meanwhile = [] {})
    {
        task_ = task;
        done_ = 0;
        asked_++;
        asked_.notify_all();
        REQUIRE(test::eventually([&] {
            meanwhile();
            return done_ == static_cast<int>(threads_.size());
        }));
    }
};

/* Run grace periods until @count more threads have become idle than have been scanned again. */
bool until_asleep(uint64_t count)
{
    return test::eventually([&] {
        synchronize_rcu();
        struct rtrcu_stats now = test::stats();
        return now.threads_slept - now.threads_woken >= count;
    });
}

test::Replaced *shared;

/* Mostly longer than a grace period: the first section after an idle time must outlive the object that it read. */
constexpr int PATIENCE = 5000;

void look()
{
    rcu_read_lock();
    shared->look(PATIENCE);
    rcu_read_unlock();
}

void look_online()
{
    rcu_thread_online();
    shared->look(PATIENCE);
    rcu_quiescent_state();
    shared->look(PATIENCE);
    rcu_thread_offline();
}

void set_idle_scans(int64_t scans)
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    config.idle_scans = scans;
    REQUIRE(rtrcu_configure(&config) == 0);
}

void sleep_and_read(bool qsbr)
{
    test::Replaced replaced;
    shared = &replaced;
    set_idle_scans(2);
    Idle idle(70, qsbr);
    for (int round = 0; round < 20 || replaced.spanned() < 20;
         round++) { /* the test can fail only if enough sections outlive the object that they read */
        REQUIRE(until_asleep(70));
        idle.have_all_do(qsbr ? look_online : look, [&] { replaced.replace(); });
    }
    REQUIRE(replaced.bad() == 0);
    REQUIRE(test::stats().threads_woken >= 20 * 70);
}

CHILD(idle_threads_read)
{
    sleep_and_read(false);
}

CHILD(idle_threads_come_online)
{
    sleep_and_read(true);
}

CHILD(threads_are_never_idle)
{
    set_idle_scans(0);
    Idle idle(3);
    for (int i = 0; i < 50; i++)
        synchronize_rcu();
    REQUIRE(test::stats().threads_slept == 0);
}

CHILD(threads_exit_while_idle)
{
    {
        Idle idle(40);
        REQUIRE(until_asleep(40));
    }
    Idle others(40); /* these threads take the slots of the exited threads */
    uint64_t slept = test::stats().threads_slept;
    REQUIRE(until_asleep(40));
    REQUIRE(test::eventually([&] {
        synchronize_rcu();
        return test::stats().threads_slept >= slept + 40;
    })); /* a slot's next thread is scanned at first */
}

/* The thread that forks is scanned.  In the child it remains a reader for which the child's grace periods wait. */
CHILD(fork_beside_idle_threads)
{
    Idle idle(40);
    test::Replaced replaced;
    shared = &replaced;
    REQUIRE(until_asleep(40));
    for (int round = 0; round < 5; round++) {
        look();
        pid_t child = fork();
        if (child == 0) {
            std::atomic<bool> enough = false;
            std::thread updater([&] {
                REQUIRE(replaced.replace_until_spanned(1, 5));
                enough = true;
            });
            while (!enough)
                look();
            updater.join();
            REQUIRE(test::stats().threads_registered == 1);
            REQUIRE(replaced.bad() == 0);
            _exit(0);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        idle.have_all_do(look);
        REQUIRE(until_asleep(40));
    }
}

void become_deadline()
{
    REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE) == 0);
}

CHILD(deadline_threads_stay_scanned)
{
    Idle idle(20);
    REQUIRE(until_asleep(20));
    uint64_t slept = test::stats().threads_slept, woken = test::stats().threads_woken;
    idle.have_all_do(become_deadline);
    REQUIRE(test::stats().threads_woken >= woken + 20);
    for (int i = 0; i < 50; i++)
        synchronize_rcu();
    struct rtrcu_stats now = test::stats();
    /* these 20 stay scanned; others may have become idle */
    REQUIRE(now.threads_slept - slept == now.threads_woken - woken - 20);
}

CHILD(membarrier_refused_while_idle)
{
    test::Replaced replaced;
    shared = &replaced;
    Idle idle(40), fresh(40);
    REQUIRE(until_asleep(80));
    fresh.have_all_do(look);
    REQUIRE(test::refuse({{SYS_membarrier, EPERM}}));
    for (int round = 0; round < 10 || replaced.spanned() < 20; round++)
        idle.have_all_do(look, [&] { replaced.replace(); });
    REQUIRE(test::stats().full_fences == 1);
    uint64_t slept = test::stats().threads_slept;
    for (int i = 0; i < 50; i++)
        synchronize_rcu();
    REQUIRE(test::stats().threads_slept == slept); /* without membarrier no thread becomes idle */
    REQUIRE(replaced.bad() == 0);
}

/* When the configuration returns to light fences, threads become idle again. */
CHILD(fences_switched_while_idle)
{
    struct rtrcu_config config;
    Idle idle(10);
    for (int round = 0; round < 3; round++) {
        REQUIRE(until_asleep(10));
        rtrcu_config_get(&config);
        config.membarrier = RTRCU_MEMBARRIER_OFF;
        REQUIRE(rtrcu_configure(&config) == 0);
        idle.have_all_do([] {
            rcu_read_lock();
            rcu_read_unlock();
        });
        synchronize_rcu();
        config.membarrier = RTRCU_MEMBARRIER_AUTO;
        REQUIRE(rtrcu_configure(&config) == 0);
    }
}

/* Beside an online quiescent-state thread, grace periods need no fence; beside idle threads they complete
 * immediately. */
CHILD(immediate_grace_periods_are_counted)
{
    Idle idle(3);
    REQUIRE(until_asleep(3));
    struct rtrcu_stats before = test::stats();
    for (int i = 0; i < 50; i++)
        synchronize_rcu();
    struct rtrcu_stats alone = test::stats();
    REQUIRE(alone.gp_at_once >= before.gp_at_once + 50);
    REQUIRE(alone.gp_completed - before.gp_completed >= alone.gp_at_once - before.gp_at_once);
    REQUIRE(alone.gp_unfenced == before.gp_unfenced);
    std::atomic<bool> online{false}, stop{false};
    std::thread reader([&] {
        REQUIRE(rcu_register_thread_qsbr() == 0);
        for (online = true; !stop;)
            rcu_quiescent_state();
        rcu_unregister_thread();
    });
    REQUIRE(test::eventually([&] { return online.load(); }));
    before = test::stats();
    for (int i = 0; i < 20; i++)
        synchronize_rcu();
    struct rtrcu_stats beside = test::stats();
    stop = true;
    reader.join();
    REQUIRE(beside.gp_unfenced >= before.gp_unfenced + 20);
    REQUIRE(beside.gp_at_once == before.gp_at_once);
}

const std::vector<std::string> kSoon = {"RTRCU_IDLE_SCANS=1"};

TEST(IdleThreads, IdleThreadsReadSafely)
{
    EXPECT_TRUE(test::exited_well(test::run_child("idle_threads_read")));
}

TEST(IdleThreads, QuiescentStateThreadsBecomeIdleOfflineAndComeOnline)
{
    EXPECT_TRUE(test::exited_well(test::run_child("idle_threads_come_online")));
}

TEST(IdleThreads, NoThreadIsIdleWithIdleScans0)
{
    EXPECT_TRUE(test::exited_well(test::run_child("threads_are_never_idle")));
}

TEST(IdleThreads, ThreadsExitWhileIdle)
{
    EXPECT_TRUE(test::exited_well(test::run_child("threads_exit_while_idle", kSoon)));
}

TEST(IdleThreads, ForkingThreadIsScannedInTheChild)
{
    if (TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "here the child of a process with threads cannot create threads";
    EXPECT_TRUE(test::exited_well(test::run_child("fork_beside_idle_threads", kSoon)));
}

TEST(IdleThreads, DeadlineThreadsAreAlwaysScanned)
{
    EXPECT_TRUE(test::exited_well(test::run_child("deadline_threads_stay_scanned", kSoon)));
}

TEST(IdleThreads, GracePeriodsEndIfMembarrierIsRefusedWhileThreadsAreIdle)
{
    EXPECT_TRUE(test::exited_well(test::run_child("membarrier_refused_while_idle", kSoon)));
}

TEST(IdleThreads, ImmediateAndFencelessGracePeriodsAreCounted)
{
    EXPECT_TRUE(test::exited_well(test::run_child("immediate_grace_periods_are_counted", kSoon)));
}

TEST(IdleThreads, FencesAreSwitchedWhileThreadsAreIdle)
{
    EXPECT_TRUE(test::exited_well(test::run_child("fences_switched_while_idle", kSoon)));
}

} // namespace
