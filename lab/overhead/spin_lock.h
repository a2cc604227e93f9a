// SPDX-License-Identifier: MIT OR Apache-2.0
// Spinning locks as small as the kernel's of 2002, inlined so that the profile counts them in the function that takes
// them.  In user space a holder can be preempted, so a thread that spins for long gives up the CPU. For the same reason
// the library has no such lock.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace lab::overhead
{

// The back-off of a waiter, which calls turn() after each failed attempt.
class Patience
{
  public:
    void turn()
    {
        if (++looks_ % looks_before_yield == 0)
            sched_yield();
    }

  private:
    static constexpr int looks_before_yield = 200;
    int looks_ = 0;
};

class SpinLock
{
  public:
    void lock()
    {
        if (!try_lock())
            lock_slowly();
    }
    bool try_lock()
    {
        return word_.exchange(1, std::memory_order_acquire) == 0;
    }
    bool is_locked() const
    {
        return word_.load(std::memory_order_relaxed) != 0;
    }
    void unlock()
    {
        word_.store(0, std::memory_order_release);
    }

  private:
    // Takes the lock once its holder has unlocked it.
    [[gnu::noinline]] void lock_slowly()
    {
        Patience patience;
        do {
            while (word_.load(std::memory_order_relaxed) != 0)
                patience.turn();
        } while (word_.exchange(1, std::memory_order_acquire) != 0);
    }

    std::atomic<uint32_t> word_{0};
};

// A spinning reader-writer lock with a count of readers.  A writer waits until the count is 0.  Readers have
// precedence, as in 2002.
class ReadWriteLock
{
  public:
    void read_lock()
    {
        if ((word_.fetch_add(1, std::memory_order_acquire) & writing) != 0)
            read_lock_slowly();
    }
    void read_unlock()
    {
        word_.fetch_sub(1, std::memory_order_release);
    }
    void write_lock()
    {
        uint32_t nobody = 0;
        if (!word_.compare_exchange_strong(nobody, writing, std::memory_order_acquire))
            write_lock_slowly();
    }
    void write_unlock()
    {
        word_.fetch_sub(writing, std::memory_order_release);
    }

  private:
    static constexpr uint32_t writing = 1u << 31;

    // Waits until the present writer unlocks; later writers wait for this reader, which is already counted.
    [[gnu::noinline]] void read_lock_slowly()
    {
        Patience patience;
        while ((word_.load(std::memory_order_acquire) & writing) != 0)
            patience.turn();
    }
    // Waits until no reader is counted, and takes the lock.
    [[gnu::noinline]] void write_lock_slowly()
    {
        Patience patience;
        for (uint32_t nobody = 0; !word_.compare_exchange_weak(nobody, writing, std::memory_order_acquire); nobody = 0)
            patience.turn();
    }

    std::atomic<uint32_t> word_{0};
};

} // namespace lab::overhead
