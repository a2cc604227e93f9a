/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of backlogs at qmax: the effect of each setting of backpressure on the thread that queues. */
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

/* With a reader inside, no callback can run, so the backlog is exactly the number queued. */
TEST_F(Backpressure, CallRcuTryIsRefusedAtQmax)
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

TEST_F(Backpressure, CallRcuTryNeverWaitsAndRefusedCallsAreNotCounted)
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

TEST_F(Backpressure, BackpressureExpediteAcceptsAndCountsCallsAboveQmax)
{
    configure([](struct rtrcu_config *config) {
        config->qmax = 50;
        config->backpressure = RTRCU_BACKPRESSURE_EXPEDITE;
    });
    test::Worker reader;
    uint64_t before = test::stats().over_qmax;
    reader.run([] { rcu_read_lock(); });
    std::thread([&] { queue(60); }).join();
    EXPECT_EQ(test::stats().over_qmax - before, 10u) << "the calls after the 50th are counted";
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    EXPECT_EQ(runs, 60);
}

TEST_F(Backpressure, BackpressureBlockWaitsUntilTheBacklogShrinks)
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

TEST_F(Backpressure, BackpressureBlockNeverWaitsInsideASectionOrInADeadlineThread)
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

/* Callbacks run only after the task's section has ended, and the queueing thread may have to run that task. */
TEST_F(Backpressure, BackpressureBlockNeverWaitsForTheSectionOfATask)
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

/* ---- the limit of the process ---- */

void limit_process_to_100(struct rtrcu_config *config)
{
    config->qmax_process = 100;
}

TEST_F(Backpressure, QmaxAboveQmaxProcessIsRefusedIfBothAreSet)
{
    struct rtrcu_config config = test::config_in_force();
    config.qmax_process = 100;
    EXPECT_EQ(rtrcu_configure(&config), 0) << "qmax is the default";
    config.qmax = 100;
    EXPECT_EQ(rtrcu_configure(&config), 0);
    config.qmax = 101;
    EXPECT_EQ(rtrcu_configure(&config), -EINVAL);
    EXPECT_STREQ(rtrcu_config_error(), "qmax must not be above qmax_process");
    config.qmax_process = 0;
    EXPECT_EQ(rtrcu_configure(&config), 0);
}

/* Queue callbacks until the backlog that the driver has collected brings shares into force.  Returns the number of
 * queued callbacks. */
int queue_above_the_process_limit()
{
    int queued = 0;
    auto *owned = new Owned;
    bool refused = test::eventually([&] {
        if (queued < 101) {
            queue(1);
            queued++;
            return false;
        }
        if (call_rcu_try(&owned->head, run) == -EAGAIN)
            return true;
        owned = new Owned;
        queued++;
        return false;
    });
    EXPECT_TRUE(refused);
    delete owned;
    return queued;
}

TEST_F(Backpressure, ThreadAtItsShareOfTheProcessLimitIsRefused)
{
    configure(limit_process_to_100);
    test::Worker reader, heavy, light;
    reader.run([] { rcu_read_lock(); });
    long queued = 0;
    heavy.run([&] { queued = queue_above_the_process_limit(); });
    light.run([] {
        for (int i = 0; i < 5; i++)
            EXPECT_EQ(call_rcu_try(&(new Owned)->head, run), 0) << "far below its share";
    });
    rcu_head untouched = {};
    heavy.run([&] { EXPECT_EQ(call_rcu_try(&untouched, run), -EAGAIN); });
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    EXPECT_EQ(runs, queued + 5);
    heavy.run([] { EXPECT_EQ(call_rcu_try(&(new Owned)->head, run), 0) << "the backlog has fallen"; });
}

TEST_F(Backpressure, CallsAboveTheShareAreCounted)
{
    configure(limit_process_to_100);
    test::Worker reader, heavy;
    reader.run([] { rcu_read_lock(); });
    heavy.run([] { queue_above_the_process_limit(); });
    uint64_t before = test::stats().over_qmax;
    heavy.run([] { queue(10); });
    EXPECT_EQ(test::stats().over_qmax - before, 10u);
    reader.run([] { rcu_read_unlock(); });
}

TEST_F(Backpressure, BlockedThreadWaitsAtItsShareOfTheProcessLimit)
{
    configure([](struct rtrcu_config *config) {
        config->qmax_process = 100;
        config->backpressure = RTRCU_BACKPRESSURE_BLOCK;
    });
    test::Worker reader, heavy;
    reader.run([] { rcu_read_lock(); });
    uint64_t blocked = test::stats().blocked_at_qmax;
    heavy.run([] { queue_above_the_process_limit(); });
    heavy.start([] { queue(1); });
    ASSERT_TRUE(test::eventually([&] { return test::stats().blocked_at_qmax > blocked; }));
    reader.run([] { rcu_read_unlock(); });
    heavy.wait();
}

/* Queues two heads and a pointer of rcu_free(), above the limit of 2 that the test sets; the default limit is far
 * higher. */
CHILD(stalled_above_the_process_limit)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    queue(2);
    rcu_free(malloc(1));
    synchronize_rcu();
}

TEST(BackpressureReport, StallReportStatesTheBacklogAndTheExceededLimit)
{
    test::ChildResult result = test::run_child_until("stalled_above_the_process_limit", "that wait for it",
                                                     {"RTRCU_STALL_TIMEOUT_MS=300", "RTRCU_QMAX_PROCESS=2"});
    EXPECT_TRUE(result.contains("callbacks that wait for it: 3, more than qmax_process: backpressure acts"))
        << result.output;
}

CHILD(blocked_inside_a_section)
{
    for (int i = 0; i < 3; i++) {
        rcu_read_lock();
        queue(20);
        rcu_read_unlock();
    }
    rcu_barrier();
}

TEST(BackpressureReport, BackpressureBlockThatCannotWaitInsideASectionIsReportedOnce)
{
    test::ChildResult result =
        test::run_child("blocked_inside_a_section", {"RTRCU_QMAX=5", "RTRCU_BACKPRESSURE=block"});
    EXPECT_TRUE(exited_well(result));
    size_t first =
        result.output.find("above its limit of 5, and with backpressure=block call_rcu() cannot wait inside");
    ASSERT_NE(first, std::string::npos) << result.output;
    EXPECT_EQ(result.output.find("backpressure=block", result.output.find("printed once")), std::string::npos)
        << result.output;
}

TEST(BackpressureReport, BackpressureBlockThatCanWaitIsNotReported)
{
    test::ChildResult result =
        test::run_child("blocked_outside_sections", {"RTRCU_QMAX=5", "RTRCU_BACKPRESSURE=block"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_FALSE(result.contains("backpressure=block")) << result.output;
}

CHILD(blocked_outside_sections)
{
    queue(50);
    rcu_barrier();
}

TEST_F(Backpressure, BackpressureHelpRemovesTheOwnersBatchLimit)
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
    // The callbacks become ready in at most three grace periods, so at most as many calls run some of them.  With the
    // owner's limit in force it would take more than a hundred calls.
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
