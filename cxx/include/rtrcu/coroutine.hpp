// SPDX-License-Identifier: MIT OR Apache-2.0
// C++20 coroutines: co_await inside a read-side critical section.
//
//     rtrcu::section section;                          a section that may live across co_await
//     co_await section.across(socket.read(buffer));
//
//     rtrcu::task task;                                or a task, with any number of guards of its own
//     rtrcu::guard guard(task);
//     co_await rtrcu::parking(task, socket.read(buffer));
//
// Any other co_await inside a section leaves the section open on the wrong thread.
#ifndef RTRCU_COROUTINE_HPP
#define RTRCU_COROUTINE_HPP

#include <coroutine>
#include <type_traits>
#include <utility>

#include <rtrcu/guard.hpp>

namespace rtrcu
{

namespace detail
{

// What co_await awaits: the result of an operator co_await if there is one, else the thing itself.
template <typename T> decltype(auto) awaiter_of(T &&awaited)
{
    if constexpr (requires { std::forward<T>(awaited).operator co_await(); })
        return std::forward<T>(awaited).operator co_await();
    else if constexpr (requires { operator co_await(std::forward<T>(awaited)); })
        return operator co_await(std::forward<T>(awaited));
    else
        return std::forward<T>(awaited);
}

// A reference where the program keeps the awaiter, the awaiter itself where it was made for this co_await.
template <typename T>
using awaiter_t = std::conditional_t<std::is_lvalue_reference_v<decltype(awaiter_of(std::declval<T>()))>,
                                     decltype(awaiter_of(std::declval<T>())),
                                     std::remove_cvref_t<decltype(awaiter_of(std::declval<T>()))>>;

} // namespace detail

// Awaits what it was made of, and looks after the task's sections: they are parked before the awaiter may resume the
// coroutine on another thread, and go on where the coroutine goes on.  Without a guard of the task nothing is parked:
// sections that are open then are those of the thread beneath.
template <typename Awaited> class parking_awaiter
{
  public:
    parking_awaiter(task &owner, Awaited &&awaited)
        : owner_(owner), inner_(detail::awaiter_of(std::forward<Awaited>(awaited)))
    {
    }

    bool await_ready() noexcept(noexcept(std::declval<detail::awaiter_t<Awaited> &>().await_ready()))
    {
        return inner_.await_ready();
    }

    // Behind the inner call this frame may be another thread's, unless it throws: then the coroutine goes on here.
    template <typename Promise> auto await_suspend(std::coroutine_handle<Promise> handle)
    {
        parked_ = owner_.guards_ > 0;
        if (parked_)
            owner_.park();
        try {
            return inner_.await_suspend(handle);
        } catch (...) {
            if (parked_)
                owner_.resume();
            parked_ = false;
            throw;
        }
    }

    decltype(auto) await_resume()
    {
        if (parked_)
            owner_.resume();
        return inner_.await_resume();
    }

  private:
    task &owner_;
    detail::awaiter_t<Awaited> inner_;
    bool parked_ = false;
};

// co_await rtrcu::parking(task, x): as co_await x, and guards of @owner may be alive across it, or none.
template <typename Awaited> parking_awaiter<Awaited> parking(task &owner, Awaited &&awaited)
{
    return parking_awaiter<Awaited>(owner, std::forward<Awaited>(awaited));
}

// A read-side critical section of a coroutine, wherever the coroutine runs.  Until its first suspension it costs what a
// guard costs; then it is listed, and touches no thread any more.  @name is kept by reference, for reports.
class section
{
  public:
    explicit section(const char *name = nullptr) noexcept
    {
        rcu_task_init(&state_, name);
        rcu_read_lock();
    }
    ~section()
    {
        if (listed_)
            rcu_task_unlist(&state_);
        else
            rcu_read_unlock();
    }
    section(const section &) = delete;
    section &operator=(const section &) = delete;

    template <typename Awaited> class across_awaiter
    {
      public:
        across_awaiter(section &owner, Awaited &&awaited)
            : owner_(owner), inner_(detail::awaiter_of(std::forward<Awaited>(awaited)))
        {
        }
        bool await_ready() noexcept(noexcept(std::declval<detail::awaiter_t<Awaited> &>().await_ready()))
        {
            return inner_.await_ready();
        }
        template <typename Promise> auto await_suspend(std::coroutine_handle<Promise> handle)
        {
            owner_.list();
            return inner_.await_suspend(handle);
        }
        decltype(auto) await_resume()
        {
            return inner_.await_resume();
        }

      private:
        section &owner_;
        detail::awaiter_t<Awaited> inner_;
    };

    // co_await section.across(x): as co_await x, inside the section.  Every co_await while it lives goes through it.
    template <typename Awaited> across_awaiter<Awaited> across(Awaited &&awaited)
    {
        return across_awaiter<Awaited>(*this, std::forward<Awaited>(awaited));
    }

  private:
    void list() noexcept
    {
        if (!listed_)
            rcu_task_list(&state_);
        listed_ = true;
    }

    struct rcu_task state_;
    bool listed_ = false;
};

} // namespace rtrcu

#endif
