/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A server of callbacks, and forks beside it.
 */
#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <pthread.h>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "../../support/variant.h"
#include "world.h"

namespace
{

class Server : public AdoptWorld
{
  protected:
    static inline adopt_server *server_;
    static inline std::atomic<int> ran_;
    static inline std::atomic<uint32_t> seen_serving_, seen_sleeping_;
    rcu_head head_ = {};

    static void note(rcu_head *)
    {
        seen_serving_ = rtrcu_load_acquire(&server_->serving);
        seen_sleeping_ = rtrcu_load_acquire(&server_->sleeping);
        ran_++;
    }
    /* Queued, and its thread does not wait for others to come. */
    void call()
    {
        urcu_server_call(server_, &head_, note);
        (void)urcu_server_urge(server_);
    }
    /* It rests without being idle or waiting for more: it has gathered what there is. */
    static bool is_held_off()
    {
        return cbqueue_inbox_is_empty(&server_->queue) && rtrcu_load_acquire(&server_->sleeping) == URCU_AWAKE &&
               test::is_asleep(static_cast<pid_t>(plat_thread_tid(&server_->thread).number));
    }
};

TEST_F(Server, WhomAForkHeldOffIsAtWorkForTheNext)
{
    config_.fork_wait_us = INT64_C(3600000000);
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    server_ = urcu_server_create(adopted, 0, -1);
    ASSERT_NE(server_, nullptr);
    ran_ = 0;
    for (int i = 1; i <= 20; i++) {
        urcu_pause(&all_);
        call();
        EXPECT_TRUE(test::eventually(is_held_off));
        EXPECT_EQ(ran_, i - 1);
        EXPECT_EQ(rtrcu_load_acquire(&server_->serving), 0u);
        urcu_resume(&all_);
        EXPECT_TRUE(test::eventually([&] { return ran_ == i; }));
        EXPECT_EQ(seen_serving_, 1u) << "a fork would not wait for it";
    }
    urcu_server_free(adopted, server_);
}

/* Who frees it runs what it has left. */
TEST_F(Server, WhoIsStoppedGetsNoThread)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopt_server *server = &adopted->ordinary;
    server->stop = 1;
    EXPECT_TRUE(urcu_server_start(server));
    EXPECT_EQ(rtrcu_load_acquire(&server->state), static_cast<uint32_t>(WORK_NONE));
    server->stop = 0;
}

/* Nobody wakes it then in vain.  It finds so many that it does not wait for more. */
TEST_F(Server, WhoRunsCallbacksIsAwake)
{
    config_.qhimark = 1;
    config_.tick_us = INT64_C(3600000000);
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    server_ = urcu_server_create(adopted, 0, -1);
    ASSERT_NE(server_, nullptr);
    ran_ = 0;
    EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&server_->sleeping) == URCU_ASLEEP; }));
    urcu_server_call(server_, &head_, note);
    EXPECT_TRUE(test::eventually([&] { return ran_ == 1; }));
    EXPECT_EQ(seen_sleeping_, static_cast<uint32_t>(URCU_AWAKE));
    urcu_server_free(adopted, server_);
}

TEST_F(Server, WhatOneThatWasFreedHasRunIsCountedStill)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    server_ = urcu_server_create(adopted, 0, -1);
    ASSERT_NE(server_, nullptr);
    ran_ = 0;
    call();
    EXPECT_TRUE(test::eventually([&] { return ran_ == 1; }));
    urcu_server_free(adopted, server_);
    struct rtrcu_stats stats = {};
    urcu_stats(adopted, &stats);
    EXPECT_EQ(stats.callbacks_queued, 1u);
    EXPECT_EQ(stats.callbacks_invoked, 1u);
}

