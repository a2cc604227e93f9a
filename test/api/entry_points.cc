/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of every call that queues: its callback runs in a fork's child, after refused threads, and from a thread
 * without a record, and it counts against the limits. */
#include <cstdint>
#include <cstdlib>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "../support/sync.h"
#include "child.h"
#include "no_threads.h"
#include "owned.h"

namespace
{

using owned::queue, owned::runs, test::NoThreads;

constexpr int most = 20;

void limit(int32_t backpressure, int32_t policy = RTRCU_POLICY_DAEMON)
{
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    config.qhimark = config.qmax = most;
    config.qlowmark = 1;
    config.policy = policy;
    config.backpressure = backpressure;
    REQUIRE(rtrcu_configure(&config) == 0);
}

bool is_drained()
{
    return test::stats().callbacks_backlog == 0;
}

void try_until_taken()
{
    static rcu_head head;
    REQUIRE(test::eventually([] { return call_rcu_try(&head, [](rcu_head *) { runs++; }) == 0; }));
}

/* Run @body in a fork's child, with a backlog of callbacks that wait for a reader of the parent. */
template <typename Body> void in_a_child_with_a_backlog(Body body)
{
    test::Worker reader;
    limit(RTRCU_BACKPRESSURE_EXPEDITE);
    reader.run([] { rcu_read_lock(); });
    queue(most);
    for (int i = 0; i < 3; i++)
        rcu_free(malloc(8));
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        alarm(60);
        body();
        _exit(0);
    }
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

CHILD(child_calls_try_call_rcu)
{
    in_a_child_with_a_backlog([] {
        try_until_taken();
        REQUIRE(test::eventually(is_drained));
    });
}

CHILD(child_calls_rcu_free)
{
    in_a_child_with_a_backlog([] {
        for (int i = 0; i < 3; i++)
            rcu_free(malloc(8));
        REQUIRE(test::eventually(is_drained));
    });
}

TEST(EntryPoints, EachCallCreatesTheDriverInAForksChild)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "qemu-user aborts in children of processes with threads (cpu_exec(), version 7.2)";
    if (TEST_TSAN)
        GTEST_SKIP() << "the race detector does not allow threads in the child of a process with threads";
    for (const char *door : {"child_calls_try_call_rcu", "child_calls_rcu_free"})
        EXPECT_TRUE(exited_well(test::run_child(door))) << door;
}

/* The creation of threads is refused at first; a later call that queues creates the driver. */
CHILD(refused_then_tries)
{
    limit(RTRCU_BACKPRESSURE_EXPEDITE);
    {
        NoThreads none;
        queue(most);
    }
    try_until_taken();
}

CHILD(refused_then_frees)
{
    void *first = malloc(8);
    {
        NoThreads none;
        rcu_free(first);
    }
    REQUIRE(test::eventually([] {
        rcu_free(malloc(8));
        return test::stats().callbacks_invoked != 0;
    }));
}

/* As long as no thread can be created, only calls of the owner run its callbacks. */
CHILD(no_threads_and_process_callbacks)
{
    NoThreads none;
    queue(100);
    REQUIRE(test::eventually([] {
        rcu_process_callbacks(0);
        return runs == 100;
    }));
}

TEST(EntryPoints, EachCallRetriesToCreateARefusedDriver)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer needs the memory that is refused";
    for (const char *door : {"refused_then_tries", "refused_then_frees"})
        EXPECT_TRUE(exited_well(test::run_child(door))) << door;
}

TEST(EntryPoints, RcuProcessCallbacksRunsCallbacksIfNoThreadCanBeCreated)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer needs the memory that is refused";
    for (const char *policy : {"RTRCU_POLICY=inline", "RTRCU_POLICY=daemon", "RTRCU_POLICY=unbounded"})
        EXPECT_TRUE(exited_well(test::run_child("no_threads_and_process_callbacks", {policy}))) << policy;
}

/* ---- threads without a record ---- */

pthread_key_t late_key;
void (*late_body)();

