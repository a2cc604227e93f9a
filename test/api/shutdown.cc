/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of rtrcu_shutdown(), which ends the library's threads until they are needed again. */
#include <atomic>
#include <cerrno>
#include <pthread.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <rtrcu/config.h>
#include <rtrcu/rcu.h>
#include <rtrcu/srcu.h>
#include <rtrcu/table.h>

#include "child.h"
#include "owned.h"

namespace
{

using owned::queue, owned::runs;
using test::threads_of_this_process;

void note(rcu_head *)
{
}

/* Use the driver, a daemon, the expedited worker, the domains' worker and the tables' resizer. */
void use_everything()
{
    queue(1);
    rcu_barrier();
    synchronize_rcu_expedited();

    srcu_struct domain;
    rcu_head head;
    ASSERT_EQ(init_srcu_struct(&domain), 0);
    call_srcu(&domain, &head, note);
    srcu_barrier(&domain);
    cleanup_srcu_struct(&domain);

    rtrcu_hash *table;
    ASSERT_EQ(rtrcu_hash_create(&table, nullptr), 0);
    rtrcu_hash_destroy(table);
}

TEST(Shutdown, EndsEveryThreadOfTheLibrary)
{
    ASSERT_EQ(rtrcu_shutdown(), 0) << "for what earlier tests started";
    std::thread([] {}).join(); /* with the program's first thread, ThreadSanitizer starts a thread of its own */
    int before = threads_of_this_process();
    use_everything();
    EXPECT_GT(threads_of_this_process(), before);
    EXPECT_EQ(rtrcu_shutdown(), 0);
    EXPECT_EQ(threads_of_this_process(), before);
    EXPECT_EQ(rtrcu_shutdown(), 0) << "no thread is left";
}

TEST(Shutdown, LibraryWorksAgainAfterShutdown)
{
    for (int round = 0; round < 50; round++) {
        long ran = runs;
        queue(1);
        EXPECT_EQ(rtrcu_shutdown(), 0);
        EXPECT_EQ(runs, ran + 1) << "a queued callback runs before the threads end";
    }
    use_everything();
    EXPECT_EQ(rtrcu_shutdown(), 0);
}

TEST(Shutdown, IsRefusedInsideASection)
{
    rcu_read_lock();
    EXPECT_EQ(rtrcu_shutdown(), -EDEADLK);
    rcu_read_unlock();
}

std::atomic<int> result;

TEST(Shutdown, IsRefusedInsideACallback)
{
    static rcu_head head;
    result = 1;
    call_rcu(&head, [](rcu_head *) { result = rtrcu_shutdown(); });
    rcu_barrier();
    EXPECT_EQ(result, -EDEADLK);
}

TEST(Shutdown, AllowsAnotherDriverAfterwards)
{
    rtrcu_config config;
    ASSERT_EQ(rtrcu_shutdown(), 0);
    int before = threads_of_this_process();
    rtrcu_config_get(&config);
    config.driver = RTRCU_DRIVER_SCHED;
    config.policy = RTRCU_POLICY_INLINE;
    ASSERT_EQ(rtrcu_configure(&config), 0) << rtrcu_config_error();
    use_everything();
    EXPECT_EQ(rtrcu_shutdown(), 0);
    EXPECT_EQ(threads_of_this_process(), before);
    rtrcu_config_init(&config);
    queue(1);
    ASSERT_EQ(rtrcu_shutdown(), 0);
    EXPECT_EQ(rtrcu_configure(&config), 0) << rtrcu_config_error();
}

/* Readers and registered threads that are in no call may exist. */
TEST(Shutdown, LeavesThreadsOfTheProgramRegistered)
{
    std::atomic<int> step = 0;
    std::thread other([&] {
        rcu_register_thread();
        queue(1);
        step = 1;
        step.notify_all();
        step.wait(1);
        rcu_read_lock();
        rcu_read_unlock();
        queue(1);
        rcu_barrier();
        rcu_unregister_thread();
    });
    step.wait(0);
    long ran = runs;
    EXPECT_EQ(rtrcu_shutdown(), 0);
    step = 2;
    step.notify_all();
    other.join();
    EXPECT_GE(runs, ran + 1);
}

} // namespace
