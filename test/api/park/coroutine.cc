/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The code of fiber.c as a C++20 coroutine, whose frame moves from thread to thread. */
#include "coroutine.h"

namespace test
{

Coroutine park_coroutine(park_seen *seen)
{
    for (int i = 0; i < PARK_ROUNDS; i++) {
        rcu_read_lock();
        seen[i].locked = rtrcu_word_read();
        co_await std::suspend_always{};
        seen[i].resumed = rtrcu_word_read();
        rcu_read_unlock();
        seen[i].unlocked = rtrcu_word_read();
        seen[i].held = rcu_read_lock_held();
        co_await std::suspend_always{};
    }
}

} // namespace test
