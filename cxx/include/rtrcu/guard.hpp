// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu::guard: a read-side critical section as a scope; C++17 and later.
#ifndef RTRCU_GUARD_HPP
#define RTRCU_GUARD_HPP

#include <utility>

#include <rtrcu/detail/library.hpp>
#include <rtrcu/task.h>

namespace rtrcu
{

class parked;

// A task, which its scheduler parks when it leaves a thread, and resumes on the thread where it continues.
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
        parked_ = true; // before the call: after the call another thread may resume this task
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
    friend class parked;

    // Begin a section of a guard.  The task is mounted on a thread only while it has guards, so a task without guards
    // may move to another thread without a call.
    void enter() noexcept
    {
        if (guards_++ == 0 || parked_)
            resume();
        detail::section_begin();
    }
    void leave() noexcept
    {
        if (parked_)
            resume(); // the guard is destroyed while the task is suspended, by any thread
        detail::section_end();
        if (--guards_ == 0)
            park();
    }

    struct rcu_task state_;
    unsigned guards_ = 0;
    bool parked_ = false;
};

// A section that lasts until the end of the scope.  A guard may be moved to another scope of the same thread, or of the
// same task if it has a task; a guard that was moved from holds no section.
class [[nodiscard]] guard
{
  public:
    using rtrcu_is_section = void;

    guard() noexcept
    {
        detail::section_begin();
    }
    // A section of @owner: it may stay open across a suspension that parks the task (see coroutine.hpp).
    explicit guard(task &owner) noexcept : owner_(&owner)
    {
        owner.enter();
    }
    guard(guard &&other) noexcept : owner_(other.owner_), held_(std::exchange(other.held_, false))
    {
    }
    guard &operator=(guard &&other) noexcept
    {
        guard taken(std::move(other)); // the section that this guard held ends with @taken
        swap(taken);
        return *this;
    }
    ~guard()
    {
        end();
    }

    // End the section before the end of the scope.
    void end() noexcept
    {
        if (!std::exchange(held_, false))
            return;
        if (owner_)
            owner_->leave();
        else
            detail::section_end();
    }
    explicit operator bool() const noexcept
    {
        return held_;
    }
    void swap(guard &other) noexcept
    {
        std::swap(owner_, other.owner_);
        std::swap(held_, other.held_);
    }
    friend void swap(guard &left, guard &right) noexcept
    {
        left.swap(right);
    }

  private:
    task *owner_ = nullptr;
    bool held_ = true;
};

} // namespace rtrcu

#endif
