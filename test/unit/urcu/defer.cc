/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of rings of deferred functions: their owners, and the threads that run the functions. */
#include <atomic>
#include <thread>

#include "../../support/capture.h"
#include "../../support/no_memory.h"
#include "../../support/variant.h"
#include "world.h"

namespace
{

class Defer : public AdoptWorld
{
  protected:
    static inline std::atomic<int> ran;
    rtrcu_adopted *adopted = nullptr;

    static void count(void *)
    {
        ran++;
    }
    void SetUp() override
    {
        AdoptWorld::SetUp();
        ran = 0;
        adopted = adopt(RTRCU_ADOPT_MEMB);
        /* The default server counts as being created, so only callers run the functions. */
        rtrcu_store_relaxed(&adopted->ordinary.state, WORK_STARTING);
    }
    int rings() const
    {
        int count = 0;
        for (const adopt_ring *ring = adopted->rings; ring; ring = ring->next)
            count++;
        return count;
    }
    void defer(int times)
    {
        for (int i = 0; i < times; i++)
            urcu_defer(adopted, count, nullptr);
    }
};

TEST_F(Defer, FullRingIsDrainedByItsOwner)
{
    defer(URCU_RING);
    EXPECT_EQ(ran, 0);
    uint64_t cookie = urcu_snap(adopted);
    defer(1);
    EXPECT_EQ(ran, URCU_RING);
    EXPECT_TRUE(urcu_reached(adopted, cookie)) << "the functions ran after a grace period";
    EXPECT_EQ(adopted->drainer, 0u);
    urcu_defer_barrier_own(adopted);
    EXPECT_EQ(ran, URCU_RING + 1);
}

TEST_F(Defer, NextThreadTakesOverARing)
{
    std::thread([&] {
        defer(3);
        urcu_ring_leave(adopted);
    }).join();
    EXPECT_EQ(ran, 0);
    std::thread([&] {
        defer(1);
        EXPECT_EQ(rings(), 1);
        urcu_defer_barrier_own(adopted);
    }).join();
    EXPECT_EQ(ran, 4);
}

TEST_F(Defer, ThreadExitReleasesTheRing)
{
    urcu_hook_exits(&all_, [](void *all) { urcu_thread_exits(static_cast<struct urcu *>(all)); });
    for (int i = 0; i < 4; i++)
        std::thread([&] { defer(1); }).join();
    EXPECT_EQ(rings(), 1);
    EXPECT_EQ(adopted->rings->used, 0u);
    urcu_defer_barrier(adopted);
    EXPECT_EQ(ran, 4);
}

TEST_F(Defer, BarrierRunsFunctionsOfAllThreadsAndBarrierThreadOnlyTheCallers)
{
    defer(2);
    std::thread([&] { defer(3); }).join();
    urcu_defer_barrier_own(adopted);
    EXPECT_EQ(ran, 2);
    urcu_defer_barrier(adopted);
    EXPECT_EQ(ran, 5);
}

TEST_F(Defer, StatisticsIncludeDeferredFunctions)
{
    struct rtrcu_stats stats = {};
    defer(3);
    urcu_stats(adopted, &stats);
    EXPECT_EQ(stats.callbacks_queued, 3u);
    EXPECT_EQ(stats.callbacks_backlog, 3u);
    urcu_defer_barrier(adopted);
    urcu_stats(adopted, &stats);
    EXPECT_EQ(stats.callbacks_invoked, 3u);
    EXPECT_EQ(stats.callbacks_backlog, 0u);
}

/* The child's thread keeps its ring.  Rings of other threads keep their functions, and later threads take them over. */
TEST_F(Defer, ChildRunsItsParentsDeferredFunctions)
{
    defer(2);
    std::thread([&] { defer(3); }).join();
    rtrcu_store_relaxed(&adopted->drainer, 1); /* a thread that does not exist in the child */
    urcu_rings_after_fork_child(adopted, PLAT_NOBODY);
    EXPECT_EQ(adopted->drainer, 0u);
    EXPECT_EQ((*ring())->used, 1u);
    std::thread([&] {
        defer(1);
        EXPECT_EQ(rings(), 2);
    }).join();
    urcu_defer_barrier(adopted);
    EXPECT_EQ(ran, 6);
}

TEST_F(Defer, ForkInADeferredFunctionContinues)
{
    plat_tid parent = {12345};
    rtrcu_store_relaxed(&adopted->drainer, parent.number);
    urcu_rings_after_fork_child(adopted, parent);
    EXPECT_EQ(adopted->drainer, lock_thread_number());
    rtrcu_store_relaxed(&adopted->drainer, 0);
}

/* While another thread drains, the server does not; afterwards it runs the remaining functions. */
TEST_F(Defer, ServerDrainsAfterAnotherThread)
{
    defer(1);
    EXPECT_TRUE(urcu_defer_waits(adopted));
    rtrcu_store_relaxed(&adopted->drainer, lock_thread_number());
    EXPECT_FALSE(urcu_drain_begin(adopted));
    EXPECT_FALSE(urcu_defer_waits(adopted));
    rtrcu_store_relaxed(&adopted->drainer, 0);
    EXPECT_TRUE(urcu_defer_waits(adopted));
    EXPECT_TRUE(urcu_drain_begin(adopted));
    defer(1); /* queued after the drain began, so for the next one */
    EXPECT_TRUE(urcu_drain_one(adopted));
    EXPECT_FALSE(urcu_drain_one(adopted));
    (void)urcu_drain_release(adopted);
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(urcu_defer_waits(adopted));
    urcu_defer_barrier(adopted);
    EXPECT_FALSE(urcu_drain_begin(adopted)) << "no function is left";
}

TEST_F(Defer, ReaderThatDefersDoesNotWait)
{
    ASSERT_TRUE(urcu_register(adopted));
    test::CapturedErrors errors;
    block()->word = 1 | generation_ << 32;
    rtrcu_store_relaxed(&adopted->ordinary.state,
                        WORK_NONE); /* so that callers run functions for which there is no room */
    defer(URCU_RING + 3);
    urcu_defer_barrier(adopted);
    block()->word = 0;
    EXPECT_TRUE(errors.contains("defer_rcu() inside a read-side critical section cannot wait")) << errors.text();
    EXPECT_TRUE(errors.contains("rcu_defer_barrier() inside a read-side critical section")) << errors.text();
    urcu_defer_barrier(adopted);
    EXPECT_EQ(ran, URCU_RING + 3);
    urcu_unregister(adopted);
    end_ordinary(adopted);
}

TEST_F(Defer, DeferringThreadWaitsWithoutMemory)
{
    if (TEST_TSAN || TEST_ASAN || TEST_EMULATED)
        GTEST_SKIP() << "memory cannot be limited";
    uint64_t cookie = urcu_snap(adopted);
    int before = 0;
    {
        test::NoMemory none;
        defer(1);
        before = ran;
    }
    EXPECT_EQ(before, 1);
    EXPECT_TRUE(urcu_reached(adopted, cookie));
}

} // namespace
