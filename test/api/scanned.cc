/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of rtrcu_rt_awake() and of deadlines with policy krcud. */
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

/* A destructor of a thread-specific value, which runs after the library's. */
void say_awake(void *)
{
    rtrcu_rt_awake(true);
}

/* The functions be_awake*() are four ways to call rtrcu_rt_awake() in a thread that then exits. */
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

/* rtrcu_rt_awake(true) counts until the thread exits or unregisters. */
CHILD(rt_awake_thread_exits)
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

TEST(RtAwake, BatchesAreNotLimitedAfterTheRealTimeThreadOfTheCpuHasExited)
{
    EXPECT_TRUE(exited_well(test::run_child("rt_awake_thread_exits")));
}

/* ---- a deadline that passes during a batch ---- */

pthread_t owner;
bool due;
int ran, late;

/* The tenth callback that the owner runs makes the owner's next event due. */
void be_due_at_the_tenth(rcu_head *head)
{
    bool here = pthread_equal(owner, pthread_self());
    late += here && due;
    if (here && ++ran == 10) {
        due = true;
        rcu_set_deadline(1);
    }
    owned::run(head);
}

CHILD(deadline_in_a_batch)
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    config.policy = RTRCU_POLICY_KRCUD;
    config.bhlimit = 4;
    REQUIRE(rtrcu_configure(&config) == 0);
    owner = pthread_self();
    REQUIRE(rtrcu_register_thread(RTRCU_QSBR | RTRCU_DEADLINE) == 0);
    REQUIRE(test::eventually([] {
        for (int i = 0; i < 100; i++)
            call_rcu(&(new owned::Owned)->head, be_due_at_the_tenth);
        for (auto call : {+[] { rcu_quiescent_state(); }, +[] { (void)rcu_process_callbacks(0); }}) {
            ran = 0;
            call();
            if (due)
                break;
        }
        return due;
    }));
    REQUIRE(late == 0);
    rcu_thread_offline();
    rcu_barrier();
}

/* Once an owner has run bhlimit callbacks of a batch, it checks its deadline before each further callback. */
TEST(RtAwake, OwnersDeadlineEndsItsBatch)
{
    EXPECT_TRUE(exited_well(test::run_child("deadline_in_a_batch")));
}

} // namespace
