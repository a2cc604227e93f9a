/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests that a deadline thread makes no system call in call_rcu() and in sections.
 * A seccomp filter allows the thread only the system calls that the test needs, and kills the process at any other. */
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "../support/capture.h"
#include "../support/sync.h"
#include "child.h"

namespace
{

/* From here on the calling thread may only write and exit. */
void allow_only_write_and_exit()
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

constexpr int count = 5000;
rcu_head heads[count];
std::atomic<int> runs{0};

void run(rcu_head *)
{
    runs++;
}

/* The loop of a deadline thread, while other threads drive grace periods that request reports from it. */
void loop_of_the_deadline_thread(bool quiescent_state, std::atomic<int> *turn)
{
    for (int i = 0; i < count; i++) {
        rcu_read_lock();
        rcu_read_lock();
        rcu_read_unlock();
        call_rcu(&heads[i], run);
        rcu_read_unlock();
        rcu_set_deadline(1);
        if (quiescent_state)
            rcu_quiescent_state();
        if (i % 1000 == 0)
            (void)start_poll_synchronize_rcu();
        turn->store(i);
    }
}

void deadline_thread_body(unsigned flags)
{
    std::atomic<int> turn{0};
    std::atomic<bool> done{false}, stop{false};
    std::thread updater([&] {
        while (!stop) {
            if (done)
                std::this_thread::yield();
            else
                synchronize_rcu();
        }
    });
    std::thread loop([&] {
        REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE | flags) == 0);
        allow_only_write_and_exit();
        loop_of_the_deadline_thread(flags & RTRCU_QSBR, &turn);
        if (flags & RTRCU_QSBR)
            rcu_thread_offline();
        done = true;
        for (;;) /* the filter forbids the thread to exit */
            ;
    });
    REQUIRE(test::eventually([&] { return done.load(); }));
    rcu_barrier();
    REQUIRE(runs == count);
    REQUIRE(test::stats().threads_deadline == 1);
    stop = true;
    updater.join();
    _exit(0);
}

CHILD(preemptible_deadline_thread)
{
    deadline_thread_body(0);
}

CHILD(quiescent_state_deadline_thread)
{
    deadline_thread_body(RTRCU_QSBR);
}

/* A callback runs for long in a call of a deadline thread.  Another thread must print the report, since this thread
 * makes no system call. */
CHILD(long_callback_of_a_deadline_thread)
{
    test::CapturedErrors errors;
    std::atomic<bool> done{false};
    std::thread loop([&] {
        pthread_setname_np(pthread_self(), "deadline");
        REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE) == 0);
        allow_only_write_and_exit();
        call_rcu(&heads[0], [](rcu_head *) {
            const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(120);
            while (std::chrono::steady_clock::now() < end)
                ;
            runs++;
        });
        while (runs == 0)
            rcu_process_callbacks(-1);
        done = true;
        for (;;)
            ;
    });
    REQUIRE(test::eventually([&] {
        rcu_process_callbacks(0);
        return done && errors.contains("1 callbacks took ") && errors.contains("printed by \"deadline\"");
    }));
    _exit(0);
}

class LongCallback : public testing::TestWithParam<const char *>
{
};

TEST_P(LongCallback, DeadlineThreadLeavesTheReportToAnotherThread)
{
    const std::string driver = std::string("RTRCU_DRIVER=") + GetParam();
    EXPECT_TRUE(exited_well(test::run_child("long_callback_of_a_deadline_thread", {"RTRCU_POLICY=inline", driver})));
}

INSTANTIATE_TEST_SUITE_P(Drivers, LongCallback, testing::Values("kthread", "ltimer", "poll", "sched"),
                         [](const auto &driver) { return std::string(driver.param); });

