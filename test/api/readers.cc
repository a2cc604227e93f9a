/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of readers through the public interface: both disciplines, thousands of threads, threads that start and
 * exit. */
#include <atomic>
#include <pthread.h>
#include <thread>
#include <vector>

#include "../support/replaced.h"
#include "../support/sync.h"
#include "child.h"

namespace
{

/* The object that all readers of one test read, and an updater that replaces it until the readers have finished. */
struct Arena : test::Replaced {
    std::atomic<bool> stop{false};
};

TEST(Readers, BothDisciplinesProtectInOneDomain)
{
    Arena arena;
    std::vector<std::thread> readers;
    readers.emplace_back([&] {
        while (!arena.stop) {
            rcu_read_lock();
            arena.look();
            rcu_read_unlock();
        }
    });
    readers.emplace_back([&] {
        ASSERT_EQ(rcu_register_thread_qsbr(), 0);
        while (!arena.stop) {
            rcu_read_lock_qs();
            arena.look();
            rcu_read_unlock_qs();
            rcu_read_lock(); /* library code does the same, since it does not know the thread's discipline */
            arena.look();
            rcu_read_unlock();
            rcu_quiescent_state();
        }
        rcu_thread_offline();
    });
    readers.emplace_back([&] {
        ASSERT_EQ(rcu_register_thread_qsbr(), 0);
        while (!arena.stop) {
            arena.look();
            rcu_thread_offline();
            rcu_thread_online();
        }
    });
    readers.emplace_back([&] {
        while (!arena.stop) {
            rcu_read_lock_bh();
            rcu_read_lock();
            arena.look();
            rcu_read_unlock_bh();
            arena.look();
            rcu_read_unlock();
        }
    });
    EXPECT_TRUE(arena.replace_until_spanned(50, 100));
    arena.stop = true;
    for (auto &thread : readers)
        thread.join();
    EXPECT_EQ(arena.bad(), 0);
}

TEST(Readers, ReadLockHeldIsTrueOnlyInside)
{
    std::thread([] {
        EXPECT_FALSE(rcu_read_lock_held());
        rcu_read_lock();
        rcu_read_lock();
        rcu_read_unlock();
        EXPECT_TRUE(rcu_read_lock_held());
        rcu_read_unlock();
        EXPECT_FALSE(rcu_read_lock_held());
    }).join();
}

TEST(Readers, PointersArePublishedAndFound)
{
    int value = 7, other = 8, *pointer = nullptr;
    RCU_INIT_POINTER(pointer, &value);
    EXPECT_EQ(rcu_access_pointer(pointer), &value);
    rcu_assign_pointer(pointer, &other);
    rcu_read_lock();
    EXPECT_EQ(*rcu_dereference(pointer), 8);
    EXPECT_EQ(rcu_dereference_check(pointer, false), &other);
    rcu_read_unlock();
    EXPECT_EQ(rcu_dereference_check(pointer, true), &other);
    EXPECT_EQ(rcu_dereference_protected(pointer, true), &other);
    EXPECT_EQ(rcu_xchg_pointer(&pointer, &value), &other);
    EXPECT_EQ(pointer, &value);
}

/* ---- many threads ---- */

constexpr int many = TEST_TSAN ? 200 : TEST_EMULATED || TEST_ASAN ? 1000 : 4096;

struct Crowd {
    test::Steps inside, go, leave;
};

void *crowd_body(void *argument)
{
    Crowd *crowd = static_cast<Crowd *>(argument);
    rcu_read_lock();
    crowd->inside.arrive();
    crowd->go.wait(1);
    rcu_read_unlock();
    crowd->inside.arrive();
    crowd->leave.wait(1);
    return nullptr;
}

TEST(Readers, ThousandsOfThreadsReadConcurrently)
{
    Crowd crowd;
    std::vector<pthread_t> threads(many);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, TEST_ASAN || TEST_TSAN ? 1 << 20 : 1 << 16);
    uint64_t before = test::stats().threads_registered;
    for (auto &thread : threads)
        ASSERT_EQ(pthread_create(&thread, &attributes, crowd_body, &crowd), 0);
    pthread_attr_destroy(&attributes);
    crowd.inside.wait(many);
    EXPECT_EQ(test::stats().threads_registered, before + many);
    uint64_t busy = test::stats().gp_busy;
    unsigned long cookie = start_poll_synchronize_rcu();
    ASSERT_TRUE(test::eventually([&] { return test::stats().gp_busy > busy; }));
    EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
    crowd.go.reach(1);
    crowd.inside.wait(2 * many);
    cond_synchronize_rcu(cookie);
    for (int i = 0; i < 10; i++)
        synchronize_rcu();
    crowd.leave.reach(1);
    for (auto &thread : threads)
        pthread_join(thread, nullptr);
    EXPECT_EQ(test::stats().threads_registered, before);
    EXPECT_GE(test::stats().threads_peak, static_cast<uint64_t>(many));
    synchronize_rcu();
}