/* Who queues to a real-time one makes no system call: it looks by itself. */
TEST_F(Server, ARealTimeOneIsNotWokenByWhoQueues)
{
    for (bool real_time : {true, false}) {
        adopt_server *server = &adopt(RTRCU_ADOPT_MEMB)->ordinary;
        server->state = WORK_RUNNING; /* its thread is the test */
        server->sleeping = URCU_ASLEEP;
        server->real_time = real_time;
        uint32_t event = server->event;
        urcu_server_call(server, &head_, note);
        EXPECT_EQ(server->event, event + (real_time ? 0 : 1));
        cbqueue_init(&server->queue);
    }
}

/* Its callbacks are sections, as those of an online thread are; between them nobody waits for it. */
TEST_F(Server, IsOnlineInsideCallbacksAlone)
{
    for (uint32_t kind : {RTRCU_ADOPT_QSBR, RTRCU_ADOPT_MEMB}) {
        static rtrcu_adopted_reader *reader;
        static uint64_t inside;
        rtrcu_adopted *adopted = adopt(kind);
        server_ = urcu_server_create(adopted, 0, -1);
        ASSERT_NE(server_, nullptr);
        ran_ = 0;
        urcu_server_call(server_, &head_, [](rcu_head *) {
            reader = urcu_self(server_->adopted);
            inside = rtrcu_load_relaxed(&reader->word);
            ran_++;
        });
        (void)urcu_server_urge(server_);
        EXPECT_TRUE(test::eventually([&] { return ran_ == 1; }));
        EXPECT_EQ(inside != 0, kind == RTRCU_ADOPT_QSBR) << kind;
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&reader->word) == 0; })) << kind;
        urcu_server_free(adopted, server_);
    }
}

/* The default server, which slept or had no thread yet, runs what one that is freed leaves behind. */
TEST_F(Server, WhoInheritsCallbacksIsWoken)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    server_ = urcu_server_create(adopted, 0, -1);
    ASSERT_NE(server_, nullptr);
    rtrcu_exchange(&server_->stop, 1);
    (void)urcu_server_urge(server_);
    ASSERT_TRUE(test::eventually([] { return rtrcu_load_acquire(&server_->ended) != 0; }));
    ran_ = 0;
    head_.func = [](rcu_head *) { ran_++; };
    (void)cbqueue_push(&server_->queue, &head_, CB_ANYBODY);
    urcu_server_free(adopted, server_);
    EXPECT_TRUE(test::eventually([] { return ran_ == 1; }));
    end_ordinary(adopted);
}

/* Callers who let a server catch up; its thread is the test. */
class Blocked : public AdoptWorld
{
    static constexpr size_t limit_ = 63;
    std::vector<rcu_head> heads_;
    adopt_server *server_ = nullptr;

  protected:
    rtrcu_adopted *adopted_ = nullptr;
    test::Worker caller_;

    void SetUp() override
    {
        AdoptWorld::SetUp();
        config_.qmax = limit_;
        config_.backpressure = RTRCU_BACKPRESSURE_BLOCK;
        adopted_ = adopt(RTRCU_ADOPT_MEMB);
        server_ = &adopted_->ordinary;
        server_->state = WORK_RUNNING;
        heads_.resize(limit_ + 1);
    }
    /* The last one looks at the limits. */
    void call()
    {
        cbqueue_init(&server_->queue);
        rtrcu_store_relaxed(&server_->invoked, 0);
        caller_.start([&] {
            for (rcu_head &head : heads_)
                urcu_server_call(server_, &head, [](rcu_head *) {});
        });
    }
    /* One callback more is over; the backlog is at the limit still. */
    void move_on()
    {
        rtrcu_store_release(&server_->invoked, uint64_t{1});
    }
    uint64_t &server_invoked()
    {
        return server_->invoked;
    }
    void catch_up()
    {
        rtrcu_store_release(&server_->invoked, uint64_t{limit_ + 1});
    }
    uint64_t blocked() const
    {
        return rtrcu_load_acquire(&adopted_->blocked);
    }
};

