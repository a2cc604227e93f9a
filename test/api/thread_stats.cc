/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rtrcu_thread_stats(): the resources that the library has taken from the calling thread. */
#include <cerrno>
#include <chrono>
#include <thread>

#include "../support/sync.h"
#include "configured.h"
#include "owned.h"

namespace
{

struct rtrcu_thread_stats now()
{
    struct rtrcu_thread_stats stats = {};
    stats.size = sizeof(stats);
    EXPECT_EQ(rtrcu_thread_stats(&stats), 0);
    return stats;
}

class ThreadStats : public test::Configured
{
};

TEST_F(ThreadStats, FastPathsMakeNoSystemCall)
{
    std::thread([] {
        static rcu_head heads[3];
        rcu_read_lock(); /* registers the thread, and keeps its callbacks from running */
        call_rcu(&heads[0], [](rcu_head *) {});
        call_rcu(&heads[1], [](rcu_head *) {});
        struct rtrcu_thread_stats before = now(), again = now();
        rcu_read_unlock();
        EXPECT_GT(before.slow_paths, 0u) << "the section registered the thread, and the driver was notified";
        EXPECT_GT(before.system_calls, 0u);
        EXPECT_EQ(again.slow_paths, before.slow_paths);
        EXPECT_EQ(again.system_calls, before.system_calls) << "the call itself makes none";
        EXPECT_EQ(again.callback_ns, 0u);
        EXPECT_EQ(again.boosts, 0u);
        struct rtrcu_thread_stats outside = now();
        for (int i = 0; i < 3; i++)
            rtrcu_read_lock_held();
        EXPECT_EQ(now().system_calls, outside.system_calls);
    }).join();
    rcu_barrier();
}

TEST_F(ThreadStats, WaitingForAGracePeriodMakesSystemCalls)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    uint64_t slept = test::stats().gp_slept;
    std::thread waiter([] {
        uint64_t before = now().system_calls;
        synchronize_rcu();
        EXPECT_GT(now().system_calls, before) << "it slept";
    });
    EXPECT_TRUE(test::eventually([&] { return test::stats().gp_slept > slept; }));
    reader.run([] { rcu_read_unlock(); });
    waiter.join();
}

/* Runs until a millisecond has passed on the clock. */
void take_a_millisecond(rcu_head *head)
{
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < end) /* ends after a millisecond */
        ;
    owned::run(head);
}

TEST_F(ThreadStats, TimeOfCallbacksThatTheOwnerRunsIsMeasured)
{
    configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_INLINE; });
    owned::runs = 0;
    test::Worker owner, other;
    owner.run([] {
        for (int i = 0; i < 3; i++)
            call_rcu(&(new owned::Owned)->head, take_a_millisecond);
        struct rtrcu_thread_stats before = now();
        unsigned long done = 0;
        ASSERT_TRUE(test::eventually([&] {
            done += rcu_process_callbacks(-1);
            return owned::runs == 3;
        }));
        struct rtrcu_thread_stats after = now();
        EXPECT_GE(after.callback_ns - before.callback_ns, done * 1000000) << "those that no daemon took";
        EXPECT_GE(after.batch_ns_max, done ? 1000000u : 0u);
        EXPECT_LE(after.batch_ns_max, after.callback_ns);
    });
    other.run([] { EXPECT_EQ(now().callback_ns, 0u) << "another thread's callbacks are not its own"; });
}

TEST_F(ThreadStats, InvalidSizeIsRefusedAndLargerSizeIsShortened)
{
    struct rtrcu_thread_stats stats = {};
    for (uint32_t bad : {0u, 12u}) {
        stats.size = bad;
        EXPECT_EQ(rtrcu_thread_stats(&stats), -EINVAL) << bad;
    }
    stats.size = 16;
    stats.system_calls = 77;
    EXPECT_EQ(rtrcu_thread_stats(&stats), 0);
    EXPECT_EQ(stats.size, 16u);
    EXPECT_EQ(stats.system_calls, 77u) << "beyond the size";
    struct {
        struct rtrcu_thread_stats known;
        uint64_t newer;
    } longer = {};
    longer.known.size = sizeof(longer);
    EXPECT_EQ(rtrcu_thread_stats(&longer.known), 0);
    EXPECT_EQ(longer.known.size, sizeof(struct rtrcu_thread_stats));
}

} // namespace
