/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of C++20 coroutines that hold a section across co_await and end it on any thread. */
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <rtrcu/coroutine.hpp>

#include "../support/coroutine.h"
#include "../support/sync.h"
#include "child.h"
#include "moving.h"

namespace
{

using test::Job;

/* Threads that resume the queued coroutines. */
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
    /* Returns an awaitable that resumes the coroutine on a thread of the pool. */
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
        rtrcu::guard section(task);
        auto seen = shared.see();
        auto began = std::this_thread::get_id();
        co_await rtrcu::parking(task, pool.schedule());
        shared.moved += began != std::this_thread::get_id();
        shared.check(seen);
        shared.bad_sections += !rcu_read_lock_held();
    }
    shared.running--;
}

TEST(Coroutine, KeepsItsSectionOnAnyThread)
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

/* An awaiter that does not suspend: await_ready() returns true, or await_suspend() returns false. */
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
    rtrcu::guard section(task);
    for (bool ready : {true, false})
        value += co_await rtrcu::parking(task, Immediate{ready});
    held = rcu_read_lock_held();
}

TEST(Coroutine, ContinuesInItsSectionIfNothingSuspends)
{
    bool held = false;
    int value = 0;
    read_without_suspension(held, value);
    EXPECT_TRUE(held);
    EXPECT_EQ(value, 84);
    EXPECT_FALSE(rcu_read_lock_held());
    synchronize_rcu();
}

/* Kinds of operands that a program may await: an awaiter by reference, one that cannot be copied, and both kinds of
 * operator co_await. */
struct MoveOnly : Immediate {
    explicit MoveOnly(bool is_ready) : Immediate{is_ready}
    {
    }
    MoveOnly(MoveOnly &&) = default;
    MoveOnly(const MoveOnly &) = delete;
};
struct WithMember {
    MoveOnly operator co_await() const noexcept
    {
        return MoveOnly(false);
    }
};
struct WithFree {
};
Immediate operator co_await(WithFree) noexcept
{
    return {false};
}

Job await_everything(int &value, bool listed)
{
    rtrcu::task task("everything");
    std::optional<rtrcu::guard> guard;
    std::optional<rtrcu::section> section;
    Immediate kept{false};
    MoveOnly pinned(false);
    if (listed) {
        section.emplace();
        value += co_await section->across(kept) + co_await section->across(pinned) +
                 co_await section->across(MoveOnly(false)) + co_await section->across(WithMember()) +
                 co_await section->across(WithFree());
    } else {
        guard.emplace(task);
        value += co_await rtrcu::parking(task, kept) + co_await rtrcu::parking(task, pinned) +
                 co_await rtrcu::parking(task, MoveOnly(false)) + co_await rtrcu::parking(task, WithMember()) +
                 co_await rtrcu::parking(task, WithFree());
    }
}

TEST(Coroutine, AwaitsEveryAwaitable)
{
    for (bool listed : {false, true}) {
        int value = 0;
        await_everything(value, listed);
        EXPECT_EQ(value, 5 * 42);
        EXPECT_FALSE(rcu_read_lock_held());
        synchronize_rcu();
    }
}

struct Throwing {
    bool await_ready() const noexcept
    {
        return false;
    }
    void await_suspend(std::coroutine_handle<>) const
    {
        throw 42;
    }
    void await_resume() const noexcept
    {
    }
};

Job await_what_throws(bool &held, int &caught, bool listed)
{
    rtrcu::task task("throwing");
    std::optional<rtrcu::guard> guard;
    std::optional<rtrcu::section> section;
    if (listed)
        section.emplace();
    else
        guard.emplace(task);
    try {
        if (listed)
            co_await section->across(Throwing());
        else
            co_await rtrcu::parking(task, Throwing());
    } catch (int what) {
        caught = what;
    }
    held = listed || rcu_read_lock_held();
}

TEST(Coroutine, ContinuesInItsSectionIfSuspendingThrows)
{
    for (bool listed : {false, true}) {
        bool held = false;
        int caught = 0;
        await_what_throws(held, caught, listed);
        EXPECT_EQ(caught, 42);
        EXPECT_TRUE(held);
        EXPECT_FALSE(rcu_read_lock_held());
        synchronize_rcu();
    }
}

Job read_and_move_listed(Pool &pool, Shared &shared)
{
    co_await pool.schedule();
    while (!shared.stop) {
        rtrcu::section section("listed");
        auto seen = shared.see();
        auto began = std::this_thread::get_id();
        co_await section.across(pool.schedule());
        {
            rtrcu::guard inner; /* a section of the thread alone */
            shared.bad_sections += !rcu_read_lock_held();
        }
        co_await section.across(pool.schedule());
        shared.moved += began != std::this_thread::get_id();
        shared.check(seen);
        shared.bad_sections += rcu_read_lock_held(); /* the resuming thread itself is outside */
    }
    shared.running--;
}

