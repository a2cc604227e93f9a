// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that run a loop: quiescent-state readers, and loops with a deadline; C++17 and later.
//
//     rtrcu::quiescent_thread thread;                              sections cost nothing from here on
//     for (;;) {
//         {
//             rtrcu::quiescent_guard section(thread);
//             serve(cell.read(section));
//         }
//         thread.quiescent();                                      holds no reference from before
//     }
//
//     rtrcu::deadline_loop loop;
//     loop.run_every(std::chrono::milliseconds(2), [&] { return play(cell); });
#ifndef RTRCU_LOOP_HPP
#define RTRCU_LOOP_HPP

#include <chrono>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <rtrcu/detail/library.hpp>
#include <rtrcu/rcu.h>

namespace rtrcu
{

// Makes the calling thread a quiescent-state thread as long as this object lives: the thread is inside from one
// quiescent() to the next, or to offline().  Afterwards the thread is an ordinary reader again.
class quiescent_thread
{
  public:
    // Throws std::system_error if the thread is inside a section, memory runs out, or no thread can be created.
    explicit quiescent_thread(unsigned int flags = 0)
    {
        if (const int error = rtrcu_register_thread(RTRCU_QSBR | flags))
            throw std::system_error(-error, std::generic_category(), "rtrcu::quiescent_thread");
    }
    // Every section of the thread must have ended.
    ~quiescent_thread()
    {
        rtrcu_thread_offline(); // so that no grace period waits for the thread if the next call fails
        (void)rtrcu_register_thread(0);
    }
    quiescent_thread(const quiescent_thread &) = delete;
    quiescent_thread &operator=(const quiescent_thread &) = delete;

    // Report a quiescent state, as rcu_quiescent_state(): the thread uses no reference that it loaded before.
    void quiescent() noexcept
    {
        check_no_section();
        rcu_quiescent_state();
    }

    // Keeps the thread offline while this object lives: grace periods do not wait for the thread, so it may sleep.
    class [[nodiscard]] away
    {
      public:
        ~away()
        {
            rtrcu_thread_online();
        }
        away(const away &) = delete;
        away &operator=(const away &) = delete;

      private:
        friend class quiescent_thread;
        away() noexcept
        {
            rtrcu_thread_offline();
        }
    };
    away offline() noexcept
    {
        check_no_section();
        return away();
    }

  private:
    friend class quiescent_guard;

    void check_no_section() const noexcept
    {
        if (sections_ != 0)
            detail::misuse("a quiescent state inside a quiescent_guard");
    }

    unsigned int sections_ = 0;
};

// A section of a quiescent-state thread: it costs a count, which the optimizer removes if it sees the whole loop.  A
// guard may be moved; a guard that was moved from holds no section.
class [[nodiscard]] quiescent_guard
{
  public:
    using rtrcu_is_section = void;

    explicit quiescent_guard(quiescent_thread &thread) noexcept : thread_(&thread)
    {
        thread.sections_++;
        rcu_read_lock_qs();
    }
    quiescent_guard(quiescent_guard &&other) noexcept : thread_(std::exchange(other.thread_, nullptr))
    {
    }
    quiescent_guard &operator=(quiescent_guard &&other) noexcept
    {
        quiescent_guard taken(std::move(other));
        std::swap(thread_, taken.thread_);
        return *this;
    }
    ~quiescent_guard()
    {
        if (!thread_)
            return;
        rcu_read_unlock_qs();
        thread_->sections_--;
    }
    explicit operator bool() const noexcept
    {
        return thread_ != nullptr;
    }

  private:
    quiescent_thread *thread_;
};

// Makes the calling thread a deadline thread as long as this object lives: the thread wakes no thread, and runs
// callbacks only in rest(), before its next event.
class deadline_loop
{
  public:
    using clock = std::chrono::steady_clock; // CLOCK_MONOTONIC

    // Throws like quiescent_thread.
    deadline_loop()
    {
        if (const int error = rtrcu_register_thread(RTRCU_DEADLINE))
            throw std::system_error(-error, std::generic_category(), "rtrcu::deadline_loop");
    }
    // The loop of a quiescent-state thread: each round ends in a quiescent state.
    explicit deadline_loop(quiescent_thread &thread) : thread_(&thread)
    {
        if (const int error = rtrcu_register_thread(RTRCU_QSBR | RTRCU_DEADLINE))
            throw std::system_error(-error, std::generic_category(), "rtrcu::deadline_loop");
    }
    ~deadline_loop()
    {
        rtrcu_set_deadline(0);
        (void)rtrcu_register_thread(thread_ ? RTRCU_QSBR : 0);
    }
    deadline_loop(const deadline_loop &) = delete;
    deadline_loop &operator=(const deadline_loop &) = delete;

    // Called outside sections after the work of a round; @next is the time of the next event.  Runs ready callbacks of
    // this thread within the budget, and begins no callback that is expected to run until @next or longer.  Returns the
    // number of callbacks run.
    unsigned long rest(clock::time_point next) noexcept
    {
        using std::chrono::nanoseconds;
        rtrcu_set_deadline(std::chrono::duration_cast<nanoseconds>(next.time_since_epoch()).count());
        if (thread_)
            thread_->quiescent();
        return rtrcu_process_callbacks(0);
    }

    // Call @turn every @period until it returns false, and rest() in between.  If a round lasts longer than a period,
    // the next round begins immediately, and missed rounds are left out.  Returns the number of rounds left out.
    template <typename Turn> unsigned long run_every(clock::duration period, Turn &&turn)
    {
        if (period <= clock::duration::zero())
            throw std::invalid_argument("rtrcu::deadline_loop: the period must be positive");
        unsigned long missed = 0;
        clock::time_point next = clock::now();
        while (turn()) {
            next += period;
            const clock::time_point now = clock::now();
            if (now > next) {
                const auto behind = (now - next) / period;
                missed += static_cast<unsigned long>(behind);
                next += behind * period;
            }
            (void)rest(next);
            sleep_until(next);
        }
        return missed;
    }

  private:
    void sleep_until(clock::time_point next) const
    {
        if (!thread_) {
            std::this_thread::sleep_until(next);
            return;
        }
        const auto away = thread_->offline();
        std::this_thread::sleep_until(next);
    }

    quiescent_thread *thread_ = nullptr;
};

} // namespace rtrcu

#endif
