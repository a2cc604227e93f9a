/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the library's threads: creation, retries after a refusal, state after a fork, and the watcher of the end. */
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/syscall.h>

#include "../../support/stepped.h"
#include "../../support/threads.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "../../support/driving.h"

namespace
{

class Thread : public DriveWorld
{
  protected:
    int claim(struct work_thread *thread)
    {
        sigset_t saved;
        int claimed = work_thread_claim(&drive_->work, thread, &saved);
        if (claimed > 0)
            plat_signals_restore(&saved);
        return claimed;
    }
};

TEST_F(Thread, RefusedThreadIsNotRetriedForATick)
{
    struct work_thread thread = {};
    drive_->work.refused_ns = plat_clock_now();
    config_.tick_us = 60000000;
    EXPECT_EQ(claim(&thread), -EAGAIN);
    EXPECT_EQ(thread.state, static_cast<uint32_t>(WORK_NONE));
    drive_->work.refused_ns -= 61000000000;
    EXPECT_EQ(claim(&thread), 1);
    EXPECT_EQ(thread.state, static_cast<uint32_t>(WORK_STARTING));
    drive_->work.refused_ns = plat_clock_now();
    EXPECT_EQ(claim(&thread), 0) << "another thread creates it";
    EXPECT_EQ(thread.state, static_cast<uint32_t>(WORK_STARTING | WORK_NEEDED));
    thread.state = WORK_RUNNING;
    EXPECT_EQ(claim(&thread), 0);
    EXPECT_EQ(thread.state, static_cast<uint32_t>(WORK_RUNNING));
    struct work_thread another = {};
    drive_->work.refused_ns = 0;
    EXPECT_EQ(claim(&another), 1);
}

/* Without memory for attributes with the configured CPUs, threads use the process's attributes. */
TEST_F(Thread, StartsWithDefaultAttributesWithoutMemory)
{
    if (TEST_EMULATED || TEST_ASAN || TEST_TSAN)
        GTEST_SKIP() << "the emulator and sanitizers make other system calls";
    strcpy(config_.cpus, "0");
    bool trapped = true;
    std::thread([&] {
        trapped = test::trap(SYS_mmap, nullptr, [] { return long{-ENOMEM}; });
        if (trapped)
            api_drive_init(drive_, &room_, world_.gp(), cb_, drive_->work.watch);
    }).join();
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
    EXPECT_EQ(work_attr(&drive_->work), &drive_->work.process);
}

TEST_F(Thread, DriversThreadIsCreatedByOneThread)
{
    ASSERT_TRUE(work_driver_hold(&drive_->work));
    EXPECT_EQ(work_driver_start(&drive_->work), 0);
    EXPECT_EQ(drive_->work.thread.plat.body, nullptr);
    EXPECT_EQ(drive_->work.thread.state, static_cast<uint32_t>(WORK_STARTING | WORK_NEEDED));
    EXPECT_TRUE(work_thread_release(&drive_->work.thread));
}

TEST_F(Thread, ForkingThreadContinuesInTheChild)
{
    enum { OLD = 12345 };
    drive_->work.worker[WORK_WORKER_BOOST].thread.state = WORK_RUNNING;
    drive_->work.worker[WORK_WORKER_BOOST].thread.plat.thread_id = OLD;
    drive_->work.worker[WORK_WORKER_BOOST].priority = 7;
    drive_->work.worker[WORK_WORKER_EXPEDITED].thread.state = WORK_RUNNING;
    drive_->work.worker[WORK_WORKER_EXPEDITED].thread.plat.thread_id = OLD + 1;
    drive_->work.worker[WORK_WORKER_EXPEDITED].priority = 8;
    drive_->work.worker[WORK_WORKER_EXPEDITED].wanted = 1;
    drive_->serve.daemon[PLAT_CPU_MAX - 1].thread.state = WORK_RUNNING;
    drive_->serve.daemon[PLAT_CPU_MAX - 1].serving = drive_->serve.daemon[PLAT_CPU_MAX - 1].thread.sleeping = 1;
    drive_->work.thread.state = drive_->work.end.state = WORK_RUNNING;
    drive_->work.thread.sleeping = WORK_ASLEEP;
    drive_->work.thread.event = drive_->work.urgent = drive_->serve.aside.serving = drive_->work.main_ended = 1;
    const auto counts = {&drive_->turn.driver_waiters, &drive_->serve.progress_waiters,
                         &drive_->serve.fork.pause.forking};
    for (tally *count : counts)
        tally_raise(count);
    drive_->work.threads = 5;
    for (int i = 0; i < 4; i++) {
        tally_raise(&drive_->turn.exp_waiters.waiters[i]);
        drive_->turn.exp_waiters.priority[i] = 3;
    }
    for (int kind = 0; kind < GP_KINDS; kind++) {
        drive_->turn.gp_state[kind].unscanned = drive_->turn.gp_state[kind].requested = true;
        drive_->turn.gp_state[kind].sleeping.number = 2;
    }
    drive_->turn.exp_waiters.notified = 4096;
    after_fork_child({OLD});
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_BOOST].thread.state, static_cast<uint32_t>(WORK_RUNNING));
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_BOOST].thread.plat.thread_id, lock_thread_number());
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_BOOST].priority, 7);
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_BOOST].work, &drive_->work);
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_EXPEDITED].thread.state, static_cast<uint32_t>(WORK_NONE));
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_EXPEDITED].priority, 0);
    EXPECT_EQ(drive_->work.worker[WORK_WORKER_EXPEDITED].wanted | drive_->work.urgent, 0u);
    EXPECT_EQ(drive_->serve.daemon[PLAT_CPU_MAX - 1].thread.state, static_cast<uint32_t>(WORK_NONE));
    EXPECT_EQ(drive_->serve.daemon[PLAT_CPU_MAX - 1].serving, 0u);
    EXPECT_EQ(drive_->serve.daemon[PLAT_CPU_MAX - 1].thread.sleeping | drive_->work.thread.event, 0u);
    EXPECT_EQ(drive_->work.thread.state, static_cast<uint32_t>(WORK_NONE));
    EXPECT_EQ(drive_->work.end.state, static_cast<uint32_t>(WORK_NONE));
    EXPECT_EQ(drive_->work.threads, 1u);
    EXPECT_EQ(drive_->work.thread.sleeping, static_cast<uint32_t>(WORK_AWAKE));
    for (const tally *count : counts)
        EXPECT_EQ(tally_read(count), 0u);
    EXPECT_EQ(drive_->serve.aside.serving | drive_->work.main_ended, 0u);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(tally_read(&drive_->turn.exp_waiters.waiters[i]) | drive_->turn.exp_waiters.priority[i], 0u) << i;
    for (int kind = 0; kind < GP_KINDS; kind++) {
        EXPECT_FALSE(drive_->turn.gp_state[kind].unscanned || drive_->turn.gp_state[kind].requested);
        EXPECT_EQ(tally_read(&drive_->turn.gp_state[kind].sleeping), 0u);
    }
    EXPECT_EQ(drive_->turn.exp_waiters.notified, gp_seq(world_.gp(), GP_EXPEDITED));
    EXPECT_EQ(drive_->work.survivor.number, lock_thread_number());
    EXPECT_EQ(drive_->serve.fork.generation, 1u);
    after_fork_child(PLAT_NOBODY);
    EXPECT_EQ(drive_->work.threads, 0u) << "no thread of the library forked";
    EXPECT_EQ(drive_->serve.fork.generation, 2u);
}

