/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fixture of tests that begin and end with empty queues and the initial configuration. */
#ifndef RTRCU_TEST_API_CONFIGURED_H
#define RTRCU_TEST_API_CONFIGURED_H

#include <gtest/gtest.h>

#include "child.h"

namespace test
{

inline struct rtrcu_config config_in_force()
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    return config;
}

class Configured : public testing::Test
{
    struct rtrcu_config saved_ = config_in_force();

  protected:
    void configure(void (*change)(struct rtrcu_config *))
    {
        struct rtrcu_config config = saved_;
        change(&config);
        ASSERT_EQ(rtrcu_configure(&config), 0) << rtrcu_config_error();
    }
    void TearDown() override
    {
        rcu_barrier();
        EXPECT_EQ(stats().callbacks_backlog, 0u);
        ASSERT_EQ(rtrcu_configure(&saved_), 0);
    }
};

} // namespace test

#endif