/* A check of the filter: the same thread without RTRCU_DEADLINE wakes the driver, and is killed. */
CHILD(ordinary_thread)
{
    std::thread([] { REQUIRE(rcu_register_thread() == 0); }).join();
    /* The driver sleeps, so the first callback of an ordinary thread must wake it. */
    for (uint64_t passes = 0; passes != test::stats().driver_passes;)
        passes = test::stats().driver_passes;
    std::thread([] {
        REQUIRE(rcu_register_thread() == 0);
        allow_only_write_and_exit();
        for (rcu_head &head : heads)
            call_rcu(&head, run);
    }).join();
}

bool filters_work_here()
{
    /* The sanitizers' own runtime and an emulator make system calls of their own. */
    return !TEST_TSAN && !TEST_ASAN && !TEST_EMULATED;
}

TEST(Deadline, PreemptibleThreadMakesNoSystemCall)
{
    if (!filters_work_here())
        GTEST_SKIP() << "system calls of the sanitizer or the emulator cannot be distinguished";
    EXPECT_TRUE(exited_well(test::run_child("preemptible_deadline_thread")));
}

TEST(Deadline, QuiescentStateThreadMakesNoSystemCall)
{
    if (!filters_work_here())
        GTEST_SKIP() << "system calls of the sanitizer or the emulator cannot be distinguished";
    EXPECT_TRUE(exited_well(test::run_child("quiescent_state_deadline_thread")));
}

TEST(Deadline, SeccompFilterDetectsASystemCall)
{
    if (!filters_work_here())
        GTEST_SKIP() << "system calls of the sanitizer or the emulator cannot be distinguished";
    test::ChildResult result = test::run_child("ordinary_thread");
    EXPECT_TRUE(WIFSIGNALED(result.status) && WTERMSIG(result.status) == SIGSYS) << result.status << result.output;
}

/* The deadline thread wakes no thread, so the driver finds its callbacks by polling once per tick. */
TEST(Deadline, CallbacksRunWithoutAWakeUp)
{
    test::Worker loop;
    runs = 0;
    loop.run([] {
        ASSERT_EQ(rtrcu_register_thread(RTRCU_DEADLINE), 0);
        for (int i = 0; i < 100; i++)
            call_rcu(&heads[i], run);
    });
    ASSERT_TRUE(test::eventually([] { return runs == 100; }));
    loop.run([] { call_rcu(&heads[0], run); });
    ASSERT_TRUE(test::eventually([] { return runs == 101; }));
    EXPECT_EQ(test::stats().threads_deadline, 1u);
    loop.finish();
    EXPECT_EQ(test::stats().threads_deadline, 0u);
}

// Returns whether the driver made no pass for forty ticks.  On a busy machine a ticking driver may miss that many.
bool passes_have_ended()
{
    uint64_t before = test::stats().driver_passes;
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    while (std::chrono::steady_clock::now() < until)
        sched_yield();
    return test::stats().driver_passes == before;
}

/* A driver that sleeps without a timeout is notified when a deadline thread registers. */
CHILD(registers_beside_a_sleeping_driver)
{
    std::thread([] { call_rcu(&heads[0], run); }).join();
    REQUIRE(test::eventually([] { return runs == 1; }));
    REQUIRE(test::eventually(passes_have_ended));
    std::thread([] {
        REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE) == 0);
        call_rcu(&heads[1], run);
        REQUIRE(test::eventually([] { return runs == 2; }));
    }).join();
}

TEST(Deadline, RegistrationWakesASleepingDriver)
{
    EXPECT_TRUE(exited_well(test::run_child("registers_beside_a_sleeping_driver", {"RTRCU_TICK_US=50"})));
}

