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
#include "world.h"

namespace
{

using Thread = DriveWorld;

TEST_F(Thread, ARefusalIsBelievedForATick)
{
    struct drive_thread thread = {};
    drive_->refused_ns = plat_clock_now();
    config_.tick_us = 60000000;
    EXPECT_EQ(drive_thread_claim(drive_, &thread), -EAGAIN);
    EXPECT_EQ(thread.state, static_cast<uint32_t>(DRIVE_NONE));
    drive_->refused_ns -= 61000000000;
    EXPECT_EQ(drive_thread_claim(drive_, &thread), 1);
    EXPECT_EQ(thread.state, static_cast<uint32_t>(DRIVE_STARTING));
    drive_->refused_ns = plat_clock_now();
    EXPECT_EQ(drive_thread_claim(drive_, &thread), 0) << "somebody is at it";
    EXPECT_EQ(thread.state, static_cast<uint32_t>(DRIVE_STARTING | DRIVE_ASKED));
    thread.state = DRIVE_RUNNING;
    EXPECT_EQ(drive_thread_claim(drive_, &thread), 0);
    EXPECT_EQ(thread.state, static_cast<uint32_t>(DRIVE_RUNNING));
    struct drive_thread another = {};
    drive_->refused_ns = 0;
    EXPECT_EQ(drive_thread_claim(drive_, &another), 1);
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
            drive_init(drive_, &room_, world_.gp(), cb_, drive_->watch);
    }).join();
    if (!trapped)
        GTEST_SKIP() << "no call can be trapped here";
    EXPECT_EQ(drive_home(drive_), &drive_->process);
}

TEST_F(Thread, OfTheDriverIsMadeByOneAtATime)
{
    ASSERT_TRUE(drive_hold(drive_));
    EXPECT_EQ(drive_start(drive_), 0);
    EXPECT_EQ(drive_->thread.plat.body, nullptr);
    EXPECT_EQ(drive_->thread.state, static_cast<uint32_t>(DRIVE_STARTING | DRIVE_ASKED));
    EXPECT_TRUE(drive_thread_let(&drive_->thread));
}

