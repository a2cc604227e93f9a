/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of grace periods through the public interface: waiting, sharing, and cookies. */
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "../support/replaced.h"
#include "../support/sync.h"
#include "../support/variant.h"
#include "child.h"

namespace
{

/* The same calls in their normal and their expedited form. */
struct Kind {
    const char *name;
    void (*synchronize)();
    unsigned long (*get_state)();
    unsigned long (*start_poll)();
    bool (*poll_state)(unsigned long);
    void (*cond_synchronize)(unsigned long);
    uint64_t rtrcu_stats::*completed;
};

const Kind kinds[] = {
    {"normal", synchronize_rcu, get_state_synchronize_rcu, start_poll_synchronize_rcu, poll_state_synchronize_rcu,
     cond_synchronize_rcu, &rtrcu_stats::gp_completed},
    {"expedited", synchronize_rcu_expedited, get_state_synchronize_rcu_expedited, start_poll_synchronize_rcu_expedited,
     poll_state_synchronize_rcu_expedited, cond_synchronize_rcu_expedited, &rtrcu_stats::exp_completed},
};

class Synchronize : public testing::TestWithParam<Kind>
{
  protected:
    const Kind &kind_ = GetParam();

    uint64_t completed() const
    {
        struct rtrcu_stats all = test::stats();
        return all.*kind_.completed;
    }
};

TEST_P(Synchronize, SynchronizeReturnsWithoutReaders)
{
    uint64_t before = completed();
    kind_.synchronize();
    EXPECT_EQ(completed(), before + 1);
}

/* A grace period that is found busy shows that the waiter waits. */
TEST_P(Synchronize, SynchronizeWaitsForEarlierSections)
{
    test::Worker reader, updater;
    reader.run([] { rcu_read_lock(); });
    uint64_t before = completed(), slept = test::stats().gp_slept;
    updater.start([&] { kind_.synchronize(); });
    if (kind_.completed == &rtrcu_stats::gp_completed) {
        ASSERT_TRUE(test::eventually([&] { return test::stats().gp_slept > slept; }));
    }
    EXPECT_FALSE(updater.is_done());
    EXPECT_EQ(completed(), before);
    reader.run([] { rcu_read_unlock(); });
    updater.wait();
    EXPECT_EQ(completed(), before + 1);
}

TEST_P(Synchronize, CookieIsReachedAfterAFullGracePeriod)
{
    unsigned long first = kind_.get_state();
    EXPECT_FALSE(kind_.poll_state(first));
    EXPECT_EQ(kind_.get_state(), first) << "no grace period ended in between";
    kind_.synchronize();
    EXPECT_TRUE(kind_.poll_state(first));
    unsigned long second = kind_.get_state();
    EXPECT_FALSE(kind_.poll_state(second));
    kind_.cond_synchronize(second);
    EXPECT_TRUE(kind_.poll_state(second));
    uint64_t before = completed();
    kind_.cond_synchronize(first);
    kind_.cond_synchronize(second);
    EXPECT_EQ(completed(), before) << "the cookies are reached, so there is nothing to wait for";
}

TEST_P(Synchronize, PolledGracePeriodNeedsNoWaiter)
{
    for (int i = 0; i < 20; i++) {
        unsigned long cookie = kind_.start_poll();
        ASSERT_TRUE(test::eventually([&] { return kind_.poll_state(cookie); }));
    }
}

TEST_P(Synchronize, PolledGracePeriodWaitsForReaders)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    uint64_t busy = test::stats().gp_busy;
    unsigned long cookie = kind_.start_poll();
    if (kind_.completed == &rtrcu_stats::gp_completed) {
        ASSERT_TRUE(test::eventually([&] { return test::stats().gp_busy > busy; }));
    }
    EXPECT_FALSE(kind_.poll_state(cookie));
    reader.run([] { rcu_read_unlock(); });
    ASSERT_TRUE(test::eventually([&] { return kind_.poll_state(cookie); }));
}

TEST_P(Synchronize, QuiescentStateThreadIsOfflineWhileItWaits)
{
    test::Worker one, two;
    std::atomic<int> done{0};
    for (auto *worker : {&one, &two})
        worker->run([] { ASSERT_EQ(rcu_register_thread_qsbr(), 0); });
    /* if both threads stayed online, each would wait for the other for ever */
    for (auto *worker : {&one, &two}) {
        worker->start([&] {
            for (int i = 0; i < 50; i++) {
                kind_.synchronize();
                kind_.cond_synchronize(kind_.get_state());
                EXPECT_TRUE(rcu_read_lock_held()) << "the thread is online again";
            }
            rcu_thread_offline();
            done++;
        });
    }
    one.wait();
    two.wait();
    EXPECT_EQ(done, 2);
}

