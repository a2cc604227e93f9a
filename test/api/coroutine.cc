/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* C++20 coroutines on a pool of threads: each holds its section across co_await and ends it wherever it goes on.
 */
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <rtrcu/coroutine.hpp>

#include "../support/sync.h"
#include "child.h"
#include "moving.h"

namespace
{

/* A coroutine that nobody waits for; its frame goes when it ends. */
struct Job {
    struct promise_type {
        Job get_return_object() noexcept
        {
            return {};
        }
        std::suspend_never initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_never final_suspend() noexcept
        {
            return {};
        }
        void return_void() noexcept
        {
        }
        void unhandled_exception() noexcept
        {
            std::terminate();
        }
    };
};

/* Threads that resume whatever coroutine is next. */
class Pool
{
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::coroutine_handle<>> queue_;
    bool stop_ = false;
    std::vector<std::thread> threads_;

    std::coroutine_handle<> next()
    {
        std::unique_lock hold(lock_);
        changed_.wait(hold, [this] { return stop_ || !queue_.empty(); });
        if (queue_.empty())
            return {};
        auto handle = queue_.front();
        queue_.pop_front();
        return handle;
    }

  public:
    explicit Pool(int threads)
    {
        for (int i = 0; i < threads; i++) {
            threads_.emplace_back([this] {
                while (auto handle = next()) {
                    handle.resume();
                    EXPECT_FALSE(rcu_read_lock_held()) << "a coroutine has left its section on the thread";
                }
            });
        }
    }
    ~Pool()
    {
        {
            std::lock_guard hold(lock_);
            stop_ = true;
        }
        changed_.notify_all();
        for (auto &thread : threads_)
            thread.join();
    }
    /* co_await it to go on in the pool. */
    auto schedule()
    {
        struct Awaiter {
            Pool &pool;
            bool await_ready() const noexcept
            {
                return false;
            }
            void await_suspend(std::coroutine_handle<> handle) const
            {
                std::lock_guard hold(pool.lock_);
                pool.queue_.push_back(handle);
                pool.changed_.notify_one();
            }
            void await_resume() const noexcept
            {
            }
        };
        return Awaiter{*this};
    }
};

using moving::Shared;

Job read_and_move(Pool &pool, Shared &shared)
{
    rtrcu::task task("coroutine");
    co_await pool.schedule();
    while (!shared.stop) {
        rtrcu::guard section;
        auto seen = shared.see();
        auto began = std::this_thread::get_id();
        co_await rtrcu::parking(task, pool.schedule());
        shared.moved += began != std::this_thread::get_id();
        shared.check(seen);
        shared.bad_sections += !rcu_read_lock_held();
    }
    shared.running--;
}

TEST(Coroutine, HoldsItsSectionOnWhateverThread)
{
    Shared shared;
    {
        Pool pool(3);
        for (shared.running = 0; shared.running < 16; shared.running++)
            read_and_move(pool, shared);
        EXPECT_TRUE(moving::replace_until_moved(shared, 100));
        EXPECT_TRUE(test::eventually([&] { return shared.running == 0; }));
    }
    EXPECT_EQ(shared.bad(), 0);
    EXPECT_EQ(shared.bad_sections, 0);
}

/* An awaiter that does not suspend, before or after it is asked to. */
struct Immediate {
    bool ready;
    bool await_ready() const noexcept
    {
        return ready;
    }
    bool await_suspend(std::coroutine_handle<>) const noexcept
    {
        return false;
    }
    int await_resume() const noexcept
    {
        return 42;
    }
};

Job read_without_suspension(bool &held, int &value)
{
    rtrcu::task task("immediate");
    rtrcu::guard section;
    for (bool ready : {true, false})
        value += co_await rtrcu::parking(task, Immediate{ready});
    held = rcu_read_lock_held();
}

TEST(Coroutine, GoesOnInItsSectionWhereNothingSuspends)
{
    bool held = false;
    int value = 0;
    read_without_suspension(held, value);
    EXPECT_TRUE(held);
    EXPECT_EQ(value, 84);
    EXPECT_FALSE(rcu_read_lock_held());
    synchronize_rcu();
}

} // namespace
