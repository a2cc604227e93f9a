/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of parked tasks through the public interface: tasks that change threads, stay parked, and exit. */
#include <atomic>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "../support/replaced.h"
#include "../support/seed.h"
#include "../support/sync.h"
#include "child.h"

namespace
{

/* The only reader is a task that the caller has parked: the caller's grace period must wait for this task. */
TEST(Task, SynchronizeWaitsForATaskThatTheCallerParked)
{
    rcu_task task;
    rcu_task_init(&task, "parked");
    std::atomic<bool> waits = false, ended = false;
    std::thread other([&] {
        test::eventually([&] { return waits.load(); });
        for (int i = 0; i < 200; i++) /* time for a caller that wrongly does not wait to return */
            sched_yield();
        ended = true;
        rcu_task_resume(&task);
        rcu_read_unlock();
    });
    rcu_read_lock();
    rcu_task_park(&task);
    waits = true;
    synchronize_rcu();
    EXPECT_TRUE(ended);
    other.join();
}

TEST(Task, SectionMayEndOnAnotherThread)
{
    rcu_task task;
    rcu_task_init(&task, "mover");
    test::Steps steps;
    std::thread first([&] {
        rcu_read_lock();
        rcu_read_lock();
        rcu_task_park(&task);
        EXPECT_FALSE(rcu_read_lock_held());
        steps.reach(1);
        steps.wait(2);
        EXPECT_FALSE(rcu_read_lock_held());
    });
    std::thread second([&] {
        steps.wait(1);
        unsigned long cookie = start_poll_synchronize_rcu();
        EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
        rcu_task_resume(&task);
        EXPECT_TRUE(rcu_read_lock_held());
        rcu_read_unlock();
        EXPECT_TRUE(rcu_read_lock_held());
        EXPECT_FALSE(poll_state_synchronize_rcu(cookie)) << "the task is still inside";
        rcu_read_unlock();
        EXPECT_FALSE(rcu_read_lock_held());
        cond_synchronize_rcu(cookie);
        steps.reach(2);
    });
    first.join();
    second.join();
}

TEST(Task, ParkedTaskIsWaitedForAndReportedAsBlocking)
{
    rcu_task task;
    rcu_task_init(&task, "parked");
    rcu_read_lock();
    rcu_task_park(&task);
    EXPECT_FALSE(rcu_task_blocking(&task));
    std::atomic<bool> done{false};
    std::thread updater([&] {
        synchronize_rcu();
        done = true;
    });
    EXPECT_TRUE(test::eventually([&] { return rcu_task_blocking(&task); }));
    EXPECT_FALSE(done);
    rcu_task_resume(&task);
    EXPECT_FALSE(done);
    rcu_read_unlock();
    updater.join();
    EXPECT_FALSE(rcu_task_blocking(&task));
}

/* A thread that exits inside a section transfers the section to this task. */
rcu_task inherited;

TEST(Task, ExitHandlerMayTransferTheSectionToATask)
{
    rcu_task_init(&inherited, "left open");
    rtrcu_set_exit_handler([] { rcu_task_list(&inherited); });
    std::thread(rcu_read_lock).join();
    rtrcu_set_exit_handler(nullptr);
    unsigned long cookie = start_poll_synchronize_rcu();
    EXPECT_TRUE(test::eventually([&] { return rcu_task_blocking(&inherited); }));
    EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
    rcu_task_unlist(&inherited);
    cond_synchronize_rcu(cookie);
}

TEST(Task, ParkedTaskOutlivesItsThread)
{
    rcu_task task;
    rcu_task_init(&task, "orphan");
    std::thread([&] {
        rcu_read_lock();
        rcu_task_park(&task);
    }).join();
    unsigned long cookie = start_poll_synchronize_rcu();
    EXPECT_TRUE(test::eventually([&] { return rcu_task_blocking(&task); }));
    EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
    rcu_task_resume(&task);
    rcu_read_unlock();
    cond_synchronize_rcu(cookie);
}

TEST(Task, ExitingThreadClosesATransferredSection)
{
    rcu_task task;
    rcu_task_init(&task, "left behind");
    rcu_task_resume(&task);
    rcu_read_lock();
    rcu_task_park(&task);
    testing::internal::CaptureStderr();
    std::thread([&] { rcu_task_resume(&task); }).join(); /* this thread has never read */
    EXPECT_NE(testing::internal::GetCapturedStderr().find("left behind"), std::string::npos);
    synchronize_rcu();
}

TEST(Task, ExitOfATaskInsideASectionIsReportedAndClosesTheSection)
{
    rcu_task task;
    rcu_task_init(&task, "careless");
    rcu_read_lock();
    rcu_task_park(&task);
    testing::internal::CaptureStderr();
    rcu_task_exit(&task);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("careless"), std::string::npos);
    synchronize_rcu();
    rcu_task_init(&task, "mounted");
    rcu_task_resume(&task);
    rcu_read_lock();
    testing::internal::CaptureStderr();
    rcu_task_exit(&task);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("mounted"), std::string::npos);
    EXPECT_FALSE(rcu_read_lock_held());
    synchronize_rcu();
}

