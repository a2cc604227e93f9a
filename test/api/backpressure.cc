/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Backlogs that reach qmax: the effect of each setting of backpressure on the thread that queues.
 */
#include <atomic>
#include <cerrno>
#include <thread>

#include "../support/sync.h"
#include "child.h"
#include "configured.h"
#include "owned.h"

namespace
{

using owned::Owned, owned::queue, owned::run, owned::runs;

class Backpressure : public test::Configured
{
    void SetUp() override
    {
        runs = 0;
    }
};

void block_at_50(struct rtrcu_config *config)
{
    config->qmax = 50;
    config->backpressure = RTRCU_BACKPRESSURE_BLOCK;
}

/* With a reader inside nothing can run, so the backlog is exactly what was queued. */
TEST_F(Backpressure, TryIsRefusedAtTheMaximum)
{
    configure([](struct rtrcu_config *config) { config->qmax = 50; });
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    std::thread([&] {
        for (int i = 0; i < 50; i++) {
            ASSERT_EQ(call_rcu_try(&(new Owned)->head, run), 0);
        }
        rcu_head untouched = {};
        EXPECT_EQ(call_rcu_try(&untouched, run), -EAGAIN);
        EXPECT_EQ(untouched.func, nullptr);
    }).join();
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    EXPECT_EQ(runs, 50);
}

TEST_F(Backpressure, TryNeverWaitsAndCountsNothingThatWasRefused)
{
    configure(block_at_50);
    test::Worker reader;
    struct rtrcu_stats before = test::stats();
    reader.run([] { rcu_read_lock(); });
    std::thread([&] {
        for (int i = 0; i < 52; i++) {
            auto *owned = new Owned;
            int result = call_rcu_try(&owned->head, run);
            EXPECT_EQ(result, i < 50 ? 0 : -EAGAIN) << i;
            if (result != 0)
                delete owned;
        }
    }).join();
    EXPECT_EQ(test::stats().blocked_at_qmax, before.blocked_at_qmax);
    EXPECT_EQ(test::stats().over_qmax, before.over_qmax);
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    EXPECT_EQ(runs, 50);
}

TEST_F(Backpressure, ExpediteLetsEnqueuesThroughAndCountsThem)
{
    configure([](struct rtrcu_config *config) {
        config->qmax = 50;
        config->backpressure = RTRCU_BACKPRESSURE_EXPEDITE;
    });
    test::Worker reader;
    uint64_t before = test::stats().over_qmax;
    reader.run([] { rcu_read_lock(); });
    std::thread([&] { queue(60); }).join();
    EXPECT_EQ(test::stats().over_qmax - before, 10u) << "those after the 50th";
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    EXPECT_EQ(runs, 60);
}

TEST_F(Backpressure, BlockWaitsUntilThereIsRoom)
{
    configure(block_at_50);
    test::Worker reader, producer;
    std::atomic<long> queued{0};
    uint64_t blocked = test::stats().blocked_at_qmax;
    reader.run([] { rcu_read_lock(); });
    producer.start([&] {
        for (int i = 0; i < 60; i++) {
            queue(1);
            queued++;
        }
    });
    ASSERT_TRUE(test::eventually([&] { return test::stats().blocked_at_qmax > blocked; }));
    EXPECT_LE(queued, 50);
    EXPECT_FALSE(producer.is_done());
    reader.run([] { rcu_read_unlock(); });
    producer.wait();
    EXPECT_EQ(queued, 60);
    rcu_barrier();
    EXPECT_EQ(runs, 60);
}

TEST_F(Backpressure, BlockNeverWaitsInsideASectionOrADeadlineThread)
{
    configure([](struct rtrcu_config *config) {
        config->qmax = 10;
        config->backpressure = RTRCU_BACKPRESSURE_BLOCK;
    });
    test::Worker reader;
    uint64_t blocked = test::stats().blocked_at_qmax;
    reader.run([] { rcu_read_lock(); });
    std::thread([&] {
        rcu_read_lock();
        queue(20);
        rcu_read_unlock();
    }).join();
    std::thread([&] {
        ASSERT_EQ(rtrcu_register_thread(RTRCU_DEADLINE), 0);
        queue(20);
    }).join();
    EXPECT_EQ(test::stats().blocked_at_qmax, blocked);
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    EXPECT_EQ(runs, 40);
}

/* The thread that queues may be the one that runs the task: only the end of the task's section lets callbacks run. */
TEST_F(Backpressure, BlockNeverWaitsForTheSectionOfATask)
{
    configure(block_at_50);
    for (bool listed : {true, false}) {
        runs = 0;
        struct rtrcu_stats before = test::stats();
        std::thread([&] {
            rcu_task task;
            rcu_task_init(&task, "task");
            rcu_read_lock();
            listed ? rcu_task_list(&task) : rcu_task_park(&task);
            queue(60);
            if (!listed) {
                rcu_task_resume(&task);
                queue(10);
                rcu_read_unlock();
            }
            rcu_task_unlist(&task);
        }).join();
        EXPECT_EQ(test::stats().blocked_at_qmax, before.blocked_at_qmax) << listed;
        EXPECT_EQ(test::stats().over_qmax - before.over_qmax, listed ? 10u : 20u);
        rcu_barrier();
        EXPECT_EQ(runs, listed ? 60 : 70);
    }
}

TEST_F(Backpressure, HelpLiftsTheOwnersLimit)
{
    configure([](struct rtrcu_config *config) {
        config->policy = RTRCU_POLICY_INLINE;
        config->backpressure = RTRCU_BACKPRESSURE_HELP;
        config->blimit = 2;
        config->qmax = 50;
    });
    constexpr long all = 600;
    test::Worker owner, reader;
    reader.run([] { rcu_read_lock(); });
    owner.run([&] { queue(all); });
    reader.run([] { rcu_read_unlock(); });
    // A reader was inside, so they were taken for at most two grace periods, and what was not taken yet for a third: as
    // many passes run something.  With the limit it takes more than a hundred, down to where help ends.
    owner.run([&] {
        unsigned long passes = 0;
        ASSERT_TRUE(test::eventually([&] {
            passes += rcu_process_callbacks(0) > 0;
            return runs > all - 50;
        }));
        EXPECT_LE(passes, 4u);
    });
    rcu_barrier();
    EXPECT_EQ(runs, all);
}

} // namespace
