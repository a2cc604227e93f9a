/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of a server of callbacks: its thread, forks while it runs, callers that wait for it, and its end. */
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
    /* Queue a callback with an urgent request, so that the server does not wait for further ones. */
    void call()
    {
        urcu_server_call(server_, &head_, note);
        (void)urcu_server_urge(server_);
    }
    /* Returns whether the server has collected its callbacks and sleeps because a thread forks. */
    static bool is_held_off()
    {
        return cbqueue_inbox_is_empty(&server_->queue) && rtrcu_load_acquire(&server_->sleeping) == URCU_AWAKE &&
               test::is_asleep(static_cast<pid_t>(plat_thread_tid(&server_->thread).number));
    }
};

TEST_F(Server, ServerDelayedByAForkCountsAsInvokingAtTheNextFork)
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
        EXPECT_EQ(seen_serving_, 1u) << "`serving` must be set, or a fork would not wait for the server";
    }
    urcu_server_free(adopted, server_);
}

/* A stopped server gets no thread: the thread that frees the server runs the remaining callbacks. */
TEST_F(Server, StoppedServerGetsNoThread)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopt_server *server = &adopted->ordinary;
    server->stop = 1;
    EXPECT_TRUE(urcu_server_start(server));
    EXPECT_EQ(rtrcu_load_acquire(&server->state), static_cast<uint32_t>(WORK_NONE));
    server->stop = 0;
}

/* Callers need not wake a server that runs callbacks.  qhimark is 1, so the server does not wait for more callbacks. */
TEST_F(Server, ServerIsAwakeWhileItRunsCallbacks)
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

TEST_F(Server, CallbacksOfAFreedServerStayInTheStatistics)
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

/* A real-time server polls its queue, so callers make no system call to wake the server. */
TEST_F(Server, RealTimeServerIsNotWokenByCallers)
{
    for (bool real_time : {true, false}) {
        adopt_server *server = &adopt(RTRCU_ADOPT_MEMB)->ordinary;
        server->state = WORK_RUNNING; /* without a thread */
        server->sleeping = URCU_ASLEEP;
        server->real_time = real_time;
        uint32_t event = server->event;
        urcu_server_call(server, &head_, note);
        EXPECT_EQ(server->event, event + (real_time ? 0 : 1));
        cbqueue_init(&server->queue);
    }
}

/* The thread of a QSBR server is online inside callbacks, and offline between them. */
TEST_F(Server, ThreadOfAServerIsOnlineOnlyInsideCallbacks)
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

/* The default server inherits the callbacks of a freed server, and is woken or gets its thread. */
TEST_F(Server, ServerThatGetsCallbacksOfAFreedServerIsWoken)
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

/* Callers that wait for a server's backlog to shrink; the test changes the counts as the server would. */
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
    /* Start a thread that queues a backlog at qmax; its last call checks the limits. */
    void call()
    {
        cbqueue_init(&server_->queue);
        rtrcu_store_relaxed(&server_->invoked, 0);
        caller_.start([&] {
            for (rcu_head &head : heads_)
                urcu_server_call(server_, &head, [](rcu_head *) {});
        });
    }
    /* One callback returns; the backlog stays at the limit. */
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

/* A server without progress for a tenth of a second counts as stuck.  On a busy machine the test may be that slow, but
 * not each time. */
TEST_F(Blocked, WaitEndsBelowTheLimit)
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

TEST_F(Blocked, CallerBelowTheLimitDoesNotWait)
{
    config_.qmax = 1000;
    call();
    caller_.wait();
    EXPECT_EQ(blocked(), 0u);
    EXPECT_EQ(adopted_->over_qmax, 0u);
}

TEST_F(Blocked, WaitForAStuckServerEnds)
{
    call();
    caller_.wait(); /* although no callback runs */
    EXPECT_EQ(blocked(), 1u);
    EXPECT_EQ(adopted_->over_qmax, 1u);
}

TEST_F(Blocked, WaitEndsIfProgressStops)
{
    call();
    EXPECT_TRUE(test::eventually([&] { return blocked() == 1; }));
    move_on();
    EXPECT_TRUE(test::eventually([&] { return caller_.is_done(); }));
    catch_up(); /* ends a wait that would otherwise not end */
    caller_.wait();
    EXPECT_EQ(adopted_->over_qmax, 1u);
}

/* The caller waits longer while the server makes progress.  On a busy machine the test may be too slow to make it, but
 * not each time. */
TEST_F(Blocked, ProgressExtendsTheWait)
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

/* While the backlog is at qmax the thread has a better nice value, if that is permitted; afterwards its former one. */
TEST_F(Server, FloodRaisesTheServersThreadUntilItEnds)
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

/* ---- the exit of a server's thread, which runs the program's destructors ---- */

class ServerEnds : public Server
{
  protected:
    static inline rtrcu_adopted *adopted_;
    static inline pthread_key_t key_;
    static inline std::atomic<bool> entered_, may_go_, returned_;
    static inline rcu_head behind_;

    /* A server whose thread has run a callback that sets a thread-specific value with the destructor @destroy. */
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

TEST_F(ServerEnds, DestructorOfAServersThreadMayWaitForCallbacks)
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

/* A cancellation would leave a half-freed server, for which every later barrier would wait. */
TEST_F(ServerEnds, ThreadIsNotCancelledWhileItFreesAServer)
{
    static std::atomic<bool> freed;
    static std::atomic<pid_t> freeing_id;
    freed = false;
    freeing_id = 0;
    const auto free_the_server = [](void *) -> void * {
        freeing_id = gettid();
        urcu_server_free(adopted_, server_);
        freed = true;
        pthread_testcancel();
        return nullptr;
    };
    ASSERT_NO_FATAL_FAILURE(start(RTRCU_ADOPT_MEMB, [](void *) {
        entered_ = true;
        (void)test::eventually([] { return may_go_.load(); });
    }));
    pthread_t freeing;
    ASSERT_EQ(pthread_create(&freeing, nullptr, free_the_server, nullptr), 0);
    EXPECT_TRUE(test::eventually([] { return entered_.load() && test::is_asleep(freeing_id); }))
        << "the freeing thread waits for the server's thread";

    pthread_cancel(freeing);
    may_go_ = true;
    void *result = nullptr;
    pthread_join(freeing, &result);

    EXPECT_TRUE(freed);
    EXPECT_EQ(result, PTHREAD_CANCELED) << "the cancellation takes effect after the server was freed";
    EXPECT_EQ(adopted_->servers, &adopted_->ordinary);
}

/* The thread's stack is unmapped, so the number of mappings does not grow. */
TEST_F(ServerEnds, FreeingAServerJoinsItsThread)
{
    if (TEST_ASAN || TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "the sanitizer or the emulator maps memory too";
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
