/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rings of deferred functions: who has one, and who runs what is in it.
 */
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
        /* No thread runs them but the callers: a server that is being made is left alone. */
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

TEST_F(Defer, AFullRingIsDrainedByItsOwner)
{
    defer(URCU_RING);
    EXPECT_EQ(ran, 0);
    uint64_t cookie = urcu_snap(adopted);
    defer(1);
    EXPECT_EQ(ran, URCU_RING);
    EXPECT_TRUE(urcu_reached(adopted, cookie)) << "they ran after a grace period";
    EXPECT_EQ(adopted->drainer, 0u);
    urcu_defer_barrier_own(adopted);
    EXPECT_EQ(ran, URCU_RING + 1);
}

TEST_F(Defer, TheNextThreadTakesOverWhatAThreadLeaves)
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

TEST_F(Defer, AThreadsEndGivesItsRingUp)
{
    urcu_hook_exits(&all_, [](void *all) { urcu_thread_exits(static_cast<struct urcu *>(all)); });
    for (int i = 0; i < 4; i++)
        std::thread([&] { defer(1); }).join();
    EXPECT_EQ(rings(), 1);
    EXPECT_EQ(adopted->rings->used, 0u);
    urcu_defer_barrier(adopted);
    EXPECT_EQ(ran, 4);
}

TEST_F(Defer, ABarrierRunsThoseOfAllThreadsAndItsOwnThoseOfOne)
{
    defer(2);
    std::thread([&] { defer(3); }).join();
    urcu_defer_barrier_own(adopted);
    EXPECT_EQ(ran, 2);
    urcu_defer_barrier(adopted);
    EXPECT_EQ(ran, 5);
}

TEST_F(Defer, CountersHaveThem)
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

/* The child's only thread has its own ring; rings of others are for its next threads, with what is in them. */
TEST_F(Defer, AChildRunsWhatItsParentDeferred)
{
    defer(2);
    std::thread([&] { defer(3); }).join();
    rtrcu_store_relaxed(&adopted->drainer, 1); /* a thread that the child does not have */
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

TEST_F(Defer, AThreadThatForksInADeferredFunctionGoesOn)
{
    plat_tid parent = {12345};
    rtrcu_store_relaxed(&adopted->drainer, parent.number);
    urcu_rings_after_fork_child(adopted, parent);
    EXPECT_EQ(adopted->drainer, lock_thread_number());
    rtrcu_store_relaxed(&adopted->drainer, 0);
}

/* The server is told of the rest when its turn comes. */
TEST_F(Defer, TheServerDrainsAfterAnotherThread)
{
    defer(1);
    EXPECT_TRUE(urcu_defer_waits(adopted));
    rtrcu_store_relaxed(&adopted->drainer, lock_thread_number());
    EXPECT_FALSE(urcu_drain_begin(adopted));
    EXPECT_FALSE(urcu_defer_waits(adopted));
    rtrcu_store_relaxed(&adopted->drainer, 0);
    EXPECT_TRUE(urcu_defer_waits(adopted));
    EXPECT_TRUE(urcu_drain_begin(adopted));
    defer(1); /* behind the note: for the next time */
    EXPECT_TRUE(urcu_drain_one(adopted));
    EXPECT_FALSE(urcu_drain_one(adopted));
    (void)urcu_drain_release(adopted);
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(urcu_defer_waits(adopted));
    urcu_defer_barrier(adopted);
    EXPECT_FALSE(urcu_drain_begin(adopted)) << "nothing is left";
}

TEST_F(Defer, AReaderIsNotHeldBack)
{
    ASSERT_TRUE(urcu_register(adopted));
    test::CapturedErrors errors;
    block()->word = 1 | generation_ << 32;
    rtrcu_store_relaxed(&adopted->ordinary.state, WORK_NONE); /* it runs what has no room */
    defer(URCU_RING + 3);
    urcu_defer_barrier(adopted);
    block()->word = 0;
    EXPECT_TRUE(errors.contains("defer_rcu() inside a read-side critical section finds")) << errors.text();
    EXPECT_TRUE(errors.contains("rcu_defer_barrier() inside a read-side critical section")) << errors.text();
    urcu_defer_barrier(adopted);
    EXPECT_EQ(ran, URCU_RING + 3);
    urcu_unregister(adopted);
    end_ordinary(adopted);
}

TEST_F(Defer, WithoutMemoryWhoDefersWaits)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer's allocator ends the program instead";
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