/* A deadline thread is offline until the driver has stopped ticking, then comes online. */
CHILD(waits_until_the_driver_sleeps)
{
    test::Worker reader, loop;
    pid_t id = 0;
    loop.run([&id] {
        id = gettid();
        REQUIRE(rtrcu_register_thread(RTRCU_QSBR | RTRCU_DEADLINE) == 0);
        call_rcu(&heads[0], run);
        rcu_thread_offline();
    });
    REQUIRE(test::eventually([] { return runs == 1; }));
    reader.run([] { rcu_read_lock(); });
    loop.start([] {
        rcu_thread_online();
        synchronize_rcu_expedited();
        call_rcu(&heads[1], run);
    });
    REQUIRE(test::eventually([id] { return test::is_asleep(id) && passes_have_ended(); }));
    reader.run([] { rcu_read_unlock(); });
    loop.wait();
    REQUIRE(test::eventually([&] {
        loop.run([] { rcu_quiescent_state(); });
        return runs == 2;
    }));
    loop.run([] { rcu_thread_offline(); });
}

TEST(Deadline, ReturnFromAWaitWakesASleepingDriver)
{
    EXPECT_TRUE(exited_well(test::run_child("waits_until_the_driver_sleeps", {"RTRCU_TICK_US=50"})));
}

/* The driver ticks while the thread is online, and a callback that the thread queues while it is offline wakes the
 * driver. */
CHILD(offline_deadline_thread)
{
    test::Worker loop;
    loop.run([] {
        REQUIRE(rtrcu_register_thread(RTRCU_QSBR | RTRCU_DEADLINE) == 0);
        call_rcu(&heads[0], run);
        rcu_thread_offline();
    });
    REQUIRE(test::eventually([] { return runs == 1; }));
    for (int round = 0; round < 3; round++) {
        REQUIRE(test::eventually(passes_have_ended));
        loop.run([] { call_rcu(&heads[1], run); });
        REQUIRE(test::eventually([&] { return runs == 2 + 2 * round; }));
        REQUIRE(test::eventually(passes_have_ended));
        loop.run([] {
            rcu_thread_online();
            call_rcu(&heads[2], run);
            rcu_thread_offline();
        });
        REQUIRE(test::eventually([&] { return runs == 3 + 2 * round; }));
        REQUIRE(test::eventually(passes_have_ended));
        loop.run([] { rcu_thread_online(); });
        uint64_t passes = test::stats().driver_passes;
        REQUIRE(test::eventually([&] { return test::stats().driver_passes > passes + 20; }));
        loop.run([] { rcu_thread_offline(); });
    }
}

TEST(Deadline, DriverSleepsWhileTheThreadIsOffline)
{
    EXPECT_TRUE(exited_well(test::run_child("offline_deadline_thread", {"RTRCU_TICK_US=50"})));
}

TEST(Deadline, RcuSetDeadlineMakesTheCallerADeadlineThread)
{
    test::Worker loop;
    loop.run([] { rcu_set_deadline(12345); });
    EXPECT_EQ(test::stats().threads_deadline, 1u);
    loop.run([] {
        ASSERT_EQ(rcu_register_thread(), 0); /* registers again without RTRCU_DEADLINE */
    });
    EXPECT_EQ(test::stats().threads_deadline, 0u);
}

TEST(Deadline, RcuSetDeadlineInsideASectionIsRefused)
{
    test::Worker loop;
    loop.run([] {
        rcu_read_lock();
        rcu_set_deadline(12345);
        rcu_read_unlock();
    });
    EXPECT_EQ(test::stats().threads_deadline, 0u);
    loop.run([] { rcu_set_deadline(12345); });
    EXPECT_EQ(test::stats().threads_deadline, 1u);
    loop.run([] {
        rcu_read_lock();
        rcu_set_deadline(54321); /* the thread is a deadline thread already */
        rcu_read_unlock();
    });
    EXPECT_EQ(test::stats().threads_deadline, 1u);
}

TEST(Deadline, QuiescentStateThreadStaysOnlineWhenItSetsADeadline)
{
    test::Worker loop;
    loop.run([] {
        ASSERT_EQ(rcu_register_thread_qsbr(), 0);
        rcu_set_deadline(12345);
        EXPECT_TRUE(rcu_read_lock_held()) << "the thread is still online";
        rcu_thread_offline();
    });
    synchronize_rcu();
}

} // namespace
