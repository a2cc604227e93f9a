/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stall report comes in time, names who is in the way, and comes again at growing ages.
 */
#include <chrono>
#include <pthread.h>
#include <thread>

#include "../support/sync.h"
#include "child.h"

namespace
{

void name_self(const char *name)
{
    pthread_setname_np(pthread_self(), name);
}

void nothing(rcu_head *)
{
}

/* A reader that does not leave, and an updater that waits: the parent ends us when it has read enough. */
void stall_with(void (*reader)())
{
    test::Steps inside;
    static rcu_head heads[7];
    std::thread culprit([&] {
        name_self("the-culprit");
        reader();
        inside.reach(1);
        inside.wait(2);
    });
    std::thread innocent([&] {
        name_self("the-innocent");
        rcu_read_lock();
        rcu_read_unlock();
        inside.wait(2);
    });
    inside.wait(1);
    for (rcu_head &head : heads)
        call_rcu(&head, nothing);
    synchronize_rcu();
}

CHILD(preemptible_reader)
{
    stall_with([] {
        rcu_read_lock();
        rcu_read_lock();
    });
}

CHILD(quiescent_state_thread)
{
    stall_with([] { REQUIRE(rcu_register_thread_qsbr() == 0); });
}

TEST(Stall, NamesAPreemptibleReader)
{
    auto begin = std::chrono::steady_clock::now();
    test::ChildResult result =
        test::run_child_until("preemptible_reader", "callbacks queued behind it: 7", {"RTRCU_STALL_TIMEOUT_MS=30"});
    auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_FALSE(result.timed_out);
    EXPECT_LT(took, std::chrono::seconds(20)) << "within the time that was set, however slow the machine";
    EXPECT_TRUE(result.contains("\"the-culprit\"")) << result.output;
    EXPECT_TRUE(result.contains("preemptible")) << result.output;
    EXPECT_TRUE(result.contains("nesting 2")) << result.output;
    EXPECT_FALSE(result.contains("the-innocent")) << result.output;
}

TEST(Stall, NamesAQuiescentStateThread)
{
    test::ChildResult result =
        test::run_child_until("quiescent_state_thread", "callbacks queued behind it", {"RTRCU_STALL_TIMEOUT_MS=30"});
    EXPECT_FALSE(result.timed_out);
    EXPECT_TRUE(result.contains("\"the-culprit\"")) << result.output;
    EXPECT_TRUE(result.contains("quiescent-state discipline")) << result.output;
    EXPECT_FALSE(result.contains("the-innocent")) << result.output;
}

CHILD(three_reports)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    std::thread updater([] { synchronize_rcu(); });
    REQUIRE(test::eventually([] { return test::stats().stall_reports >= 3; }));
    reader.run([] { rcu_read_unlock(); });
    updater.join();
}

TEST(Stall, ComesAgainAtGrowingAges)
{
    test::ChildResult result = test::run_child("three_reports", {"RTRCU_STALL_TIMEOUT_MS=10"});
    EXPECT_TRUE(exited_well(result));
    std::vector<int> ages;
    const std::string before = "has not ended for ";
    for (size_t at = 0; (at = result.output.find(before, at)) != std::string::npos;)
        ages.push_back(atoi(result.output.c_str() + (at += before.size())));
    ASSERT_GE(ages.size(), 3u) << result.output;
    EXPECT_GE(ages[0], 10);
    EXPECT_GE(ages[1], 2 * 10);
    EXPECT_GE(ages[2], 4 * 10);
}

CHILD(no_stall)
{
    test::Worker reader;
    std::atomic<bool> done{false};
    reader.run([] { rcu_read_lock(); });
    std::thread updater([&] {
        synchronize_rcu();
        done = true;
    });
    REQUIRE(test::eventually([] { return test::stats().gp_slept > 0; }));
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (std::chrono::steady_clock::now() < until)
        std::this_thread::yield();
    REQUIRE(!done);
    reader.run([] { rcu_read_unlock(); });
    updater.join();
    REQUIRE(test::stats().stall_reports == 0);
}

TEST(Stall, TimeoutZeroMeansNoReport)
{
    test::ChildResult result = test::run_child("no_stall", {"RTRCU_STALL_TIMEOUT_MS=0"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_EQ(result.output, "");
}

/* A report is no end: when the reader leaves, all goes on. */
CHILD(stall_and_go_on)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    std::thread updater([] { synchronize_rcu(); });
    REQUIRE(test::eventually([] { return test::stats().stall_reports > 0; }));
    reader.run([] { rcu_read_unlock(); });
    updater.join();
    synchronize_rcu();
    REQUIRE(test::stats().stall_reports >= 1);
}

TEST(Stall, AndThenItGoesOn)
{
    EXPECT_TRUE(exited_well(test::run_child("stall_and_go_on", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

} // namespace
