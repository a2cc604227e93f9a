/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A coroutine for tests. */
#ifndef RTRCU_TEST_SUPPORT_COROUTINE_H
#define RTRCU_TEST_SUPPORT_COROUTINE_H

#include <coroutine>
#include <exception>

namespace test
{

/* A coroutine that begins immediately and is not awaited; its frame is freed when it ends. */
struct Job {
    struct promise_type {
        Job get_return_object() noexcept
        {
            return {};
        }
        std::suspend_never initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_never final_suspend() noexcept
        {
            return {};
        }
        void return_void() noexcept
        {
        }
        void unhandled_exception() noexcept
        {
            std::terminate();
        }
    };
};

} /* namespace test */

#endif
