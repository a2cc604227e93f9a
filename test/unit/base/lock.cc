/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the ranked lock: ownership, try, hand-over to a waiter, the order of ranks in debug builds, reset. */
#include <csignal>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <linux/futex.h>

#include "../../support/internals.h"
#include "../../support/sandbox.h"
#include "../../support/stepped.h"
#include "../../support/sync.h"
#include "../../support/variant.h"

namespace
{

/* lock_release_if_mine() releases a lock of the calling thread, and changes neither a free lock nor a lock that another
 * thread holds. */
TEST(Lock, ReleaseIfMineKeepsALockThatAnotherThreadHolds)
{
    lock mine, others;
    lock_init(&mine, LOCK_RANK_BARRIER);
    lock_init(&others, LOCK_RANK_GP);
    lock_acquire(&mine);
    lock_release_if_mine(&mine);
    EXPECT_EQ(mine.word, 0u);
    EXPECT_FALSE(lock_any_held(UINT32_MAX));
    lock_acquire(&mine);
    lock_reset(&mine);
    (void)lock_after_fork_child();
    lock_release_if_mine(&mine);
    EXPECT_EQ(mine.word, 0u);
    others.word = lock_thread_number() ^ 1;
    lock_release_if_mine(&others);
    EXPECT_EQ(others.word, lock_thread_number() ^ 1);
    EXPECT_FALSE(lock_any_held(UINT32_MAX));
}

TEST(Lock, ReleaseIfMinePassesAContendedLockToTheWaiter)
{
    lock handed;
    lock_init(&handed, LOCK_RANK_BARRIER);
    lock_acquire(&handed);
    std::thread waiter([&] {
        lock_acquire(&handed);
        lock_release(&handed);
    });
    EXPECT_TRUE(test::eventually([&] { return (rtrcu_load_acquire(&handed.word) & FUTEX_WAITERS) != 0; }));
    lock_release_if_mine(&handed);
    waiter.join();
    EXPECT_EQ(handed.word, 0u);
}

TEST(Lock, LockIsHeldByTheThreadThatAcquiredIt)
{
    struct lock lock;
    lock_init(&lock, LOCK_RANK_LEAF);
    EXPECT_FALSE(lock_is_mine(&lock));
    lock_acquire(&lock);
    EXPECT_TRUE(lock_is_mine(&lock));
    EXPECT_EQ(lock.word, lock_thread_number());
    bool mine = true, taken = true;
    std::thread([&] {
        mine = lock_is_mine(&lock);
        taken = lock_try(&lock);
    }).join();
    EXPECT_FALSE(mine);
    EXPECT_FALSE(taken);
    lock_release(&lock);
    EXPECT_EQ(lock.word, 0u);
}

TEST(Lock, TryAcquiresAFreeLock)
{
    struct lock lock;
    lock_init(&lock, LOCK_RANK_GP);
    ASSERT_TRUE(lock_try(&lock));
    EXPECT_TRUE(lock_is_mine(&lock));
    lock_release(&lock);
    EXPECT_FALSE(lock_is_mine(&lock));
}

TEST(Lock, ThreadIdIsTheKernelsId)
{
    EXPECT_EQ(lock_thread_number(), plat_thread_id().number);
    uint32_t other = 0;
    std::thread([&] { other = lock_thread_number(); }).join();
    EXPECT_NE(other, lock_thread_number());
}

TEST(Lock, ReleasePassesAContendedLockToTheWaiter)
{
    struct lock lock;
    lock_init(&lock, LOCK_RANK_LEAF);
    lock_acquire(&lock);
    test::Steps steps;
    uint32_t waiter = 0;
    bool mine = false;
    std::thread thread([&] {
        waiter = lock_thread_number();
        lock_acquire(&lock);
        mine = lock_is_mine(&lock);
        steps.reach(1);
        steps.wait(2);
        lock_release(&lock);
    });
    /* The kernel marks the word once a thread waits; the release then passes the lock to that thread. */
    ASSERT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&lock.word) & FUTEX_WAITERS; }));
    EXPECT_TRUE(lock_is_mine(&lock));
    lock_release(&lock);
    steps.wait(1);
    EXPECT_TRUE(mine);
    EXPECT_EQ(rtrcu_load_acquire(&lock.word) & FUTEX_TID_MASK, waiter);
    EXPECT_FALSE(lock_try(&lock));
    steps.reach(2);
    thread.join();
    EXPECT_EQ(lock.word, 0u);
}

