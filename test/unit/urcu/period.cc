/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of grace periods of a liburcu flavour. */
#include "world.h"

namespace
{

using Period = AdoptWorld;

/* A thread that found the gp lock taken before its release sees the changed event, and does not sleep. */
TEST_F(Period, ReleaseOfTheGpLockIsSeenByAThreadAboutToSleep)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    uint32_t event = adopted->event;
    uint64_t cookie = urcu_snap(adopted);
    EXPECT_FALSE(urcu_reached(adopted, cookie));
    urcu_wait(adopted, cookie);
    EXPECT_TRUE(urcu_reached(adopted, cookie));
    EXPECT_NE(adopted->event, event);
}

TEST_F(Period, WaiterForTheGpLockIsUncounted)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    uint64_t cookie = urcu_snap(adopted);
    test::Worker holder, waiter;
    holder.run([&] { lock_acquire(&adopted->gp_lock); });
    waiter.start([&] { urcu_wait(adopted, cookie); });
    EXPECT_TRUE(test::eventually([&] { return tally_acquire(&adopted->waiters) != 0; }));
    EXPECT_FALSE(urcu_reached(adopted, cookie));
    holder.run([&] { lock_release(&adopted->gp_lock); });
    waiter.wait();
    EXPECT_TRUE(urcu_reached(adopted, cookie));
    EXPECT_EQ(tally_read(&adopted->waiters), 0u);
}

/* After membarrier() is refused, readers fence by themselves; one visit to every CPU confirms that. */
TEST_F(Period, VisitConfirmsReadersFencesOnce)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopted->unconfirmed = true;
    urcu_wait(adopted, urcu_snap(adopted));
    EXPECT_FALSE(adopted->unconfirmed);
    EXPECT_EQ(light_, 0u);
}

/* The thread spins for an hour at most, and polls readers meanwhile. */
TEST_F(Period, SpinningThreadReturnsWhenTheReadersSectionEnds)
{
    config_.spin_us = INT64_C(3600000000);
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    test::Worker reader, updater;
    reader.run([&] {
        ASSERT_TRUE(urcu_register(adopted));
        rtrcu_store_release(&block()->word, generation_); /* inside */
    });
    updater.start([&] { urcu_wait(adopted, urcu_snap(adopted)); });
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&adopted->busy) == 1; }));
    EXPECT_FALSE(updater.is_done());
    reader.run([&] { rtrcu_store_release(&block()->word, 0); });
    updater.wait();
    EXPECT_EQ(sleeper_, 0u);
    reader.run([&] { urcu_unregister(adopted); });
}

/* The waiter, also a reader of the native domain, is marked asleep only while it waits. */
TEST_F(Period, SleeperReturnsWhenTheReadersSectionEnds)
{
    config_.spin_us = 0;
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    test::Worker reader, updater;
    uint32_t id = 0;
    reader.run([&] {
        ASSERT_TRUE(urcu_register(adopted));
        rtrcu_store_release(&block()->word, generation_); /* inside */
    });
    updater.run([&] {
        id = lock_thread_number();
        ASSERT_EQ(rtrcu_register_thread(0), 0);
    });
    updater.start([&] { urcu_wait(adopted, urcu_snap(adopted)); });
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&sleeper_) != 0 && test::is_asleep(pid_t(id)); }));
    EXPECT_FALSE(updater.is_done());
    reader.run([&] {
        rtrcu_store_release(&block()->word, 0);
        urcu_wake_sleeper(adopted);
    });
    updater.wait();
    updater.run([&] {
        EXPECT_EQ(rtrcu_self.state & READER_STATE_ASLEEP, 0u);
        EXPECT_NE(rtrcu_self.record->fence_ack, static_cast<uint32_t>(READER_FENCES_ANY));
    });
    reader.run([&] { urcu_unregister(adopted); });
}

TEST_F(Period, OnlineThreadIsOnlineAfterItsWait)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_QSBR);
    ASSERT_TRUE(urcu_register(adopted));
    ASSERT_NE(urcu_self(adopted)->word, 0u);
    urcu_synchronize(adopted, "test");
    EXPECT_NE(urcu_self(adopted)->word, 0u);
    urcu_unregister(adopted);
}

} // namespace