TEST_F(Thread, ForkRepairCoversAllWorkers)
{
    int64_t boost_limit_ns = drive_->turn.boost_limit_ns = 12345;
    after_fork_child(PLAT_NOBODY);
    EXPECT_EQ(drive_->turn.boost_limit_ns, boost_limit_ns);
}

/* The main thread ends while the library has no threads. */
TEST_F(Thread, MainThreadStartsNoWatcherOfTheEndWithoutLibraryThreads)
{
    keep(); /* keeps the memory for a thread that is created late */
    work_main_ends(&drive_->work);
    EXPECT_EQ(drive_->work.end.state, static_cast<uint32_t>(WORK_NONE));
    EXPECT_EQ(drive_->work.main_ended, 1u);
}

/* Another thread is already creating the watcher, so this thread does not. */
TEST_F(Thread, WatcherOfTheEndIsCreatedOnce)
{
    keep();
    drive_->work.threads = WORK_THREADS_CHANGE + 1;
    drive_->work.end.state = WORK_STARTING;
    work_main_ends(&drive_->work);
    EXPECT_EQ(drive_->work.end.plat.body, nullptr);
    EXPECT_EQ(drive_->work.end.state, static_cast<uint32_t>(WORK_STARTING | WORK_NEEDED));
    EXPECT_EQ(drive_->work.threads, WORK_THREADS_CHANGE + 1);
}

#if defined(__x86_64__)

struct domain_drive *stepped;
volatile long steps_left;
volatile bool maker_watches;

/* After one of the main thread's instructions, acts as the creator of a thread: counts it, then reads the flag. */
void create_after_a_step(int, siginfo_t *, void *)
{
    steps_left = steps_left - 1;
    if (steps_left != 0)
        return;
    rtrcu_fetch_add(&stepped->work.threads, WORK_THREADS_CHANGE + 1);
    maker_watches = rtrcu_load_relaxed(&stepped->work.main_ended);
}

/* At whichever instruction of the main thread's end the first library thread is created, its creator or the main thread
 * starts the watcher. */
