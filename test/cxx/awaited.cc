// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of awaitables in section::across() and parking(): awaiters that cannot move, promises with await_transform, and
// exceptions.
#include <memory>
#include <optional>
#include <thread>

#include <rtrcu/cell.hpp>
#include <rtrcu/coroutine.hpp>

#include "../api/child.h"
#include "../support/coroutine.h"

namespace
{

using test::Job;

// Suspends until its recorded handle is resumed; checks its address, and counts its objects.
struct Fixed {
    static inline int made = 0, gone = 0;
    std::coroutine_handle<> &noted;
    const Fixed *self = this;

    explicit Fixed(std::coroutine_handle<> &place) : noted(place)
    {
        made++;
    }
    Fixed(const Fixed &) = delete;
    ~Fixed()
    {
        gone++;
    }
    bool await_ready() const noexcept
    {
        return false;
    }
    void await_suspend(std::coroutine_handle<> handle) noexcept
    {
        noted = handle;
    }
    int await_resume() const
    {
        return self == this ? 42 : 0;
    }
};

Job await_fixed(std::coroutine_handle<> &noted, int &value, bool by_task)
{
    rtrcu::task task("fixed");
    std::optional<rtrcu::section> section;
    std::optional<rtrcu::guard> guard;
    if (by_task)
        guard.emplace(task);
    else
        section.emplace();
    value = by_task ? co_await rtrcu::parking(task, Fixed(noted)) : co_await section->across(Fixed(noted));
    EXPECT_EQ(rcu_read_lock_held(), by_task);
}

TEST(Awaited, AwaitableNeedNotBeMovable)
{
    for (bool by_task : {false, true}) {
        std::coroutine_handle<> noted;
        int value = 0;
        Fixed::made = Fixed::gone = 0;
        await_fixed(noted, value, by_task);
        EXPECT_FALSE(rcu_read_lock_held());
        unsigned long cookie = start_poll_synchronize_rcu();
        EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
        std::thread([&] {
            noted.resume();
            EXPECT_FALSE(rcu_read_lock_held());
        }).join();
        EXPECT_EQ(value, 42);
        EXPECT_EQ(Fixed::made, 1);
        EXPECT_EQ(Fixed::gone, 1);
        cond_synchronize_rcu(cookie);
    }
}

// The coroutine is destroyed while it is suspended: first the temporaries of its co_await are destroyed, then its
// sections.
TEST(Awaited, DestroyedCoroutineClosesItsSection)
{
    for (bool by_task : {false, true}) {
        std::coroutine_handle<> noted;
        int value = 0;
        Fixed::made = Fixed::gone = 0;
        await_fixed(noted, value, by_task);
        std::thread([&] {
            noted.destroy();
            EXPECT_FALSE(rcu_read_lock_held());
        }).join();
        EXPECT_EQ(Fixed::gone, 1);
        EXPECT_FALSE(rcu_read_lock_held());
        synchronize_rcu();
    }
}

// A promise with await_transform accepts only this type, which is passed by value and can be moved but not copied.
struct Own {
    explicit Own(int number) : value(std::make_unique<int>(number)) // gcc 12 destroys aggregates twice here
    {
    }
    std::unique_ptr<int> value;
};
struct Picky {
    struct promise_type : Job::promise_type {
        Picky get_return_object() noexcept
        {
            return {};
        }
        struct Awaiter {
            Own own;
            bool await_ready() const noexcept
            {
                return true;
            }
            void await_suspend(std::coroutine_handle<promise_type>) const noexcept
            {
            }
            int await_resume() const noexcept
            {
                return *own.value;
            }
        };
        Awaiter await_transform(Own own) const
        {
            return {std::move(own)};
        }
    };
};

Picky await_own(int &value)
{
    rtrcu::section section;
    value += co_await section.across(Own(40));
    rtrcu::task task("picky");
    rtrcu::guard guard(task);
    value += co_await rtrcu::parking(task, Own(2));
}

TEST(Awaited, AwaitTransformGetsAReferenceToTheArgument)
{
    int value = 0;
    await_own(value);
    EXPECT_EQ(value, 42);
    EXPECT_FALSE(rcu_read_lock_held());
    synchronize_rcu();
}

// After the co_await, in the same full expression, loaded values are still protected, and guards may begin and end.
Job read_in_the_same_expression(rtrcu::cell<int> &cell, std::coroutine_handle<> &noted, int &value)
{
    rtrcu::task task("expression");
    rtrcu::guard guard(task);
    const int *seen = cell.read(guard);
    auto look = [&](int added) {
        rtrcu::guard inner(task);
        return *seen + added;
    };
    value = look(co_await rtrcu::parking(task, Fixed(noted)));
    EXPECT_TRUE(rcu_read_lock_held());
}

TEST(Awaited, AwaitExpressionContinuesInTheSection)
{
    rtrcu::cell<int> cell(std::in_place, 1);
    std::coroutine_handle<> noted;
    int value = 0;
    read_in_the_same_expression(cell, noted, value);
    cell.emplace(2);
    std::thread([&] { noted.resume(); }).join();
    EXPECT_EQ(value, 43);
    rcu_barrier();
}

// Two awaits in one expression: the task is already parked when the inner one suspends.
Job two_in_one_expression(std::coroutine_handle<> &noted, int &value)
{
    rtrcu::task task("two");
    rtrcu::guard guard(task);
    value = co_await rtrcu::parking(task, Fixed(noted)) + co_await rtrcu::parking(task, Fixed(noted));
    EXPECT_TRUE(rcu_read_lock_held());
}

TEST(Awaited, SeveralAwaitsInOneExpressionWork)
{
    std::coroutine_handle<> noted;
    int value = 0;
    two_in_one_expression(noted, value);
    std::thread([&] { noted.resume(); }).join();
    std::thread([&] { noted.resume(); }).join();
    EXPECT_EQ(value, 84);
    synchronize_rcu();
}

// An exception that await_resume() throws is thrown inside the section.  The section continues if the coroutine catches
// the exception in the section's scope, and otherwise ends with that scope.
struct ThrowsLate {
    std::coroutine_handle<> &noted;
    bool await_ready() const noexcept
    {
        return false;
    }
    void await_suspend(std::coroutine_handle<> handle) const noexcept
    {
        noted = handle;
    }
    void await_resume() const
    {
        throw 42;
    }
};
Job catch_late(std::coroutine_handle<> &noted, int &caught, bool &held)
{
    rtrcu::task task("late");
    rtrcu::guard guard(task);
    try {
        co_await rtrcu::parking(task, ThrowsLate{noted});
    } catch (int what) {
        caught = what;
        held = rcu_read_lock_held();
    }
}

TEST(Awaited, ExceptionIsThrownInsideTheSection)
{
    std::coroutine_handle<> noted;
    int caught = 0;
    bool held = false;
    catch_late(noted, caught, held);
    std::thread([&] {
        noted.resume();
        EXPECT_FALSE(rcu_read_lock_held());
    }).join();
    EXPECT_EQ(caught, 42);
    EXPECT_TRUE(held);
    synchronize_rcu();
}

} // namespace
