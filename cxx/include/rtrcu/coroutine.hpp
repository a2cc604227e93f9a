// SPDX-License-Identifier: MIT OR Apache-2.0
// C++20 coroutines: co_await that parks the coroutine's section while it is suspended.
#ifndef RTRCU_COROUTINE_HPP
#define RTRCU_COROUTINE_HPP

#include <coroutine>
#include <type_traits>
#include <utility>

#include <rtrcu/guard.hpp>

namespace rtrcu
{

// Awaits @Awaiter and looks after the section: it is parked before the awaiter may resume the coroutine on another
// thread, and goes on where the coroutine goes on.
template <typename Awaiter> class parking_awaiter
{
  public:
    parking_awaiter(task &owner, Awaiter &&inner) : owner_(owner), inner_(std::forward<Awaiter>(inner))
    {
    }

    bool await_ready() noexcept(noexcept(std::declval<Awaiter &>().await_ready()))
    {
        return inner_.await_ready();
    }

    template <typename Promise> auto await_suspend(std::coroutine_handle<Promise> handle)
    {
        parked_ = true; // written before the park: afterwards another thread may own this frame
        owner_.park();
        return inner_.await_suspend(handle);
    }

    decltype(auto) await_resume()
    {
        if (parked_)
            owner_.resume();
        return inner_.await_resume();
    }

  private:
    task &owner_;
    std::remove_reference_t<Awaiter> inner_;
    bool parked_ = false;
};

// co_await rtrcu::parking(task, awaiter): as co_await awaiter, and a guard may be alive across it.
template <typename Awaiter> parking_awaiter<Awaiter> parking(task &owner, Awaiter &&awaiter)
{
    return parking_awaiter<Awaiter>(owner, std::forward<Awaiter>(awaiter));
}

} // namespace rtrcu

#endif