TEST_F(Thread, WatcherOfTheEndIsStartedByACreatorOrTheMainThread)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delays signals";
    test::SteppedBy traps(create_after_a_step);
    stepped = drive_;
    for (long step = 1, left = 0; left <= 0; step++) {
        drive_->work.threads = drive_->work.main_ended = 0;
        drive_->work.end.state = WORK_STARTING; /* so that no watcher is created */
        maker_watches = false;
        steps_left = step;
        test::SteppedBy::begin();
        work_main_ends(&drive_->work);
        test::SteppedBy::end();
        left = steps_left;
        bool watched = maker_watches || (drive_->work.end.state & WORK_NEEDED);
        EXPECT_TRUE(left > 0 || watched) << "after instruction " << step;
    }
}

#endif

/* The watcher reads the library's count of threads while one of them exits and the program's last thread still runs. */
[[noreturn]] void end_beside_one_that_goes(struct domain_drive *drive)
{
    std::thread([drive] {
        lock_acquire(&drive->serve.aside.lock);
        uint32_t mine = rtrcu_load_relaxed(&drive->serve.aside.lock.word);
        drive->work.threads = WORK_THREADS_CHANGE + 1;
        work_main_ends(&drive->work);
        bool counted = test::eventually([&] { return rtrcu_load_relaxed(&drive->serve.aside.lock.word) != mine; });
        rtrcu_fetch_add(&drive->work.threads, WORK_THREADS_CHANGE - 1);
        lock_release(&drive->serve.aside.lock);

        pid_t poller = test::thread_called("rtrcu-end");
        long sleeps = test::sleeps_of(poller);
        bool goes_on = test::eventually([&] { return test::sleeps_of(poller) > sleeps + 2; });
        _exit(counted && goes_on ? 42 : 1);
    }).detach();
    for (;;)
        syscall(SYS_exit, 0); /* pthread_exit() would unwind through frames that catch every exception */
}

/* The watcher lists the threads twice, or it could mistake the program's last thread for an exiting library thread. */
TEST_F(Thread, WatcherOfTheEndListsTheThreadsTwice)
{
    if (TEST_EMULATED || TEST_TSAN)
        GTEST_SKIP() << "the emulator and the race detector create threads";
    keep();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(end_beside_one_that_goes(drive_), testing::ExitedWithCode(42), "");
}

const plat_thread_attr *home_on(struct domain_drive *drive, const char *cpus, int64_t stack_kb = 256)
{
    struct rtrcu_config settings = {};
    strcpy(settings.cpus, cpus);
    settings.stack_kb = stack_kb;
    return work_attr_for(&drive->work, &settings);
}

/* Each list of CPUs has its own attributes, created once. */
TEST_F(Thread, AttributesHaveTheConfiguredCpus)
{
    if (plat_cpus_configured() < 2)
        GTEST_SKIP() << "there is one CPU";
    const plat_thread_attr *attrs[] = {home_on(drive_, "0"), home_on(drive_, "1"), home_on(drive_, "0-1")};
    for (int i = 0; i < 3; i++) {
        const char *cpus[] = {"0", "1", "0-1"};
        plat_cpus wanted;
        ASSERT_EQ(plat_cpus_parse(cpus[i], &wanted), 0);
        ASSERT_NE(attrs[i], nullptr);
        EXPECT_EQ(memcmp(&attrs[i]->cpus, &wanted, sizeof(wanted)), 0) << cpus[i];
        EXPECT_EQ(home_on(drive_, cpus[i]), attrs[i]);
    }
    EXPECT_EQ(home_on(drive_, ""), &drive_->work.process);
}

TEST_F(Thread, AttributesHaveTheConfiguredStackSize)
{
    const plat_thread_attr *large = home_on(drive_, "", 1024), *elsewhere = home_on(drive_, "0", 1024);
    ASSERT_TRUE(large && elsewhere);
    EXPECT_EQ(large->stack_bytes, drive_->work.process.stack_bytes + (1024 - 256) * 1024 * PLAT_STACK_FACTOR);
    EXPECT_EQ(memcmp(&large->cpus, &drive_->work.process.cpus, sizeof(large->cpus)), 0);
    EXPECT_EQ(elsewhere->stack_bytes, large->stack_bytes);
    EXPECT_EQ(home_on(drive_, "", 1024), large);
    EXPECT_NE(home_on(drive_, "", 512), large);
    EXPECT_EQ(home_on(drive_, ""), &drive_->work.process);
}

/* A thread that has exited is no longer counted, and may be created again. */
TEST_F(Thread, EndedThreadMayBeCreatedAgain)
{
    drive_->work.threads = WORK_THREADS_CHANGE + 1;
    drive_->work.thread.state = WORK_RUNNING;
    work_thread_ended(&drive_->work, &drive_->work.thread);
    EXPECT_EQ(drive_->work.threads, 2 * WORK_THREADS_CHANGE);
    EXPECT_EQ(drive_->work.thread.state, static_cast<uint32_t>(WORK_NONE));
}

} // namespace
