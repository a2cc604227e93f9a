/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the stacks of the library's threads: the default size and the setting stack_kb. */
#include <cerrno>
#include <cstddef>
#include <pthread.h>

#include "child.h"

namespace
{

size_t stack_of_a_callback()
{
    struct Look {
        rcu_head head;
        size_t bytes;
    } look = {};
    call_rcu(&look.head, [](rcu_head *head) {
        pthread_attr_t attributes;
        REQUIRE(pthread_getattr_np(pthread_self(), &attributes) == 0);
        REQUIRE(pthread_attr_getstacksize(&attributes, &reinterpret_cast<Look *>(head)->bytes) == 0);
        pthread_attr_destroy(&attributes);
    });
    rcu_barrier();
    return look.bytes;
}

/* The bounds fit the default stack, which also holds the test's thread-local memory. */
CHILD(callback_runs_on_the_default_stack)
{
    size_t bytes = stack_of_a_callback();
    REQUIRE(bytes >= 256 * 1024 && bytes < (size_t{TEST_ASAN || TEST_TSAN ? 8 : 1} << 20));
}

/* More than the largest stack to which the library doubles a refused one, so only `stack_kb` explains it. */
CHILD(stack_of_the_setting)
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    config.stack_kb = 100 * 1024;
    REQUIRE(rtrcu_configure(&config) == 0);
    REQUIRE(stack_of_a_callback() >= size_t{100} << 20);
}

TEST(Stacks, ThreadStacksHaveTheDefaultOrConfiguredSize)
{
    EXPECT_TRUE(exited_well(test::run_child("callback_runs_on_the_default_stack")));
    EXPECT_TRUE(exited_well(test::run_child("stack_of_the_setting")));
}

} // namespace