TEST(Coroutine, ListedSectionProtectsOnAnyThread)
{
    Shared shared;
    {
        Pool pool(3);
        for (shared.running = 0; shared.running < 16; shared.running++)
            read_and_move_listed(pool, shared);
        EXPECT_TRUE(moving::replace_until_moved(shared, 100));
        EXPECT_TRUE(test::eventually([&] { return shared.running == 0; }));
    }
    EXPECT_EQ(shared.bad(), 0);
    EXPECT_EQ(shared.bad_sections, 0);
}

/* An awaitable whose coroutine the test resumes, on any thread. */
struct ByHand {
    std::coroutine_handle<> handle;
    bool await_ready() const noexcept
    {
        return false;
    }
    void await_suspend(std::coroutine_handle<> resumed) noexcept
    {
        handle = resumed;
    }
    void await_resume() const noexcept
    {
    }
};

/* The resuming thread is inside a section of its own. */
TEST(Coroutine, ListedSectionDoesNotAffectTheThreadsOwn)
{
    ByHand kept;
    rcu_read_lock();
    [](ByHand &awaited) -> Job {
        rtrcu::section section("polled");
        co_await section.across(awaited);
    }(kept);
    EXPECT_TRUE(rcu_read_lock_held());
    rcu_read_unlock();
    EXPECT_FALSE(rcu_read_lock_held());
    unsigned long cookie = start_poll_synchronize_rcu();
    std::thread([&] { kept.handle.resume(); }).join();
    cond_synchronize_rcu(cookie);
}

Job section_then_plain(ByHand &first, ByHand &second)
{
    rtrcu::task task("over");
    {
        rtrcu::guard section(task);
        co_await rtrcu::parking(task, first);
    }
    co_await second;
}

/* Another thread, inside a section of its own, destroys the coroutine while it is suspended inside its section. */
TEST(Coroutine, DestroyedCoroutineEndsItsSection)
{
    ByHand first, second;
    section_then_plain(first, second);
    std::thread([&] {
        rcu_read_lock();
        first.handle.destroy();
        EXPECT_TRUE(rcu_read_lock_held());
        rcu_read_unlock();
        EXPECT_FALSE(rcu_read_lock_held());
    }).join();
    EXPECT_FALSE(rcu_read_lock_held());
    synchronize_rcu();
}

/* Destroying a coroutine that is suspended outside its sections does not affect sections of the destroying thread. */
TEST(Coroutine, DestroyedCoroutineWithoutASectionKeepsOtherSectionsOpen)
{
    ByHand first, second;
    section_then_plain(first, second);
    first.handle.resume();
    rcu_read_lock();
    second.handle.destroy();
    EXPECT_TRUE(rcu_read_lock_held());
    unsigned long cookie = start_poll_synchronize_rcu();
    EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
    rcu_read_unlock();
    cond_synchronize_rcu(cookie);
}

Job parking_without_guards(ByHand &first, ByHand &second, bool guarded_before)
{
    rtrcu::task task("unguarded");
    if (guarded_before) {
        rtrcu::guard section(task);
        co_await rtrcu::parking(task, first);
    } else {
        co_await first;
    }
    co_await rtrcu::parking(task, second);
}

/* The resuming thread is inside a section of its own, and the coroutine suspends outside any section. */
TEST(Coroutine, ParkingWithoutAGuardLeavesOtherSectionsAlone)
{
    for (bool guarded_before : {false, true}) {
        ByHand first, second;
        parking_without_guards(first, second, guarded_before);
        rcu_read_lock();
        first.handle.resume();
        EXPECT_TRUE(rcu_read_lock_held());
        std::thread([&] {
            second.handle.resume();
            EXPECT_FALSE(rcu_read_lock_held());
        }).join();
        unsigned long cookie = start_poll_synchronize_rcu();
        EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
        rcu_read_unlock();
        cond_synchronize_rcu(cookie);
    }
}

Job inner(ByHand &pause)
{
    rtrcu::task task("inner");
    rtrcu::guard section(task);
    co_await rtrcu::parking(task, pause);
}

/* A coroutine that runs inside another coroutine's section parks only its own guards. */
TEST(Coroutine, ParksOnlyItsOwnSections)
{
    ByHand pause;
    rtrcu::task task("outer");
    rtrcu::guard section(task);
    inner(pause);
    EXPECT_TRUE(rcu_read_lock_held());
    std::thread([&] { pause.handle.resume(); }).join();
    EXPECT_TRUE(rcu_read_lock_held());
}

} // namespace
