// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu::guard: a read-side critical section as a scope.
#ifndef RTRCU_GUARD_HPP
#define RTRCU_GUARD_HPP

#include <rtrcu/rcu.h>

namespace rtrcu
{

template <typename Awaited> class parking_awaiter;

// The part of a task that its scheduler looks after.
class task
{
  public:
    explicit task(const char *name = nullptr) noexcept
    {
        rcu_task_init(&state_, name);
    }
    ~task()
    {
        rcu_task_exit(&state_);
    }
    task(const task &) = delete;
    task &operator=(const task &) = delete;

    void park() noexcept
    {
        parked_ = true; // first: afterwards another thread may own this
        rcu_task_park(&state_);
    }
    void resume() noexcept
    {
        rcu_task_resume(&state_);
        parked_ = false;
    }
    bool is_parked() const noexcept
    {
        return parked_;
    }
    bool blocking() const noexcept
    {
        return rcu_task_blocking(&state_);
    }

  private:
    friend class guard;
    template <typename Awaited> friend class parking_awaiter;

    // The task is known to run on a thread while it has guards of its own: outside them it may move unseen.
    void enter() noexcept
    {
        if (guards_++ == 0)
            resume();
        rcu_read_lock();
    }
    void leave() noexcept
    {
        if (parked_)
            resume(); // destroyed while it is suspended, by whatever thread
        rcu_read_unlock();
        if (--guards_ == 0)
            park();
    }

    struct rcu_task state_;
    unsigned guards_ = 0;
    bool parked_ = false;
};

// Begins a section, and ends it with the scope, on whatever thread that is.
class guard
{
  public:
    guard() noexcept
    {
        rcu_read_lock();
    }
    // The section is @owner's: it may live across a suspension that parks the task (see coroutine.hpp).
    explicit guard(task &owner) noexcept : owner_(&owner)
    {
        owner.enter();
    }
    ~guard()
    {
        if (owner_)
            owner_->leave();
        else
            rcu_read_unlock();
    }
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;

  private:
    task *owner_ = nullptr;
};

} // namespace rtrcu

#endif