TEST_P(Synchronize, ReadersSeeNoFreedObjectDuringManyUpdates)
{
    test::Replaced shared;
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; i++) {
        readers.emplace_back([&] {
            while (!stop) {
                rcu_read_lock();
                test::Replaced::Seen seen = shared.see();
                rcu_read_lock();
                shared.look();
                rcu_read_unlock();
                shared.check(seen);
                rcu_read_unlock();
            }
        });
    }
    for (int threads : {1, 2, 8, 64}) {
        std::vector<std::thread> updaters;
        for (int i = 0; i < threads; i++) {
            updaters.emplace_back(
                [&] { EXPECT_TRUE(shared.replace_until_spanned(128 / threads, 10, kind_.synchronize)); });
        }
        for (auto &thread : updaters)
            thread.join();
    }
    stop = true;
    for (auto &thread : readers)
        thread.join();
    EXPECT_EQ(shared.bad(), 0);
}

/* Threads that wait at the same time share grace periods: two grace periods are enough for all of them. */
TEST_P(Synchronize, ConcurrentWaitersShareGracePeriods)
{
    constexpr int threads = 32;
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    uint64_t before = completed();
    std::atomic<int> waiting{0};
    std::vector<std::thread> all;
    std::vector<unsigned long> cookies(threads);
    for (int i = 0; i < threads; i++) {
        all.emplace_back([&, i] {
            cookies[static_cast<size_t>(i)] = kind_.get_state();
            waiting++;
            kind_.cond_synchronize(cookies[static_cast<size_t>(i)]);
        });
    }
    ASSERT_TRUE(test::eventually([&] { return waiting == threads; }));
    reader.run([] { rcu_read_unlock(); });
    for (auto &thread : all)
        thread.join();
    EXPECT_LE(completed() - before, 2u);
    EXPECT_GE(completed() - before, 1u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Synchronize, testing::ValuesIn(kinds),
                         [](const auto &kind) { return kind.param.name; });

TEST(SynchronizeConfig, SettingsMakeCallsUseTheOtherKindOfGracePeriod)
{
    struct rtrcu_config before, config;
    rtrcu_config_get(&before);
    config = before;
    config.normal = 1;
    ASSERT_EQ(rtrcu_configure(&config), 0);
    uint64_t completed = test::stats().gp_completed, expedited = test::stats().exp_completed;
    synchronize_rcu_expedited();
    EXPECT_EQ(test::stats().exp_completed, expedited);
    EXPECT_EQ(test::stats().gp_completed, completed + 1);
    config.normal = 0;
    config.expedited = 1;
    ASSERT_EQ(rtrcu_configure(&config), 0);
    synchronize_rcu();
    EXPECT_EQ(test::stats().exp_completed, expedited + 1);
    EXPECT_EQ(rtrcu_configure(&before), 0);
}

/* A caller advances the grace period itself if the gp lock is free. */
CHILD(callers_advance)
{
    for (int i = 0; i < 10; i++)
        synchronize_rcu();
    REQUIRE(test::stats().gp_by_caller == 10);
    REQUIRE(test::stats().driver_passes == 0); /* no driver was needed */
}

TEST(SynchronizeChild, CallersAdvanceTheGracePeriod)
{
    EXPECT_TRUE(exited_well(test::run_child("callers_advance")));
}

/* A signal handler stops a caller that waits for a reader.  Another waiter does not depend on it. */
test::Steps kept, released;

void keep(int)
{
    if (rtrcu_self.locks_held != 0)
        return; /* the caller is in the middle of a step, which no other thread can end; the signal is sent again */
    kept.reach(1);
    released.wait(1);
}

TEST(SynchronizeHelp, WaiterAdvancesTheGracePeriodOfAStoppedWaiter)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the race detector delays signals while a thread waits in a system call";
    struct sigaction action = {};
    action.sa_handler = keep;
    ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    test::Worker reader, other;
    reader.run([] { rcu_read_lock(); });
    uint64_t slept = test::stats().gp_slept;
    std::thread first(synchronize_rcu);
    ASSERT_TRUE(test::eventually([&] { return test::stats().gp_slept > slept; }));
    ASSERT_TRUE(test::eventually([&] {
        pthread_kill(first.native_handle(), SIGUSR1);
        return kept.at() == 1;
    }));
    other.start(synchronize_rcu);
    reader.run([] { rcu_read_unlock(); });
    EXPECT_TRUE(test::eventually([&] { return other.is_done(); }));
    released.reach(1);
    first.join();
    other.wait();
}

} // namespace
