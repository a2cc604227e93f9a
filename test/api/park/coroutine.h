/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A coroutine that its caller resumes step by step.
 */
#ifndef RTRCU_TEST_API_PARK_COROUTINE_H
#define RTRCU_TEST_API_PARK_COROUTINE_H

#include <coroutine>
#include <exception>

#include <rtrcu/rcu.h>

#include "park.h"

namespace test
{

struct Coroutine {
    struct promise_type {
        Coroutine get_return_object()
        {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
        {
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
            std::terminate();
        }
    };
    std::coroutine_handle<promise_type> handle;
};

Coroutine park_coroutine(park_seen *seen);

} // namespace test

#endif