TEST_F(Thread, TheOneThatForkedGoesOnInTheChild)
{
    enum { OLD = 12345 };
    drive_->worker[DRIVE_WORKER_BOOST].thread.state = DRIVE_RUNNING;
    drive_->worker[DRIVE_WORKER_BOOST].thread.plat.thread_id = OLD;
    drive_->worker[DRIVE_WORKER_BOOST].priority = 7;
    drive_->worker[DRIVE_WORKER_EXPEDITED].thread.state = DRIVE_RUNNING;
    drive_->worker[DRIVE_WORKER_EXPEDITED].thread.plat.thread_id = OLD + 1;
    drive_->worker[DRIVE_WORKER_EXPEDITED].priority = 8;
    drive_->worker[DRIVE_WORKER_EXPEDITED].wanted = 1;
    drive_->krcud[PLAT_CPU_MAX - 1].thread.state = DRIVE_RUNNING;
    drive_->krcud[PLAT_CPU_MAX - 1].serving = drive_->krcud[PLAT_CPU_MAX - 1].thread.sleeping = 1;
    drive_->thread.state = drive_->end.state = DRIVE_RUNNING;
    drive_->thread.sleeping = DRIVE_IDLE;
    drive_->thread.event = drive_->urgent = 1;
    for (tally *count : {&drive_->turn_waiters, &drive_->progress_waiters, &drive_->forking})
        tally_raise(count);
    drive_->aside.serving = drive_->main_ended = 1;
    drive_->threads = 5;
    for (int i = 0; i < 4; i++) {
        tally_raise(&drive_->numbers.waiters[i]);
        drive_->numbers.priority[i] = 3;
    }
    for (int kind = 0; kind < GP_KINDS; kind++) {
        drive_->turning[kind].unscanned = drive_->turning[kind].asked = true;
        drive_->turning[kind].sleeping.number = 2;
    }
    drive_->numbers.told = 4096;
    after_fork_child({OLD});
    EXPECT_EQ(drive_->worker[DRIVE_WORKER_BOOST].thread.state, static_cast<uint32_t>(DRIVE_RUNNING));
    EXPECT_EQ(drive_->worker[DRIVE_WORKER_BOOST].thread.plat.thread_id, lock_thread_number());
    EXPECT_EQ(drive_->worker[DRIVE_WORKER_BOOST].priority, 7);
    EXPECT_EQ(drive_->worker[DRIVE_WORKER_BOOST].drive, drive_);
    EXPECT_EQ(drive_->worker[DRIVE_WORKER_EXPEDITED].thread.state, static_cast<uint32_t>(DRIVE_NONE));
    EXPECT_EQ(drive_->worker[DRIVE_WORKER_EXPEDITED].priority, 0);
    EXPECT_EQ(drive_->worker[DRIVE_WORKER_EXPEDITED].wanted, 0u);
    EXPECT_EQ(drive_->krcud[PLAT_CPU_MAX - 1].thread.state, static_cast<uint32_t>(DRIVE_NONE));
    EXPECT_EQ(drive_->krcud[PLAT_CPU_MAX - 1].serving, 0u);
    EXPECT_EQ(drive_->krcud[PLAT_CPU_MAX - 1].thread.sleeping, 0u);
    EXPECT_EQ(drive_->thread.state, static_cast<uint32_t>(DRIVE_NONE));
    EXPECT_EQ(drive_->end.state, static_cast<uint32_t>(DRIVE_NONE));
    EXPECT_EQ(drive_->threads, 1u);
    EXPECT_EQ(drive_->thread.sleeping, static_cast<uint32_t>(DRIVE_AWAKE));
    EXPECT_EQ(drive_->thread.event | drive_->urgent, 0u);
    for (const tally *count : {&drive_->turn_waiters, &drive_->progress_waiters, &drive_->forking})
        EXPECT_EQ(tally_read(count), 0u);
    EXPECT_EQ(drive_->aside.serving | drive_->main_ended, 0u);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(tally_read(&drive_->numbers.waiters[i]) | drive_->numbers.priority[i], 0u) << i;
    for (int kind = 0; kind < GP_KINDS; kind++) {
        EXPECT_FALSE(drive_->turning[kind].unscanned || drive_->turning[kind].asked);
        EXPECT_EQ(tally_read(&drive_->turning[kind].sleeping), 0u);
    }
    EXPECT_EQ(drive_->numbers.told, gp_seq(world_.gp(), GP_EXPEDITED));
    EXPECT_EQ(drive_->survivor.number, lock_thread_number());
    EXPECT_EQ(drive_->generation, 1u);
    after_fork_child(PLAT_NOBODY);
    EXPECT_EQ(drive_->threads, 0u) << "none of ours forked";
    EXPECT_EQ(drive_->generation, 2u);
}

TEST_F(Thread, WhatLiesBehindTheWorkersIsTheChildsToo)
{
    int64_t share_ns = drive_->share_ns = 12345;
    after_fork_child(PLAT_NOBODY);
    EXPECT_EQ(drive_->share_ns, share_ns);
}

/* Whose end would not come. */
TEST_F(Thread, WithoutThreadsOfOursNobodyWatchesForTheEnd)
{
    keep(); /* if one does, it does so behind the test too */
    drive_main_ends(drive_);
    EXPECT_EQ(drive_->end.state, static_cast<uint32_t>(DRIVE_NONE));
    EXPECT_EQ(drive_->main_ended, 1u);
}

/* By one at a time: who finds that somebody is at it makes none. */
TEST_F(Thread, WhoWatchesForTheEndIsMadeOnce)
{
    keep();
    drive_->threads = DRIVE_THREADS_CHANGE + 1;
    drive_->end.state = DRIVE_STARTING;
    drive_main_ends(drive_);
    EXPECT_EQ(drive_->end.plat.body, nullptr);
    EXPECT_EQ(drive_->end.state, static_cast<uint32_t>(DRIVE_STARTING | DRIVE_ASKED));
    EXPECT_EQ(drive_->threads, DRIVE_THREADS_CHANGE + 1);
}

#if defined(__x86_64__)

struct drive *stepped;
volatile long steps_left;
volatile bool maker_watches;

/* What the maker of a thread does, behind one of the main thread's instructions: it counts, then reads the flag. */
void make_behind_a_step(int, siginfo_t *, void *)
{
    steps_left = steps_left - 1;
    if (steps_left != 0)
        return;
    rtrcu_fetch_add(&stepped->threads, DRIVE_THREADS_CHANGE + 1);
    maker_watches = rtrcu_load_relaxed(&stepped->main_ended);
}

