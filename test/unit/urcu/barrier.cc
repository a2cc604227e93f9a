/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of rcu_barrier() of a liburcu flavour, and of polled cookies. */
#include <atomic>
#include <vector>

#include "../../support/capture.h"
#include "world.h"

namespace
{

using Barrier = AdoptWorld;

std::atomic<bool> called;

void call(rcu_head *)
{
    called = true;
}

TEST_F(Barrier, OnlineThreadIsOnlineAfterRcuBarrier)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_QSBR);
    ASSERT_TRUE(urcu_register(adopted));
    called = false;
    rcu_head head;
    urcu_call(adopted, &head, call);
    urcu_barrier(adopted);
    EXPECT_TRUE(called);
    EXPECT_NE(urcu_self(adopted)->word, 0u);
    urcu_unregister(adopted);
    end_ordinary(adopted);
}

/* rcu_barrier() inside a callback returns without waiting: it would wait for that callback. */
TEST_F(Barrier, RcuBarrierInsideACallbackDoesNotWait)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_TRUE(urcu_register(adopted));
    EXPECT_TRUE(urcu_may_wait(adopted, "rcu_barrier"));
    test::CapturedErrors errors;
    block()->in_callbacks = 1;
    EXPECT_FALSE(urcu_may_wait(adopted, "rcu_barrier"));
    EXPECT_TRUE(errors.contains("inside a callback")) << errors.text();
    block()->in_callbacks = 0;
    urcu_unregister(adopted);
}

TEST_F(Barrier, RcuBarrierWaitsForTheCallbacksOfEachServer)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    std::vector<adopt_server *> servers;
    std::vector<rcu_head> heads(40);
    static std::atomic<int> times;
    times = 0;
    for (rcu_head &head : heads) {
        servers.push_back(urcu_server_create(adopted, 0, -1));
        urcu_server_call(servers.back(), &head, [](rcu_head *) { times++; });
    }
    urcu_barrier(adopted);
    EXPECT_EQ(times, static_cast<int>(heads.size()));
    for (adopt_server *server : servers)
        urcu_server_free(adopted, server);
    end_ordinary(adopted);
}

/* The first poll cannot create the server's thread, whose stack is larger than the available memory.  A later poll
 * creates it once that is possible. */
TEST_F(Barrier, PolledCookieWithoutAThreadIsReported)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    auto &home = const_cast<plat_thread_attr &>(*work_attr(all_.work));
    const size_t stack_bytes = home.stack_bytes;
    test::CapturedErrors errors;

    home.stack_bytes = size_t{1} << 47;
    uint64_t cookie = urcu_start_poll(adopted);
    EXPECT_FALSE(urcu_poll_state(adopted, cookie));
    EXPECT_TRUE(errors.contains("no thread can be created that advances the grace period")) << errors.text();
    EXPECT_EQ(adopted->threads_refused, 2u);

    home.stack_bytes = stack_bytes;
    EXPECT_TRUE(test::eventually([&] { return urcu_poll_state(adopted, cookie); }));
    end_ordinary(adopted);
}

} // namespace
