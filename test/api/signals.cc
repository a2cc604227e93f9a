/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of signal handlers that read and queue, at high frequency, in a thread that does the same. */
#include <atomic>
#include <csignal>
#include <ctime>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../support/replaced.h"
#include "../support/sync.h"
#include "child.h"

namespace
{

std::unique_ptr<test::Replaced> shared;
std::atomic<long> handled{0}, bad{0}, queued{0}, runs{0};
std::atomic<bool> handler_queues{false};

/* Heads for the handlers: a handler takes a free one, and its callback returns it. */
struct Head {
    rcu_head head;
    std::atomic<int> taken{0};
};
Head pool[512];

void give_back(rcu_head *head)
{
    runs++;
    reinterpret_cast<Head *>(head)->taken = 0;
}

void queue_one()
{
    static std::atomic<unsigned> next{0};
    Head *head = &pool[next++ % 512];
    int free = 0;
    if (head->taken.compare_exchange_strong(free, 1)) {
        queued++;
        call_rcu(&head->head, give_back);
    }
}

void look()
{
    rcu_read_lock();
    shared->look();
    rcu_read_unlock();
}

void handler(int)
{
    bool held = rcu_read_lock_held();
    look();
    rcu_read_lock();
    look();
    if (handler_queues)
        queue_one();
    rcu_read_unlock();
    bad += rcu_read_lock_held() != held;
    handled++;
}

/* The calling thread receives a signal every 50 us while this object lives. */
class Storm
{
    timer_t timer_;

  public:
    Storm()
    {
        struct sigaction action = {};
        action.sa_handler = handler;
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR1, &action, nullptr);
        struct sigevent event = {};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGUSR1;
        event._sigev_un._tid = gettid();
        timer_create(CLOCK_MONOTONIC, &event, &timer_);
        struct itimerspec period = {{0, 50000}, {0, 50000}};
        timer_settime(timer_, 0, &period, nullptr);
    }
    ~Storm()
    {
        timer_delete(timer_);
        signal(SIGUSR1, SIG_IGN);
    }
    Storm(const Storm &) = delete;
    Storm &operator=(const Storm &) = delete;
};

constexpr long enough = TEST_TSAN || TEST_EMULATED ? 100 : 300;

class Signals : public testing::Test
{
    std::atomic<bool> stop_{false};
    std::thread updater_;

  protected:
    void SetUp() override
    {
        handled = bad = queued = runs = 0;
        shared = std::make_unique<test::Replaced>();
        updater_ = std::thread([this] {
            while (!stop_)
                shared->replace();
        });
    }
    void TearDown() override
    {
        stop_ = true;
        updater_.join();
        rcu_barrier();
        EXPECT_EQ(bad, 0);
        EXPECT_EQ(shared->bad(), 0);
        EXPECT_GT(shared->spanned(), 0);
        EXPECT_EQ(runs, queued);
        EXPECT_GE(handled, enough);
    }
    /* Run @body in a thread of its own until the storm has delivered enough signals. */
    template <typename Body> void under_storm(Body body, unsigned flags, bool queues)
    {
        handler_queues = queues;
        std::thread([&] {
            if (queues || flags) {
                ASSERT_EQ(rtrcu_register_thread(flags), 0);
            }
            {
                Storm storm;
                ASSERT_TRUE(test::eventually([&] {
                    for (int i = 0; i < 20; i++)
                        body();
                    return handled >= enough && shared->spanned() >= 5;
                }));
            }
            if (flags & RTRCU_QSBR)
                rcu_thread_offline();
        }).join();
    }
};

TEST_F(Signals, HandlerAndThreadReadAndQueue)
{
    under_storm(
        [] {
            look();
            queue_one();
        },
        0, true);
}

TEST_F(Signals, HandlerReadsAndQueuesInADeadlineThread)
{
    under_storm(
        [] {
            look();
            queue_one();
            rcu_set_deadline(1);
        },
        RTRCU_DEADLINE, true);
}

TEST_F(Signals, HandlerReadsAndQueuesInAQuiescentStateThread)
{
    under_storm(
        [] {
            look();
            queue_one();
            rcu_quiescent_state();
            rcu_thread_offline();
            rcu_thread_online();
        },
        RTRCU_QSBR, true);
}

/* A handler reads while its thread registers and unregisters repeatedly. */
TEST_F(Signals, HandlerReadsWhileItsThreadRegisters)
{
    under_storm(
        [] {
            look();
            rcu_unregister_thread();
        },
        0, false);
}

TEST_F(Signals, HandlerReadsWhileItsThreadSynchronizes)
{
    under_storm(
        [] {
            synchronize_rcu();
            queue_one();
            cond_synchronize_rcu(get_state_synchronize_rcu());
        },
        0, true);
}

TEST_F(Signals, HandlerReadsWhileItsThreadRunsCallbacks)
{
    struct rtrcu_config saved, config;
    rtrcu_config_get(&saved);
    config = saved;
    config.policy = RTRCU_POLICY_INLINE;
    ASSERT_EQ(rtrcu_configure(&config), 0);
    under_storm(
        [] {
            queue_one();
            rcu_process_callbacks(-1);
            rcu_quiescent_state();
        },
        0, true);
    ASSERT_EQ(rtrcu_configure(&saved), 0);
}

} // namespace
