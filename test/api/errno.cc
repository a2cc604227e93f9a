/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests that no call of the library changes errno, whether it succeeds or fails. */
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "../support/sync.h"
#include "child.h"
#include "owned.h"

namespace
{

using owned::queue, owned::runs;

constexpr int untouched = 12345;

void check(const char *what, const std::function<void()> &call)
{
    errno = untouched;
    call();
    int now = errno;
    if (now != untouched)
        printf("%s set errno to %d\n", what, now);
    REQUIRE(now == untouched);
}

#define CHECK(...) check(#__VA_ARGS__, [&] { __VA_ARGS__; })

rcu_head heads[20];

void nothing(rcu_head *)
{
}

void read_and_wait()
{
    CHECK(rcu_read_lock());
    CHECK(rcu_read_lock());
    CHECK(rcu_read_unlock());
    CHECK(rcu_read_unlock());
    CHECK(rcu_read_lock_bh());
    CHECK(rcu_read_unlock_bh());
    CHECK(synchronize_rcu());
    CHECK(synchronize_rcu_expedited());
    CHECK(cond_synchronize_rcu(get_state_synchronize_rcu()));
    CHECK(cond_synchronize_rcu(start_poll_synchronize_rcu()));
    CHECK(cond_synchronize_rcu_expedited(start_poll_synchronize_rcu_expedited()));
    CHECK((void)poll_state_synchronize_rcu(get_state_synchronize_rcu()));
    CHECK((void)poll_state_synchronize_rcu_expedited(get_state_synchronize_rcu_expedited()));
}

void call_and_free()
{
    CHECK(call_rcu(&heads[0], nothing));
    CHECK(REQUIRE(call_rcu_try(&heads[1], nothing) == 0));
    CHECK(call_rcu_hurry(&heads[2], nothing));
    CHECK(call_rcu_rt(&heads[3], nothing));
    CHECK(call_rcu_rt_handler(&heads[4], nothing));
    for (int i = 0; i < 1100; i++) {
        void *memory = malloc(40);
        CHECK(rcu_free(memory));
        memory = malloc(40);
        CHECK(REQUIRE(rcu_retire(memory, free) == 0));
        memory = malloc(40);
        CHECK(REQUIRE(rcu_retire(memory, [](void *object) { free(object); }) == 0));
    }
    CHECK(queue(100));
    CHECK((void)rcu_process_callbacks(0));
    CHECK(rcu_quiescent_state());
    CHECK(rcu_barrier());
    CHECK((void)rcu_process_callbacks(-1));
    CHECK(rcu_barrier());
}

void come_and_go()
{
    for (unsigned int flags :
         {0u, unsigned{RTRCU_QSBR}, unsigned{RTRCU_DEADLINE}, unsigned{RTRCU_QSBR | RTRCU_DEADLINE}}) {
        CHECK(REQUIRE(rtrcu_register_thread(flags) == 0));
        CHECK(rcu_thread_offline());
        CHECK(rcu_thread_online());
        CHECK(rcu_set_deadline(1));
        CHECK(rcu_quiescent_state());
        CHECK(rcu_thread_offline());
        CHECK(REQUIRE(rtrcu_unregister_thread() == 0));
    }
    CHECK(REQUIRE(rtrcu_register_thread(1000) == -EINVAL));
    CHECK(rtrcu_rt_awake(true));
    CHECK(rtrcu_rt_awake(false));
}

void park_and_resume()
{
    rcu_task task;
    CHECK(rcu_task_init(&task, "task"));
    CHECK(rcu_task_resume(&task));
    rcu_read_lock();
    CHECK(rcu_task_park(&task));
    CHECK((void)rcu_task_blocking(&task));
    CHECK(rcu_task_resume(&task));
    rcu_read_unlock();
    rcu_read_lock();
    CHECK(rcu_task_list(&task));
    CHECK(rcu_task_unlist(&task));
    CHECK(rcu_task_list(&task)); /* misuse that is reported, since the caller is outside sections */
    CHECK(rcu_task_exit(&task));
    CHECK(rcu_task_set_blocking_handler(nullptr));
}

void configure_and_look()
{
    struct rtrcu_config config;
    struct rtrcu_stats stats = {};
    CHECK(rtrcu_config_init(&config));
    CHECK(rtrcu_config_get(&config));
    CHECK(REQUIRE(rtrcu_config_set(&config, "qmax", "1000") == 0));
    CHECK(REQUIRE(rtrcu_config_set(&config, "qmax", "99999999999999999999") == -EINVAL));
    CHECK(REQUIRE(rtrcu_config_set(&config, "qmax", "many") == -EINVAL));
    CHECK(REQUIRE(rtrcu_config_set(&config, "cpus", "5000") == -EINVAL));
    CHECK(REQUIRE(rtrcu_config_set(&config, "cpus", "99999999999999999999999") == -EINVAL));
    CHECK(REQUIRE(rtrcu_config_set(&config, "cpus", "0") == 0));
    CHECK(REQUIRE(rtrcu_config_set(&config, "cpus", "process") == 0));
    CHECK(REQUIRE(rtrcu_config_set(&config, "none", "1") == -EINVAL));
    CHECK((void)rtrcu_config_error());
    CHECK(REQUIRE(rtrcu_configure(&config) == 0));
    config.qlowmark = config.qhimark + 1;
    CHECK(REQUIRE(rtrcu_configure(&config) == -EINVAL));
    stats.size = sizeof(stats);
    CHECK(REQUIRE(rtrcu_stats(&stats) == 0));
    stats.size = 3;
    CHECK(REQUIRE(rtrcu_stats(&stats) == -EINVAL));
    CHECK(rtrcu_set_stall_handler(nullptr));
    CHECK((void)rtrcu_version());
}

void misuse()
{
    CHECK(rcu_read_unlock());
    CHECK(rcu_read_lock());
    CHECK(rcu_read_unlock());
    REQUIRE(rcu_register_thread_qsbr() == 0);
    rcu_read_lock();
    CHECK(rcu_thread_offline());
    CHECK(REQUIRE(rtrcu_unregister_thread() == -EBUSY));
    rcu_read_unlock();
    CHECK(rcu_thread_offline());
}

/* Each call is tested in a new thread, whose first call it is, and in a thread that has called before. */
CHILD(all_calls)
{
    const std::function<void()> parts[] = {read_and_wait,   call_and_free,      come_and_go,
                                           park_and_resume, configure_and_look, misuse};
    for (int round = 0; round < 2; round++) {
        for (const auto &part : parts)
            std::thread(part).join();
    }
    std::thread([&] {
        for (const auto &part : parts)
            part();
    }).join();
}

/* Callbacks that run in calls of their owner do not change the owner's errno. */
CHILD(owners_calls)
{
    REQUIRE(rcu_register_thread_qsbr() == 0);
    for (int i = 0; i < 20; i++)
        call_rcu(&heads[i], nothing);
    queue(100);
    REQUIRE(test::eventually([] {
        CHECK(rcu_quiescent_state());
        CHECK((void)rcu_process_callbacks(0));
        return runs == 100;
    }));
    rcu_thread_offline();
}

TEST(Errno, ErrnoIsPreserved)
{
    EXPECT_TRUE(exited_well(test::run_child("all_calls")));
    EXPECT_TRUE(exited_well(test::run_child("all_calls", {"RTRCU_MEMBARRIER=off"})));
    EXPECT_TRUE(exited_well(test::run_child("all_calls", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

TEST(Errno, ErrnoIsPreservedIfTheOwnerRunsCallbacks)
{
    for (const char *driver : {"RTRCU_DRIVER=kthread", "RTRCU_DRIVER=sched"})
        EXPECT_TRUE(exited_well(test::run_child("owners_calls", {driver, "RTRCU_POLICY=inline"})));
}

} // namespace
