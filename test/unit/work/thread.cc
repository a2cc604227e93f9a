/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of the library: who makes one, when one that was refused is tried again, and what a fork leaves of them.
 */
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

TEST_F(Thread, ARefusalIsBelievedForATick)
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
    EXPECT_EQ(claim(&thread), 0) << "somebody is at it";
    EXPECT_EQ(thread.state, static_cast<uint32_t>(WORK_STARTING | WORK_NEEDED));
    thread.state = WORK_RUNNING;
    EXPECT_EQ(claim(&thread), 0);
    EXPECT_EQ(thread.state, static_cast<uint32_t>(WORK_RUNNING));
    struct work_thread another = {};
    drive_->work.refused_ns = 0;
    EXPECT_EQ(claim(&another), 1);
}

/* Without memory for a list of CPUs of their own they begin where the process did. */
TEST_F(Thread, BeginsSomewhereWithoutMemoryToo)
{
    if (TEST_EMULATED || TEST_ASAN || TEST_TSAN)
        GTEST_SKIP() << "not every call is the program's";
    strcpy(config_.cpus, "0");
    bool trapped = true;
    std::thread([&] {
        trapped = test::trap(SYS_mmap, nullptr, [] { return long{-ENOMEM}; });
        if (trapped)
            api_drive_init(drive_, &room_, world_.gp(), cb_, drive_->work.watch);
    }).join();
    if (!trapped)
        GTEST_SKIP() << "no call can be trapped here";
    EXPECT_EQ(work_attr(&drive_->work), &drive_->work.process);
}

TEST_F(Thread, OfTheDriverIsMadeByOneAtATime)
{
    ASSERT_TRUE(work_driver_hold(&drive_->work));
    EXPECT_EQ(work_driver_start(&drive_->work), 0);
    EXPECT_EQ(drive_->work.thread.plat.body, nullptr);
    EXPECT_EQ(drive_->work.thread.state, static_cast<uint32_t>(WORK_STARTING | WORK_NEEDED));
    EXPECT_TRUE(work_thread_release(&drive_->work.thread));
}

TEST_F(Thread, TheOneThatForkedGoesOnInTheChild)
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
    EXPECT_EQ(drive_->work.threads, 0u) << "none of ours forked";
    EXPECT_EQ(drive_->serve.fork.generation, 2u);
}

TEST_F(Thread, WhatLiesBehindTheWorkersIsTheChildsToo)
{
    int64_t boost_limit_ns = drive_->turn.boost_limit_ns = 12345;
    after_fork_child(PLAT_NOBODY);
    EXPECT_EQ(drive_->turn.boost_limit_ns, boost_limit_ns);
}

/* Whose end would not come. */
TEST_F(Thread, WithoutThreadsOfOursNobodyWatchesForTheEnd)
{
    keep(); /* if one does, it does so behind the test too */
    work_main_ends(&drive_->work);
    EXPECT_EQ(drive_->work.end.state, static_cast<uint32_t>(WORK_NONE));
    EXPECT_EQ(drive_->work.main_ended, 1u);
}

/* By one at a time: who finds that somebody is at it makes none. */
TEST_F(Thread, WhoWatchesForTheEndIsMadeOnce)
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

/* What the maker of a thread does, behind one of the main thread's instructions: it counts, then reads the flag. */
void make_behind_a_step(int, siginfo_t *, void *)
{
    steps_left = steps_left - 1;
    if (steps_left != 0)
        return;
    rtrcu_fetch_add(&stepped->work.threads, WORK_THREADS_CHANGE + 1);
    maker_watches = rtrcu_load_relaxed(&stepped->work.main_ended);
}

/* Whenever the first thread of the library comes: who made it watches for the end, or the main thread has that done. */
TEST_F(Thread, WhoeverIsLastWatchesForTheEnd)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delivers signals later";
    test::SteppedBy traps(make_behind_a_step);
    stepped = drive_;
    for (long step = 1, left = 0; left <= 0; step++) {
        drive_->work.threads = drive_->work.main_ended = 0;
        drive_->work.end.state = WORK_STARTING; /* so that nobody makes it twice */
        maker_watches = false;
        steps_left = step;
        test::SteppedBy::begin();
        work_main_ends(&drive_->work);
        test::SteppedBy::end();
        left = steps_left;
        bool watched = maker_watches || (drive_->work.end.state & WORK_NEEDED);
        EXPECT_TRUE(left > 0 || watched) << "behind instruction " << step;
    }
}

#endif

/* The program's last thread and who watches, while one of the library's threads goes: the watcher counts its numbers
 * before it has gone, and comes to the lock. */
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
        syscall(SYS_exit, 0); /* pthread_exit() would unwind, through frames that catch everything */
}

/* A thread of the program is not taken for one of the library's that has gone. */
TEST_F(Thread, WhoWatchesForTheEndLooksTwice)
{
    if (TEST_EMULATED || TEST_TSAN)
        GTEST_SKIP() << "not every thread is the program's";
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

/* Each list of CPUs has its own, once. */
TEST_F(Thread, AHomeIsOfTheCpusThatAreNamed)
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

TEST_F(Thread, AHomeIsOfTheSizeOfStacksThatIsSet)
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

/* A daemon that ends is no longer counted, and may be made again. */
TEST_F(Thread, OneThatEndsMayBeMadeAgain)
{
    drive_->work.threads = WORK_THREADS_CHANGE + 1;
    drive_->work.thread.state = WORK_RUNNING;
    work_thread_ended(&drive_->work, &drive_->work.thread);
    EXPECT_EQ(drive_->work.threads, 2 * WORK_THREADS_CHANGE);
    EXPECT_EQ(drive_->work.thread.state, static_cast<uint32_t>(WORK_NONE));
}

} // namespace
