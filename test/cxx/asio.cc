// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of Asio's coroutines, which hold their sections across co_await on a pool of threads.  Their promise accepts
// only certain awaitables, which section::across() and parking() pass on.
#include <atomic>
#include <thread>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>

#include <rtrcu/cell.hpp>
#include <rtrcu/coroutine.hpp>

#include "../api/child.h"
#include "../support/sync.h"

namespace
{

// Detects a read after its destruction.
struct Value {
    std::atomic<unsigned> mark{0x600d};
    ~Value()
    {
        mark = 0xdead;
    }
};

struct Shared {
    rtrcu::cell<Value> cell{std::in_place};
    std::atomic<bool> stop{false};
    std::atomic<int> running{0}, bad{0}, moved{0};
};

asio::awaitable<int> elsewhere()
{
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    co_return 1;
}

asio::awaitable<void> read_listed(Shared &shared)
{
    while (!shared.stop) {
        rtrcu::section section("asio");
        const Value *seen = shared.cell.read(section);
        const auto began = std::this_thread::get_id();
        const int answer = co_await section.across(elsewhere());
        asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::microseconds(10));
        co_await section.across(timer.async_wait(asio::use_awaitable));
        shared.moved += began != std::this_thread::get_id();
        shared.bad += seen->mark != 0x600d || answer != 1;
    }
    shared.running--;
}

asio::awaitable<void> read_parked(Shared &shared)
{
    rtrcu::task task("asio task");
    while (!shared.stop) {
        rtrcu::guard section(task);
        const Value *seen = shared.cell.read(section);
        const auto began = std::this_thread::get_id();
        const int answer = co_await rtrcu::parking(task, elsewhere());
        shared.bad += !rcu_read_lock_held();
        asio::steady_timer timer(co_await rtrcu::parking(task, asio::this_coro::executor),
                                 std::chrono::microseconds(10));
        co_await rtrcu::parking(task, timer.async_wait(asio::use_awaitable));
        shared.moved += began != std::this_thread::get_id();
        shared.bad += seen->mark != 0x600d || answer != 1 || !rcu_read_lock_held();
    }
    shared.running--;
}

TEST(Asio, CoroutinesHoldTheirSectionsAcrossCoAwait)
{
    Shared shared;
    asio::thread_pool pool(3);
    for (shared.running = 0; shared.running < 16; shared.running += 2) {
        asio::co_spawn(pool, read_listed(shared), asio::detached);
        asio::co_spawn(pool, read_parked(shared), asio::detached);
    }
    EXPECT_TRUE(test::eventually([&] {
        shared.cell.emplace();
        return shared.moved > 200;
    }));
    shared.stop = true;
    EXPECT_TRUE(test::eventually([&] { return shared.running == 0; }));
    pool.join();
    EXPECT_EQ(shared.bad, 0);
    rcu_barrier();
}

// A failed operation throws out of the co_await, inside the section.
asio::awaitable<void> cancelled(std::atomic<int> &caught)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));
    rtrcu::section section;
    asio::post(timer.get_executor(), [&timer] { timer.cancel(); });
    try {
        co_await section.across(timer.async_wait(asio::use_awaitable));
    } catch (const std::exception &) {
        caught++;
    }
}

TEST(Asio, ExceptionOfAnAwaitIsThrownInsideTheSection)
{
    std::atomic<int> caught{0};
    asio::thread_pool pool(1);
    asio::co_spawn(pool, cancelled(caught), asio::detached);
    pool.join();
    EXPECT_EQ(caught, 1);
    synchronize_rcu();
}

} // namespace