/* One that is not looked at for a tenth of a second stands still: on a busy machine that may happen, not each time. */
TEST_F(Blocked, WhoHasWaitedIsNotAboveTheLimit)
{
    bool waited = false;
    for (uint64_t i = 1; i <= 100 && !waited; i++) {
        uint64_t before = adopted_->over_qmax;
        call();
        EXPECT_TRUE(test::eventually([&] { return blocked() == i; }));
        catch_up();
        caller_.wait();
        waited = adopted_->over_qmax == before;
    }
    EXPECT_TRUE(waited);
}

TEST_F(Blocked, BelowTheLimitNobodyIsCounted)
{
    config_.qmax = 1000;
    call();
    caller_.wait();
    EXPECT_EQ(blocked(), 0u);
    EXPECT_EQ(adopted_->over_qmax, 0u);
}

TEST_F(Blocked, NobodyWaitsForAServerThatStandsStill)
{
    call();
    caller_.wait(); /* though nothing is ever run */
    EXPECT_EQ(blocked(), 1u);
    EXPECT_EQ(adopted_->over_qmax, 1u);
}

TEST_F(Blocked, AServerThatMovesOnceIsGivenUpAllTheSame)
{
    call();
    EXPECT_TRUE(test::eventually([&] { return blocked() == 1; }));
    move_on();
    EXPECT_TRUE(test::eventually([&] { return caller_.is_done(); }));
    catch_up(); /* ends a wait that has no end */
    caller_.wait();
    EXPECT_EQ(adopted_->over_qmax, 1u);
}

/* A server that moves again and again is waited for longer than one that stands still: on a busy machine it may seem to
 * stand, not each time. */
TEST_F(Blocked, WhoMovesIsWaitedForAnew)
{
    bool waited = false;
    for (uint64_t i = 1; i <= 30 && !waited; i++) {
        call();
        EXPECT_TRUE(test::eventually([&] { return blocked() == i; }));
        int64_t began_ns = plat_clock_now();
        for (uint64_t move = 0; !caller_.is_done() && !waited; move++) {
            rtrcu_store_release(&server_invoked(), move & 1);
            waited = plat_clock_now() - began_ns > int64_t{3} * WORK_PATIENCE_NS;
        }
        waited &= !caller_.is_done();
        catch_up();
        caller_.wait();
    }
    EXPECT_TRUE(waited);
}

int nice_now()
{
    return getpriority(PRIO_PROCESS, 0);
}

std::vector<int> nices;
std::vector<uint64_t> lifts;

/* Above others while the backlog is at qmax, as far as it may be; then as before. */
TEST_F(Server, AFloodLiftsItsThreadUntilItIsOver)
{
    constexpr size_t count = 200;
    bool may_lift = false;
    std::thread([&] { may_lift = plat_sched_set(0, WORK_LIFTED_NICE) == 0; }).join();
    config_.qmax = 100;
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    server_ = urcu_server_create(adopted, 0, -1);
    ASSERT_NE(server_, nullptr);
    ran_ = 0;
    nices.clear();
    lifts.clear();
    std::vector<rcu_head> heads(count);
    urcu_pause(&all_);
    for (rcu_head &head : heads) {
        urcu_server_call(server_, &head, [](rcu_head *) {
            nices.push_back(nice_now());
            lifts.push_back(rtrcu_load_acquire(&server_->adopted->lifts));
            ran_++;
        });
    }
    urcu_resume(&all_);
    EXPECT_TRUE(test::eventually([&] { return ran_ == int{count}; }));
    urcu_server_free(adopted, server_);
    ASSERT_EQ(nices.size(), count);
    EXPECT_EQ(nices.front(), may_lift ? WORK_LIFTED_NICE : nice_now());
    EXPECT_EQ(nices.back(), nice_now());
    EXPECT_EQ(lifts.front(), 1u);
    EXPECT_EQ(lifts.back(), 1u);
}

/* ---- the end of its thread, whose destructors are the program's ---- */