/* A pool of tasks whose sections span parks, on threads of both disciplines, with every way of waiting. */
class Pool
{
  public:
    struct Worker {
        rcu_task task;
        test::Replaced::Seen seen;
        int hops = 0;
    };
    explicit Pool(int tasks) : workers_(tasks)
    {
        for (Worker &worker : workers_) {
            rcu_task_init(&worker.task, "pool");
            idle_.push_back(&worker);
        }
    }
    void carry(unsigned int seed, bool quiescent)
    {
        std::mt19937 random(seed);
        if (quiescent) {
            ASSERT_EQ(rcu_register_thread_qsbr(), 0);
        }
        while (Worker *worker = take(random)) {
            step(worker, random);
            give(worker);
            if (quiescent)
                rcu_quiescent_state();
        }
        if (quiescent)
            rcu_unregister_thread();
    }
    test::Replaced &shared()
    {
        return shared_;
    }
    void stop()
    {
        stop_ = true;
    }

  private:
    void step(Worker *worker, std::mt19937 &random)
    {
        rcu_task_resume(&worker->task);
        if (!worker->seen && !stop_) {
            rcu_read_lock();
            worker->seen = shared_.see();
            worker->hops = (int)(random() % 4);
        }
        if (worker->seen) {
            shared_.check(worker->seen);
            if (worker->hops-- <= 0 || stop_) {
                worker->seen = {};
                rcu_read_unlock();
            }
        }
        rcu_task_park(&worker->task);
    }
    Worker *take(std::mt19937 &random)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        std::vector<Worker *> &from = idle_;
        if (stop_) { /* take only tasks that still hold a section */
            for (size_t i = 0; i < from.size(); i++) {
                if (from[i]->seen)
                    return remove(i);
            }
            return nullptr;
        }
        return from.empty() ? nullptr : remove(random() % from.size());
    }
    Worker *remove(size_t i)
    {
        Worker *worker = idle_[i];
        idle_[i] = idle_.back();
        idle_.pop_back();
        return worker;
    }
    void give(Worker *worker)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        idle_.push_back(worker);
    }
    std::vector<Worker> workers_;
    std::vector<Worker *> idle_;
    std::mutex mutex_;
    test::Replaced shared_;
    std::atomic<bool> stop_{false};
};

void run_pool(unsigned int seed, int replacements)
{
    Pool pool(48);
    std::vector<std::thread> carriers;
    for (unsigned int i = 0; i < 4; i++)
        carriers.emplace_back([&pool, seed, i] { pool.carry(seed + i, i % 2 == 1); });
    int turn = 0;
    EXPECT_TRUE(pool.shared().replace_until_spanned(replacements, 100, [&] {
        if (turn++ % 2)
            synchronize_rcu();
        else
            synchronize_rcu_expedited();
    }));
    pool.stop();
    for (std::thread &carrier : carriers)
        carrier.join();
    EXPECT_EQ(pool.shared().bad(), 0);
}

TEST(Task, ParkedSectionsProtectOnManyThreads)
{
    run_pool(static_cast<unsigned int>(test::seeded_random("Task")()), 60);
}

TEST(Task, ParkedSectionsProtectOnTheLeafsList)
{
    rtrcu_config config;
    rtrcu_config_get(&config);
    config.blocked_lists = RTRCU_BLOCKED_LISTS_NODE;
    ASSERT_EQ(rtrcu_configure(&config), 0);
    run_pool(static_cast<unsigned int>(test::seeded_random("Task")()), 60);
    config.blocked_lists = RTRCU_BLOCKED_LISTS_PERCPU;
    ASSERT_EQ(rtrcu_configure(&config), 0);
}

/* The handler is called again when another task arrives for which the same grace period waits. */
TEST(Task, BlockingHandlerIsCalledForEachTaskThatBlocksAGracePeriod)
{
    static std::atomic<int> told{0};
    rcu_task_set_blocking_handler([] { told++; });
    test::Worker other;
    rcu_task first, second;
    rcu_task_init(&first, "first");
    rcu_task_init(&second, "second");
    other.run([] { rcu_read_lock(); });
    rcu_read_lock();
    rcu_task_park(&first);
    unsigned long cookie = start_poll_synchronize_rcu();
    ASSERT_TRUE(test::eventually([] { return told > 0; }));
    int before = told;
    other.run([&] { rcu_task_park(&second); });
    EXPECT_TRUE(test::eventually([&] { return told > before; }));
    other.run([&] {
        rcu_task_resume(&second);
        rcu_read_unlock();
    });
    rcu_task_resume(&first);
    rcu_read_unlock();
    cond_synchronize_rcu(cookie);
    rcu_task_set_blocking_handler(nullptr);
}

TEST(Task, BlockingHandlerIsCalledForAParkedTask)
{
    static std::atomic<int> told;
    told = 0;
    rcu_task_set_blocking_handler([] { told++; });
    rcu_task task;
    rcu_task_init(&task, "asked");
    rcu_read_lock();
    rcu_task_park(&task);
    unsigned long cookie = start_poll_synchronize_rcu();
    EXPECT_TRUE(test::eventually([] { return told > 0; }));
    auto some_ticks = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    EXPECT_TRUE(test::eventually([&] { return std::chrono::steady_clock::now() > some_ticks; }));
    EXPECT_EQ(told, 1) << "the handler is called once per task";
    rcu_task_resume(&task);
    rcu_read_unlock();
    cond_synchronize_rcu(cookie);
    rcu_task_set_blocking_handler(nullptr);
}

} // namespace