/* Whenever the first thread of the library comes: who made it watches for the end, or the main thread has that done. */
TEST_F(Thread, WhoeverIsLastWatchesForTheEnd)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delivers signals later";
    test::SteppedBy traps(make_behind_a_step);
    stepped = drive_;
    for (long step = 1, left = 0; left <= 0; step++) {
        drive_->threads = drive_->main_ended = 0;
        drive_->end.state = DRIVE_STARTING; /* so that nobody makes it twice */
        maker_watches = false;
        steps_left = step;
        test::SteppedBy::begin();
        drive_main_ends(drive_);
        test::SteppedBy::end();
        left = steps_left;
        bool watched = maker_watches || (drive_->end.state & DRIVE_ASKED);
        EXPECT_TRUE(left > 0 || watched) << "behind instruction " << step;
    }
}

#endif

/* The program's last thread and who watches, while one of the library's threads goes: the watcher counts its numbers
 * before it has gone, and comes to the lock. */
[[noreturn]] void end_beside_one_that_goes(struct drive *drive)
{
    std::thread([drive] {
        lock_acquire(&drive->aside.lock);
        uint32_t mine = rtrcu_load_relaxed(&drive->aside.lock.word);
        drive->threads = DRIVE_THREADS_CHANGE + 1;
        drive_main_ends(drive);
        bool counted = test::eventually([&] { return rtrcu_load_relaxed(&drive->aside.lock.word) != mine; });
        rtrcu_fetch_add(&drive->threads, DRIVE_THREADS_CHANGE - 1);
        lock_release(&drive->aside.lock);

        pid_t watcher = test::thread_called("rtrcu-end");
        long sleeps = test::sleeps_of(watcher);
        bool goes_on = test::eventually([&] { return test::sleeps_of(watcher) > sleeps + 2; });
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

const plat_home *home_on(struct drive *drive, const char *cpus, int64_t stack_kb = 256)
{
    struct rtrcu_config settings = {};
    strcpy(settings.cpus, cpus);
    settings.stack_kb = stack_kb;
    return drive_home_on(drive, &settings);
}

/* Each list of CPUs has its own, once. */
TEST_F(Thread, AHomeIsOfTheCpusThatAreNamed)
{
    if (plat_cpus_configured() < 2)
        GTEST_SKIP() << "there is one CPU";
    const plat_home *homes[] = {home_on(drive_, "0"), home_on(drive_, "1"), home_on(drive_, "0-1")};
    for (int i = 0; i < 3; i++) {
        const char *cpus[] = {"0", "1", "0-1"};
        plat_cpus wanted;
        ASSERT_EQ(plat_cpus_parse(cpus[i], &wanted), 0);
        ASSERT_NE(homes[i], nullptr);
        EXPECT_EQ(memcmp(&homes[i]->cpus, &wanted, sizeof(wanted)), 0) << cpus[i];
        EXPECT_EQ(home_on(drive_, cpus[i]), homes[i]);
    }
    EXPECT_EQ(home_on(drive_, ""), &drive_->process);
}

TEST_F(Thread, AHomeIsOfTheSizeOfStacksThatIsSet)
{
    const plat_home *large = home_on(drive_, "", 1024), *elsewhere = home_on(drive_, "0", 1024);
    ASSERT_TRUE(large && elsewhere);
    EXPECT_EQ(large->stack_bytes, drive_->process.stack_bytes + (1024 - 256) * 1024 * PLAT_STACK_FACTOR);
    EXPECT_EQ(memcmp(&large->cpus, &drive_->process.cpus, sizeof(large->cpus)), 0);
    EXPECT_EQ(elsewhere->stack_bytes, large->stack_bytes);
    EXPECT_EQ(home_on(drive_, "", 1024), large);
    EXPECT_NE(home_on(drive_, "", 512), large);
    EXPECT_EQ(home_on(drive_, ""), &drive_->process);
}

/* A daemon that ends is no longer counted, and may be made again. */
TEST_F(Thread, OneThatEndsMayBeMadeAgain)
{
    drive_->threads = DRIVE_THREADS_CHANGE + 1;
    drive_->thread.state = DRIVE_RUNNING;
    drive_thread_ended(drive_, &drive_->thread);
    EXPECT_EQ(drive_->threads, 2 * DRIVE_THREADS_CHANGE);
    EXPECT_EQ(drive_->thread.state, static_cast<uint32_t>(DRIVE_NONE));
}

} // namespace