class ServerEnds : public Server
{
  protected:
    static inline rtrcu_adopted *adopted_;
    static inline pthread_key_t key_;
    static inline std::atomic<bool> entered_, may_go_, returned_;
    static inline rcu_head behind_;

    /* A server whose thread has run a callback that leaves @destroy to be done. */
    void start(uint32_t kind, void (*destroy)(void *))
    {
        adopted_ = adopt(kind);
        entered_ = may_go_ = returned_ = false;
        ran_ = 0;
        ASSERT_NO_FATAL_FAILURE(make_key(destroy));
        server_ = urcu_server_create(adopted_, 0, -1);
        ASSERT_NE(server_, nullptr);
        urcu_server_call(server_, &head_, [](rcu_head *) {
            (void)pthread_setspecific(key_, &key_);
            ran_++;
        });
        (void)urcu_server_urge(server_);
        EXPECT_TRUE(test::eventually([&] { return ran_ == 1; }));
    }
    void make_key(void (*destroy)(void *))
    {
        TearDown();
        has_key_ = pthread_key_create(&key_, destroy) == 0;
        ASSERT_TRUE(has_key_);
    }
    void TearDown() override
    {
        if (has_key_)
            pthread_key_delete(key_);
        has_key_ = false;
    }

  private:
    bool has_key_ = false;
};

TEST_F(ServerEnds, ADestructorMayWaitForCallbacks)
{
    for (uint32_t kind : {RTRCU_ADOPT_MEMB, RTRCU_ADOPT_BP}) {
        ASSERT_NO_FATAL_FAILURE(start(kind, [](void *) {
            urcu_call(adopted_, &behind_, [](rcu_head *) { ran_++; });
            urcu_barrier(adopted_);
            returned_ = ran_ == 2;
        }));
        urcu_server_free(adopted_, server_);
        EXPECT_TRUE(returned_) << kind;
        end_ordinary(adopted_);
    }
}

/* Half freed it would be waited for by every barrier that comes. */
TEST_F(ServerEnds, WhoFreesItIsNotCancelledMeanwhile)
{
    static std::atomic<bool> freed;
    static std::atomic<pid_t> freers_id;
    freed = false;
    freers_id = 0;
    ASSERT_NO_FATAL_FAILURE(start(RTRCU_ADOPT_MEMB, [](void *) {
        entered_ = true;
        (void)test::eventually([] { return may_go_.load(); });
    }));
    pthread_t freer;
    const auto free_it = [](void *) -> void * {
        freers_id = gettid();
        urcu_server_free(adopted_, server_);
        freed = true;
        pthread_testcancel();
        return nullptr;
    };
    ASSERT_EQ(pthread_create(&freer, nullptr, free_it, nullptr), 0);
    EXPECT_TRUE(test::eventually([] { return entered_.load() && test::is_asleep(freers_id); })) << "it joins";
    pthread_cancel(freer);
    may_go_ = true;
    void *result = nullptr;
    pthread_join(freer, &result);
    EXPECT_TRUE(freed);
    EXPECT_EQ(result, PTHREAD_CANCELED) << "but behind it";
    EXPECT_EQ(adopted_->servers, &adopted_->ordinary);
}

/* Its stack is given back with it. */
TEST_F(ServerEnds, ItsThreadIsJoined)
{
    if (TEST_ASAN || TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "memory is another's too";
    constexpr int rounds = 60;
    adopted_ = adopt(RTRCU_ADOPT_MEMB);
    const auto mappings = [] {
        std::ifstream maps("/proc/self/maps");
        return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
    };
    const auto make_and_free = [&] {
        server_ = urcu_server_create(adopted_, 0, -1);
        ASSERT_NE(server_, nullptr);
        urcu_server_free(adopted_, server_);
    };
    make_and_free();
    long before = mappings();
    for (int i = 0; i < rounds; i++)
        make_and_free();
    EXPECT_LT(mappings() - before, rounds / 2);
}

} // namespace
