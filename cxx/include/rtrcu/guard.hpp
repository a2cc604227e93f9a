// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu::guard: a read-side critical section as a scope.
#ifndef RTRCU_GUARD_HPP
#define RTRCU_GUARD_HPP

#include <rtrcu/rcu.h>

namespace rtrcu
{

// Begins a section, and ends it with the scope.  May live across a suspension if the task is parked and resumed (see
// coroutine.hpp and boost_fiber.hpp); it ends on whatever thread the scope ends.
class guard
{
  public:
    guard() noexcept
    {
        rcu_read_lock();
    }
    ~guard()
    {
        rcu_read_unlock();
    }
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;
};

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
        rcu_task_park(&state_);
    }
    void resume() noexcept
    {
        rcu_task_resume(&state_);
    }
    bool blocking() const noexcept
    {
        return rcu_task_blocking(&state_);
    }

  private:
    struct rcu_task state_;
};

} // namespace rtrcu

#endif
