/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of processes whose main thread calls pthread_exit(): they end with the program's last thread, although threads
 * of the library remain. */
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "../support/sync.h"
#include "../support/threads.h"
#include "child.h"
#include "owned.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <rtrcu/srcu.h>
#pragma GCC diagnostic pop

namespace
{

using owned::queue, owned::runs;

/* The kernel keeps a main thread that has exited as a zombie while the process has other threads. */
bool main_has_ended()
{
    char path[64], text[512] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
    FILE *file = fopen(path, "re");
    REQUIRE(file);
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *state = strrchr(text, ')');
    return state && state[2] == 'Z';
}

void say_the_end()
{
    rcu_barrier(); /* the library still works in exit handlers */
    printf("at exit, after %ld callbacks\n", runs.load());
    fflush(stdout);
}

template <typename Last> [[noreturn]] void leave_to(Last last)
{
    std::thread(last).detach();
    pthread_exit(nullptr);
}

/* Driver, daemon and workers exist before the main thread ends. */
CHILD(threads_before)
{
    REQUIRE(atexit(say_the_end) == 0);
    queue(1);
    rcu_barrier();
    synchronize_rcu_expedited();
    leave_to([] {
        REQUIRE(test::eventually(main_has_ended));
        queue(10);
        rcu_barrier();
    });
}

/* The main thread has never called the library. */
CHILD(threads_created_later)
{
    REQUIRE(atexit(say_the_end) == 0);
    leave_to([] {
        REQUIRE(test::eventually(main_has_ended));
        queue(11);
        rcu_barrier();
    });
}

/* The CPU time that @thread has used, in seconds. */
double seconds_of(pid_t thread)
{
    struct timespec used = {};
    auto clock = static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | 6);
    REQUIRE(clock_gettime(clock, &used) == 0);
    return double(used.tv_sec) + 1e-9 * double(used.tv_nsec);
}

/* The thread that watches for the end of the program sleeps between its checks. */
CHILD(watcher_sleeps)
{
    constexpr long looks = 10;
    constexpr double between = 0.05; /* seconds between checks; a check takes a hundredth of that */
    queue(1);
    rcu_barrier();
    leave_to([] {
        pid_t watcher = 0;
        REQUIRE(test::eventually([&] { return (watcher = test::thread_called("rtrcu-end")) != 0; }));
        double before = seconds_of(watcher);
        long sleeps = test::sleeps_of(watcher);
        REQUIRE(test::eventually([&] {
            REQUIRE(seconds_of(watcher) - before < looks * between / 2);
            return test::sleeps_of(watcher) - sleeps >= looks;
        }));
    });
}

/* A signal for the process arrives that the program's last thread blocks, as do the library's threads. */
CHILD(signal_at_the_end)
{
    queue(1);
    rcu_barrier();
    leave_to([] {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        REQUIRE(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
        REQUIRE(test::eventually(main_has_ended));
        REQUIRE(kill(getpid(), SIGTERM) == 0);
    });
}

std::atomic<bool> callback_may_end{false}, callback_has_begun{false};

void outlive_the_threads(rcu_head *)
{
    callback_has_begun = true;
    REQUIRE(test::eventually([] { return callback_may_end.load(); }));
    struct timespec while_watched = {0, 200000000};
    nanosleep(&while_watched, nullptr);
    printf("the callback has returned\n");
    fflush(stdout);
}

[[noreturn]] void leave_to_the_callback()
{
    leave_to([] {
        REQUIRE(test::eventually(main_has_ended));
        REQUIRE(test::eventually([] { return callback_has_begun.load(); }));
        callback_may_end = true;
    });
}

/* The process does not end before a running callback has returned, whichever thread runs it. */
CHILD(callback_outlives_the_threads)
{
    static rcu_head head;
    call_rcu(&head, outlive_the_threads);
    leave_to_the_callback();
}

/* As callback_outlives_the_threads, for a callback of a domain that the program defines. */
CHILD(domain_callback_outlives_the_threads)
{
    static srcu_struct domain;
    static rcu_head head;
    init_srcu_struct(&domain);
    call_srcu(&domain, &head, outlive_the_threads);
    leave_to_the_callback();
}

/* A fork's child begins with one thread, which is its main thread even if another thread forked. */
CHILD(forked_by_another_thread)
{
    queue(1);
    rcu_barrier();
    std::thread([] {
        pid_t pid = fork();
        if (pid == 0) {
            leave_to([] {
                REQUIRE(test::eventually(main_has_ended));
                queue(1);
                rcu_barrier();
                REQUIRE(runs == 2);
            });
        }
        int status = -1;
        REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }).join();
}

void needs_the_kernels_count()
{
    if (TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "the race detector and the emulator create threads";
}

class Ending : public testing::Test
{
    void SetUp() override
    {
        needs_the_kernels_count();
    }
};

TEST_F(Ending, ProcessEndsWithTheProgramsLastThread)
{
    for (const char *child : {"threads_before", "threads_created_later"}) {
        test::ChildResult result = test::run_child(child);
        EXPECT_TRUE(exited_well(result)) << child;
        EXPECT_TRUE(result.contains("at exit, after 11 callbacks")) << child << result.output;
    }
}

TEST_F(Ending, WatcherOfTheEndSleepsBetweenChecks)
{
    EXPECT_TRUE(exited_well(test::run_child("watcher_sleeps")));
}

TEST_F(Ending, PendingSignalEndsTheProcess)
{
    test::ChildResult result = test::run_child("signal_at_the_end");
    EXPECT_TRUE(WIFSIGNALED(result.status) && WTERMSIG(result.status) == SIGTERM) << result.status << result.output;
}

TEST_F(Ending, ProcessEndsAfterARunningCallback)
{
    for (const char *child : {"callback_outlives_the_threads", "domain_callback_outlives_the_threads"}) {
        test::ChildResult result = test::run_child(child);
        EXPECT_TRUE(exited_well(result)) << child;
        EXPECT_TRUE(result.contains("the callback has returned")) << child << result.output;
    }
}

TEST_F(Ending, ForksChildEndsWithItsLastThread)
{
    EXPECT_TRUE(exited_well(test::run_child("forked_by_another_thread")));
}

} // namespace