/* A destructor that runs in a later round than the library's exit hook. */
void be_late(void *round)
{
    if (reinterpret_cast<uintptr_t>(round) < 3)
        pthread_setspecific(late_key, static_cast<char *>(round) + 1);
    else
        late_body();
}

/* Run @body in a thread whose record is released, while callbacks wait for a reader. */
void run_late(void (*body)())
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    late_body = body;
    REQUIRE(pthread_key_create(&late_key, be_late) == 0);
    std::thread([] {
        rcu_read_lock();
        rcu_read_unlock();
        pthread_setspecific(late_key, reinterpret_cast<void *>(uintptr_t{1}));
    }).join();
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
}

CHILD(call_rcu_try_without_a_record)
{
    limit(RTRCU_BACKPRESSURE_EXPEDITE);
    run_late([] {
        static rcu_head heads[most + 5];
        int refused = 0;
        for (rcu_head &head : heads)
            refused += call_rcu_try(&head, [](rcu_head *) { runs++; }) == -EAGAIN;
        REQUIRE(refused == 5);
    });
    REQUIRE(runs == most);
}

CHILD(call_rcu_without_a_record)
{
    limit(RTRCU_BACKPRESSURE_EXPEDITE);
    run_late([] {
        queue(most + 5);
        for (int i = 0; i < 3; i++)
            rcu_free(malloc(8));
    });
    REQUIRE(test::stats().over_qmax >= 8);
}

CHILD(blocking_call_rcu_without_a_record)
{
    limit(RTRCU_BACKPRESSURE_BLOCK);
    run_late([] { queue(most + 1); });
    REQUIRE(test::stats().blocked_at_qmax >= 1);
}

TEST(EntryPoints, QueueOfThreadsWithoutARecordHasTheSameLimits)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the race detector forgets a thread before its last destructors";
    for (const char *door :
         {"call_rcu_try_without_a_record", "call_rcu_without_a_record", "blocking_call_rcu_without_a_record"})
        EXPECT_TRUE(exited_well(test::run_child(door))) << door;
}

/* ---- pointers count like callbacks ---- */

CHILD(frees_at_the_limit)
{
    test::Worker reader;
    limit(RTRCU_BACKPRESSURE_EXPEDITE);
    reader.run([] { rcu_read_lock(); });
    for (int i = 0; i < most / 2; i++) {
        rcu_free(malloc(8));
        queue(1);
    }
    REQUIRE(test::stats().over_qmax == 0);
    for (int i = 0; i < 10; i++)
        rcu_free(malloc(8));
    REQUIRE(test::stats().over_qmax == 10);
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
}

TEST(EntryPoints, PointersOfRcuFreeCountAgainstTheLimits)
{
    EXPECT_TRUE(exited_well(test::run_child("frees_at_the_limit")));
}

/* ---- a thread that unregisters while it runs its callbacks ---- */

long resident_bytes()
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    REQUIRE(file && fscanf(file, "%ld %ld", &total, &resident) == 2);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

/* Two thousand threads unregister inside their callbacks.  If their slots leaked, the process would grow by more than a
 * megabyte. */
CHILD(unregisters_inside_callbacks)
{
    static rcu_head head;
    long bytes = 0;
    for (int round = 0; round < 2200; round++) {
        long before = runs;
        if (round == 200)
            bytes = resident_bytes();
        REQUIRE(rcu_register_thread() == 0);
        call_rcu_hurry(&head, [](rcu_head *) {
            REQUIRE(rtrcu_unregister_thread() == 0);
            runs++;
        });
        REQUIRE(test::eventually([&] {
            rcu_process_callbacks(-1);
            return runs > before;
        }));
    }
    REQUIRE(resident_bytes() - bytes < 600000);
}

TEST(EntryPoints, SlotOfThreadThatExitedInsideCallbackIsReused)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer's own memory grows";
    EXPECT_TRUE(exited_well(test::run_child("unregisters_inside_callbacks", {"RTRCU_POLICY=inline"})));
}

} // namespace