/* Threads start, read, queue and exit continuously, while others synchronize and replace the objects that they read. */
TEST(Readers, ThreadsMayRegisterAndExitWhileOthersSynchronize)
{
    Arena arena;
    std::vector<std::thread> parents, updaters;
    constexpr int births = TEST_TSAN || TEST_EMULATED ? 100 : 400;
    for (int p = 0; p < 4; p++) {
        parents.emplace_back([&, p] {
            for (int i = 0; i < births || arena.spanned() < 20; i++) {
                std::thread([&] {
                    if (p == 1) {
                        ASSERT_EQ(rcu_register_thread_qsbr(), 0);
                    }
                    rcu_read_lock();
                    arena.look();
                    rcu_free(malloc(8));
                    rcu_read_unlock();
                    if (p == 2)
                        rcu_unregister_thread();
                    if (p == 3) {
                        rcu_unregister_thread();
                        rcu_read_lock();
                        arena.look();
                        rcu_read_unlock();
                    }
                }).join();
            }
        });
    }
    for (int u = 0; u < 2; u++) {
        updaters.emplace_back([&] {
            while (!arena.stop)
                arena.replace();
        });
    }
    for (auto &thread : parents)
        thread.join();
    arena.stop = true;
    for (auto &thread : updaters)
        thread.join();
    EXPECT_EQ(arena.bad(), 0);
    EXPECT_GE(arena.looks(), 4L * births);
    rcu_barrier();
    EXPECT_EQ(test::stats().callbacks_backlog, 0u);
}

TEST(Readers, SecondRegistrationIsNotCountedAgain)
{
    std::thread([] {
        uint64_t before = test::stats().threads_registered;
        EXPECT_EQ(rcu_register_thread(), 0);
        EXPECT_EQ(test::stats().threads_registered, before + 1);
        EXPECT_EQ(rcu_register_thread(), 0) << "a second call only sets the flags";
        EXPECT_EQ(test::stats().threads_registered, before + 1);
        rcu_unregister_thread();
        EXPECT_EQ(test::stats().threads_registered, before);
        EXPECT_EQ(rtrcu_register_thread(4096), -EINVAL);
        EXPECT_EQ(test::stats().threads_registered, before);
    }).join();
}

/* In this build, header and library are of the same version. */
TEST(Readers, LibraryVersionEqualsTheHeaders)
{
    std::string expected = std::to_string(RTRCU_VERSION_MAJOR) + "." + std::to_string(RTRCU_VERSION_MINOR) + "." +
                           std::to_string(RTRCU_VERSION_PATCH);
    EXPECT_EQ(rtrcu_version(), expected);
}

/* A constructor that runs before the library's own. */
int seen_before_main;

__attribute__((constructor(102))) void read_before_main()
{
    rcu_read_lock();
    seen_before_main = rcu_read_lock_held();
    rcu_read_unlock();
    synchronize_rcu();
}

TEST(Readers, SectionsMayBeUsedBeforeMain)
{
    EXPECT_EQ(seen_before_main, 1);
}

} // namespace
