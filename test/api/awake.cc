/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a thread says of real-time work on its CPU, with policy krcud: for how long it holds.
 */
#include <pthread.h>
#include <sched.h>
#include <thread>

#include "../support/sync.h"
#include "child.h"
#include "owned.h"

namespace
{

using owned::queue, owned::runs;

pthread_key_t last_awake;

/* Behind the library's destructor. */
void say_awake(void *)
{
    rtrcu_rt_awake(true);
}

/* Each by a thread that ends behind it. */
void be_awake()
{
    rtrcu_rt_awake(true);
}

void be_awake_as_reader()
{
    REQUIRE(rcu_register_thread() == 0);
    rtrcu_rt_awake(true);
}

void be_awake_and_unregister()
{
    be_awake_as_reader();
    REQUIRE(rtrcu_unregister_thread() == 0);
}

void be_awake_at_the_end()
{
    REQUIRE(rcu_register_thread() == 0);
    pthread_setspecific(last_awake, &last_awake);
}

/* What a thread said of its CPU ends with the thread, or with its registration. */
CHILD(rt_awake_and_gone)
{
    REQUIRE(pthread_key_create(&last_awake, say_awake) == 0);
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    config.policy = RTRCU_POLICY_KRCUD;
    config.bhlimit = 1;
    REQUIRE(rtrcu_configure(&config) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
    for (auto say : {be_awake, be_awake_as_reader, be_awake_and_unregister, be_awake_at_the_end})
        std::thread(say).join();
    uint64_t stopped = test::stats().limit_stops;
    for (long i = 1; i <= 20; i++) {
        queue(10);
        REQUIRE(test::eventually([&] {
            rcu_process_callbacks(0);
            return runs == 10 * i;
        }));
    }
    REQUIRE(test::stats().limit_stops == stopped);
}

TEST(Awake, LimitsNoCpuBehindTheEndOfItsThread)
{
    EXPECT_TRUE(exited_well(test::run_child("rt_awake_and_gone")));
}

} // namespace
