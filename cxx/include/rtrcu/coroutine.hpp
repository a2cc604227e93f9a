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
// The argument itself is awaited, by reference: it may be a variable or a temporary, need not be movable, and may have
// an operator co_await; the coroutine's promise gets it in await_transform.  Call both functions inside a co_await:
// their result refers to their argument.
//
// Any other co_await inside a section leaves the section open on the wrong thread, unless the section is listed.
#ifndef RTRCU_COROUTINE_HPP
#define RTRCU_COROUTINE_HPP

#ifndef __cpp_impl_coroutine
#error "<rtrcu/coroutine.hpp> needs the coroutines of C++20: compile with -std=c++20"
#endif

#include <coroutine>
#include <type_traits>

#include <rtrcu/guard.hpp>

namespace rtrcu
{

namespace detail
{

// The result type of parking() and across(), which co_await receives: a reference to their argument.
template <typename Awaited> struct handed_on {
    using type = Awaited &&;
};
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
// gcc 12 copies an awaiter that a function returns by reference; gcc 13 does not.  So an argument that is itself an
// awaiter for every type of coroutine is wrapped in an awaiter that refers to it.  The promise gets the wrapper.
template <typename Awaiter> struct referring {
    Awaiter &to;

    referring(Awaiter &awaiter) noexcept : to(awaiter)
    {
    }
    bool await_ready() noexcept(noexcept(to.await_ready()))
    {
        return to.await_ready();
    }
    template <typename Promise>
    auto await_suspend(std::coroutine_handle<Promise> handle) noexcept(noexcept(to.await_suspend(handle)))
    {
        return to.await_suspend(handle);
    }
    decltype(auto) await_resume() noexcept(noexcept(to.await_resume()))
    {
        return to.await_resume();
    }
};
template <typename Awaited>
requires requires(Awaited &awaiter)
{
    awaiter.await_ready();
    awaiter.await_suspend(std::coroutine_handle<>());
}
struct handed_on<Awaited> {
    using type = referring<std::remove_reference_t<Awaited>>;
};
#endif
template <typename Awaited> using handed_on_t = typename handed_on<Awaited>::type;

} // namespace detail

// Parks a task during the lifetime of this object, if the task has guards.  If it has none, nothing is parked: open
// sections then belong to the thread.
class parked
{
  public:
    parked() noexcept = default;
    explicit parked(task &owner) noexcept
    {
        begin(owner);
    }
    // Called when the full expression of the co_await ends, normally or by an exception; or when the coroutine is
    // destroyed.
    ~parked()
    {
        if (owner_ && owner_->parked_)
            owner_->resume();
    }
    parked(const parked &) = delete;
    parked &operator=(const parked &) = delete;

    void begin(task &owner) noexcept
    {
        if (owner.guards_ == 0 || owner.parked_)
            return;
        owner_ = &owner;
        owner.park();
    }

  private:
    task *owner_ = nullptr;
};

// co_await rtrcu::parking(task, x) awaits x; guards of the task may be alive meanwhile.  The task's sections are parked
// before x can resume the coroutine on another thread.  They are resumed on the coroutine's thread when the full
// expression ends: @until_then is a temporary of that expression.
template <typename Awaited>
[[nodiscard]] detail::handed_on_t<Awaited> parking(task &owner, Awaited &&awaited RTRCU_DETAIL_BOUND,
                                                   parked &&until_then = parked())
{
    until_then.begin(owner);
    return static_cast<detail::handed_on_t<Awaited>>(awaited);
}

// A read-side critical section of a coroutine, on whichever thread the coroutine runs.  Until the section is listed, it
// costs as much as a guard; a listed section belongs to no thread.  @name appears in reports; only the pointer is kept.
class section
{
  public:
    using rtrcu_is_section = void;

    explicit section(const char *name = nullptr) noexcept
    {
        rcu_task_init(&state_, name);
        detail::section_begin();
    }
    ~section()
    {
        if (listed_)
            rcu_task_unlist(&state_);
        else
            detail::section_end();
    }
    section(const section &) = delete;
    section &operator=(const section &) = delete;

    // List the section: from now on the coroutine may use any co_await inside it.
    void list() noexcept
    {
        if (!listed_)
            rcu_task_list(&state_);
        listed_ = true;
    }
    // co_await section.across(x) lists the section, then awaits x inside it.
    template <typename Awaited>
    [[nodiscard]] detail::handed_on_t<Awaited> across(Awaited &&awaited RTRCU_DETAIL_BOUND) noexcept
    {
        list();
        return static_cast<detail::handed_on_t<Awaited>>(awaited);
    }

  private:
    struct rcu_task state_;
    bool listed_ = false;
};

} // namespace rtrcu

#endif