TEST(Lock, LockExcludesOtherThreads)
{
    struct lock lock;
    lock_init(&lock, LOCK_RANK_LEAF);
    constexpr int turns = 20000;
    long plain = 0; /* not atomic, so the race detector reports a lock that excludes nothing */
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&] {
            for (int i = 0; i < turns; i++) {
                lock_acquire(&lock);
                plain++;
                lock_release(&lock);
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(plain, 4L * turns);
}

TEST(Lock, ResetFreesTheLockOfAThreadThatDoesNotExist)
{
    struct lock lock;
    lock_init(&lock, LOCK_RANK_LEAF);
    lock.word = 0x12345 | FUTEX_WAITERS; /* held by a thread that a fork's child does not have */
    lock_reset(&lock);
    ASSERT_TRUE(lock_try(&lock));
    lock_release(&lock);
}

TEST(Lock, RisingRanksMayBeNested)
{
    struct lock outer, inner;
    lock_init(&outer, LOCK_RANK_CONFIG);
    lock_init(&inner, LOCK_RANK_DAEMON);
    lock_acquire(&outer);
    lock_acquire(&inner);
    lock_release(&inner);
    lock_release(&outer);
    lock_acquire(&inner); /* permitted, since the thread holds no lock */
    lock_release(&inner);
}

TEST(Lock, ForkMayHoldSeveralLocksOfOneRank)
{
    struct lock first, second;
    lock_init(&first, LOCK_RANK_LEAF);
    lock_init(&second, LOCK_RANK_LEAF);
    lock_acquire(&first);
    lock_acquire_same_rank(&second);
    EXPECT_TRUE(lock_is_mine(&first) && lock_is_mine(&second));
    lock_release(&second);
    lock_release(&first);
}

void take_in_falling_order()
{
    struct lock outer, inner;
    lock_init(&outer, LOCK_RANK_LEAF);
    lock_init(&inner, LOCK_RANK_BARRIER);
    lock_acquire(&outer);
    lock_acquire(&inner);
}

void take_two_of_one_rank()
{
    struct lock first, second;
    lock_init(&first, LOCK_RANK_LEAF);
    lock_init(&second, LOCK_RANK_LEAF);
    lock_acquire(&first);
    lock_acquire(&second);
}

void release_what_is_not_held()
{
    struct lock lock;
    lock_init(&lock, LOCK_RANK_LEAF);
    lock_release(&lock);
}

TEST(LockDeathTest, DebugBuildsRefuseWrongOrder)
{
    if (!CHECK_DEBUG)
        GTEST_SKIP() << "release builds do not check ranks";
    EXPECT_DEATH(take_in_falling_order(), "lock of rank 3 taken while ranks 0x80 are held");
    EXPECT_DEATH(take_two_of_one_rank(), "lock of rank 7 taken while ranks 0x80 are held");
    EXPECT_DEATH(release_what_is_not_held(), "check failed: lock_is_mine");
}

/* ---- where the kernel refuses the futex ---- */

constexpr int lock_pi2 = 13;

void take_turns(struct lock *lock, long *plain, int turns)
{
    for (int i = 0; i < turns; i++) {
        lock_acquire(lock);
        *plain += 1;
        std::this_thread::yield(); /* so that other threads find the lock held */
        lock_release(lock);
    }
}

void contend_in_a_sandbox(int error)
{
    static struct lock lock;
    lock_init(&lock, LOCK_RANK_LEAF);
    if (!test::refuse({{SYS_futex, error, {FUTEX_LOCK_PI, lock_pi2, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI}}}))
        _exit(2);
    long plain = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] { take_turns(&lock, &plain, 500); });
    for (auto &thread : threads)
        thread.join();
    _exit(plain == 4 * 500 && lock.word == 0 ? 0 : 1);
}

/* Body of a child process: a sandbox refuses the futex while a thread waits for the lock, so the release cannot wake
 * it. */
void sandbox_while_one_waits()
{
    static struct lock lock;
    lock_init(&lock, LOCK_RANK_LEAF);
    lock_acquire(&lock);
    std::thread waiter([] {
        lock_acquire(&lock);
        lock_release(&lock);
    });
    if (!test::eventually([] { return rtrcu_load_acquire(&lock.word) & FUTEX_WAITERS; }))
        _exit(3);
    if (!test::refuse({{SYS_futex, EPERM, {FUTEX_LOCK_PI, lock_pi2, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI}}}))
        _exit(2);
    lock_release(&lock);
    waiter.join();
    _exit(lock.word == 0 ? 0 : 1);
}

TEST(LockDeathTest, ProgramContinuesIfTheFutexIsRefused)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has no seccomp()";
    for (int error : {EPERM, ENOSYS, ENOMEM})
        EXPECT_EXIT(contend_in_a_sandbox(error), testing::ExitedWithCode(0), "") << error;
    EXPECT_EXIT(sandbox_while_one_waits(), testing::ExitedWithCode(0), "");
}

/* ---- a handler at every instruction ---- */

#if defined(__x86_64__)

struct lock watched;
volatile long steps, unnoted;
uint32_t ranks_before;

/* Trap handler: counts the steps at which the thread holds the lock without having recorded it.  A signal handler of
 * the thread would try to take such a lock again. */
void look_at_each_step(int, siginfo_t *, void *)
{
    uint32_t bit = UINT32_C(1) << watched.rank;
    bool held = (rtrcu_load_relaxed(&watched.word) & FUTEX_TID_MASK) == rtrcu_self.thread_id;
    if (held && !(rtrcu_self.locks_held & bit))
        unnoted = unnoted + 1;
    if ((rtrcu_self.locks_held & ranks_before) != ranks_before)
        unnoted = unnoted + 1;
    steps = steps + 1;
}

void step(void (*body)())
{
    test::SteppedBy traps(look_at_each_step);
    steps = 0;
    unnoted = 0;
    ranks_before = rtrcu_self.locks_held;
    test::SteppedBy::begin();
    body();
    test::SteppedBy::end();
    EXPECT_GT(steps, 20);
    EXPECT_EQ(unnoted, 0);
    EXPECT_EQ(rtrcu_self.locks_held, ranks_before);
}

void acquire_and_release()
{
    lock_acquire_same_rank(&watched);
    lock_release(&watched);
}

void try_and_release()
{
    if (lock_try(&watched))
        lock_release(&watched);
}

TEST(Lock, HeldLockIsRecordedAtEveryInstruction)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delays signals";
    struct lock other;
    lock_init(&watched, LOCK_RANK_GP);
    lock_init(&other, LOCK_RANK_GP);
    (void)lock_thread_id();
    for (bool beside : {false, true}) {
        if (beside)
            lock_acquire(&other);
        step(acquire_and_release);
        step(try_and_release);
        watched.word = rtrcu_self.thread_id + 1; /* held by another thread */
        step(try_and_release);
        watched.word = 0;
        if (beside)
            lock_release(&other);
        EXPECT_EQ(rtrcu_self.locks_held, 0u);
    }
}

#endif

} // namespace
