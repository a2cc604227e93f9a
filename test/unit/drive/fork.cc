/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Forks beside each other, and the turn that invokers have between them.  Nothing forks here: the handlers are called.
 */
#include <pthread.h>
#include <unistd.h>

#include "../../support/capture.h"
#include "../../support/stepped.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "world.h"

namespace
{

using ForkTurn = DriveWorld;

/* Another thread that forks; through() is true when its handler has returned, or it waits as the forker. */
class Forker
{
    struct drive *drive_;
    std::atomic<pid_t> id_{0};
    test::Worker thread_;

  public:
    explicit Forker(struct drive *drive) : drive_(drive)
    {
        thread_.run([this] { id_ = gettid(); });
    }
    void begin()
    {
        thread_.start([this] { drive_before_fork(drive_); });
    }
    void end()
    {
        thread_.wait();
        thread_.run([this] { drive_after_fork_parent(drive_); });
    }
    bool waits() const
    {
        return test::is_asleep(id_);
    }
    bool is_ready() const
    {
        return thread_.is_done();
    }
    bool is_forker() const
    {
        return rtrcu_load_acquire(&drive_->forker) == uint32_t(id_.load());
    }
};

/* A handler of who waits for another has forked: in the child the other is gone, and wakes nobody. */
TEST_F(ForkTurn, InAChildWhoWaitedForAnotherGoesOn)
{
    Forker next(drive_);
    rtrcu_store_release(&drive_->forker, 1u);
    next.begin();
    EXPECT_TRUE(test::eventually([&] { return next.waits(); }));
    rtrcu_store_release(&drive_->forker, 0u);
    EXPECT_TRUE(test::eventually([&] { return next.is_forker(); }));
    next.end();
}

TEST_F(ForkTurn, WhomAForkHeldOffHasATurnBeforeTheNext)
{
    config_.fork_wait_us = 60000000;
    reader_record *record = world_.craft(0);
    Forker next(drive_);
    struct drive_share share = {};
    share.ns = PLAT_FOREVER;
    make_ready(record, 10);
    for (int i = 0; i < 20; i++) {
        drive_before_fork(drive_);
        next.begin();
        EXPECT_TRUE(test::eventually([&] { return next.waits(); }));
        EXPECT_EQ(tally_acquire(&drive_->forking), 1u) << "who waits for a fork holds nobody off";
        drive_krcud_serve_here(drive_, record, &share);
        EXPECT_EQ(left(record), 10u) << "somebody forks";
        drive_after_fork_parent(drive_);
        EXPECT_TRUE(test::eventually([&] { return next.is_ready() || (next.is_forker() && next.waits()); }));
        drive_krcud_serve_here(drive_, record, &share);
        ASSERT_EQ(left(record), 0u) << "between two forks, one of which had begun before the other ended";
        next.end();
        make_ready(record, 10);
    }
    EXPECT_EQ(tally_read(&drive_->forking), 0u);
    EXPECT_EQ(drive_->forker, 0u);
}

/* Who was held off may not come again; it is waited for once, and not for ever. */
TEST_F(ForkTurn, WhoDoesNotComeIsForgiven)
{
    config_.fork_wait_us = 20000;
    drive_->aside.owed = true;
    drive_->forked_ns = plat_clock_now();
    int64_t began_ns = drive_->forked_ns;
    drive_before_fork(drive_);
    EXPECT_GE(plat_clock_now(), began_ns + 20000000);
    EXPECT_FALSE(drive_->aside.owed);
    drive_after_fork_parent(drive_);
    EXPECT_FALSE(drive_anybody_owed(drive_, false));
}

/* Not the first of them alone, or the next fork waits again. */
TEST_F(ForkTurn, AllWhoDoNotComeAreForgiven)
{
    const uint32_t cpus[] = {0, PLAT_CPU_MAX - 1};
    drive_->aside.owed = true;
    for (uint32_t cpu : cpus) {
        drive_->krcud[cpu].thread.state = DRIVE_RUNNING;
        drive_->krcud[cpu].owed = true;
    }
    EXPECT_TRUE(drive_anybody_owed(drive_, true));
    EXPECT_FALSE(drive_anybody_owed(drive_, false));
}

/* A callback that does not return is counted each time, and said once. */
TEST_F(ForkTurn, WhoIsGivenUpIsSaidOnce)
{
    config_.fork_wait_us = 1000;
    drive_->aside.serving = 1;
    for (uint64_t forks = 1; forks <= 3; forks++) {
        test::CapturedErrors errors;
        drive_before_fork(drive_);
        drive_after_fork_parent(drive_);
        EXPECT_EQ(errors.contains("a callback has not returned in time"), forks == 1) << forks;
        EXPECT_EQ(drive_->fork_given_up.count, forks);
    }
    drive_->aside.serving = 0;
}

/* However long the C library takes, only callbacks stay where they are. */
TEST_F(ForkTurn, NoReaderAndNoGracePeriodWaitsForAFork)
{
    struct rcu_task task = {};
    reader_record *record = world_.craft(0);
    struct parked_slot *slot = parked_slot(record);
    Forker forker(drive_);
    forker.begin();
    EXPECT_TRUE(test::eventually([&] { return forker.is_ready(); }));
    test::Worker other;
    other.start([&] {
        parked_add_to_thread(record, &task);
        test::Crank crank(world_.gp());
        EXPECT_TRUE(crank.begin_and_scan());
        EXPECT_EQ(slot->count, 0u) << "promoted";
        reader_lock(record->leaf);
        (void)gp_unpark(world_.gp(), record->leaf, &task);
        reader_unlock(record->leaf);
        crank.end();
        world_.withdraw(record);
    });
    EXPECT_TRUE(test::eventually([&] { return other.is_done(); }));
    forker.end();
    other.wait();
}

TEST_F(ForkTurn, NobodyMovesCallbacksBesideAFork)
{
    reader_record *record = world_.craft(0);
    queue(record, 1);
    Forker forker(drive_);
    forker.begin();
    EXPECT_TRUE(test::eventually([&] { return forker.is_ready(); }));
    std::atomic<pid_t> id = 0;
    test::Worker other;
    other.start([&] {
        id = gettid();
        (void)callback_collect(cb_);
    });
    EXPECT_TRUE(test::eventually([&] { return id && (other.is_done() || test::is_asleep(id)); }));
    EXPECT_FALSE(other.is_done());
    EXPECT_FALSE(cbqueue_is_waiting(&callback_slot(record)->queue));
    forker.end();
    other.wait();
    EXPECT_TRUE(cbqueue_is_waiting(&callback_slot(record)->queue));
}

/* A fork inside a callback, and a deadline thread's, wait for nobody's fork; nor does one in a handler that interrupted
 * its own thread's. */
TEST_F(ForkTurn, SomeForksWaitForNoOther)
{
    config_.fork_wait_us = 60000000;
    drive_->aside.owed = true;
    drive_->forked_ns = plat_clock_now();
    drive_->forker = UINT32_MAX;
    for (uint32_t state : {READER_STATE_CALLBACK, READER_STATE_DEADLINE}) {
        reader_self_set(state);
        drive_before_fork(drive_);
        drive_after_fork_parent(drive_);
        reader_self_clear(state);
        EXPECT_EQ(drive_->forker, UINT32_MAX);
    }
    drive_->forker = lock_thread_number();
    drive_before_fork(drive_);
    drive_after_fork_parent(drive_);
    EXPECT_EQ(tally_read(&drive_->forking), 0u);
    EXPECT_TRUE(drive_->aside.owed);
}

TEST_F(ForkTurn, AChildOwesNobodyATurn)
{
    drive_->aside.owed = drive_->krcud[1].owed = true;
    drive_->forker = 7;
    tally_raise(&drive_->forking);
    after_fork_child(PLAT_NOBODY);
    EXPECT_FALSE(drive_->aside.owed || drive_->krcud[1].owed);
    EXPECT_EQ(drive_->forker | tally_read(&drive_->forking), 0u);
}

TEST_F(ForkTurn, AChildHasNoDaemonsAndNothingForThem)
{
    reader_record *record = world_.craft(0);
    const uint32_t cpus[] = {0, 1, PLAT_CPU_MAX - 1};
    for (uint32_t cpu : cpus) {
        struct krcud &krcud = drive_->krcud[cpu];
        krcud.first = krcud.last = record;
        krcud.serving = 1;
        krcud.owed = true;
        krcud.thread.state = DRIVE_RUNNING;
    }
    drive_->threads = 1 + sizeof(cpus) / sizeof(cpus[0]);
    drive_->urgent = drive_->aside.serving = 1;
    drive_->refused_ns = 1;
    tally_raise(&drive_->progress_waiters);
    after_fork_child(PLAT_NOBODY);
    for (uint32_t cpu : cpus) {
        const struct krcud &krcud = drive_->krcud[cpu];
        EXPECT_EQ(krcud.first, nullptr) << "daemon " << cpu;
        EXPECT_EQ(krcud.last, nullptr) << "daemon " << cpu;
        EXPECT_EQ(krcud.serving, 0u) << "daemon " << cpu;
        EXPECT_FALSE(krcud.owed) << "daemon " << cpu;
        EXPECT_EQ(krcud.thread.state, static_cast<uint32_t>(DRIVE_NONE)) << "daemon " << cpu;
    }
    EXPECT_EQ(drive_->threads, 0u);
    EXPECT_EQ(drive_->urgent | tally_read(&drive_->progress_waiters), 0u);
    EXPECT_EQ(drive_->refused_ns, 0) << "what the parent was refused";
    EXPECT_EQ(drive_->aside.serving, 0u);
}

/* One thread boosts at a time: if it were one that the child does not have, nobody would ever. */
TEST_F(ForkTurn, InAChildNobodyBoosts)
{
    static const uint32_t cpu = 0;
    drive_->boosting = {{77}, 9, 1000, 0, &cpu};
    after_fork_child(PLAT_NOBODY);
    EXPECT_TRUE(plat_tid_is_nobody(drive_->boosting.booster));
    EXPECT_EQ(drive_->boosting.priority, 0);
    EXPECT_EQ(drive_->boosting.nap_ns, 0);
    EXPECT_EQ(drive_->boosting.cpu_at, nullptr);
}

/* The daemons' half. */
TEST_F(ForkTurn, ADaemonThatWasHeldOffHasOneToo)
{
    config_.fork_wait_us = 60000000;
    keep();
    reader_record *record = world_.craft(0);
    make_ready(record, 1);
    EXPECT_TRUE(test::eventually([&] {
        return drive_krcud_give(drive_, record, 0, false) && drive_thread_runs(&drive_->krcud[0].thread) &&
               left(record) == 0;
    }));
    for (int i = 0; i < 20; i++) {
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&drive_slot(record)->listed) == 0; }));
        tally_ticket forks = tally_raise(&drive_->forking);
        make_ready(record, 10);
        EXPECT_TRUE(drive_krcud_give(drive_, record, 0, false));
        ASSERT_TRUE(test::eventually([&] { return drive_anybody_owed(drive_, false); }));
        rtrcu_store_release(&drive_->forked_ns, plat_clock_now());
        tally_lower(&drive_->forking, forks);
        drive_thread_wake(&drive_->krcud[0].thread);
        drive_before_fork(drive_);
        EXPECT_EQ(left(record), 0u);
        drive_after_fork_parent(drive_);
    }
}

/* One that has just had a queue too: what else is on its list is owed a turn from then on. */
TEST_F(ForkTurn, ADaemonThatIsHeldOffBehindATurnIsOwedTheNext)
{
    static std::atomic<bool> began, may_end;
    keep();
    began = may_end = false;
    reader_record *served = world_.craft(0), *next = world_.craft(0);
    make_ready(served, 1, [](rcu_head *) {
        began = true;
        may_end.wait(false);
    });
    make_ready(next, 1);
    EXPECT_TRUE(test::eventually([&] { return drive_krcud_give(drive_, served, 0, false) && began.load(); }));
    EXPECT_TRUE(drive_krcud_give(drive_, next, 0, false));
    tally_ticket forks = tally_raise(&drive_->forking);
    may_end = true;
    may_end.notify_all();
    EXPECT_TRUE(test::eventually([&] { return drive_anybody_owed(drive_, false); }));
    EXPECT_EQ(left(next), 1u);
    tally_lower(&drive_->forking, forks);
    drive_thread_wake(&drive_->krcud[0].thread);
    EXPECT_TRUE(test::eventually([&] { return left(next) == 0; }));
}

/* In the child of a callback another daemon has the queue by then: it would be given again while it is on a list. */
TEST_F(ForkTurn, ADaemonThatEndsBehindOneLeavesItsQueueToAnother)
{
    keep();
    static struct drive *drive;
    static reader_record *record;
    static std::atomic<bool> began, may_end;
    drive = drive_;
    record = world_.craft(0);
    began = may_end = false;
    drive_->krcud[1].thread.state = DRIVE_RUNNING; /* it does nothing: the queue stays on its list */
    make_ready(record, 1, [](rcu_head *) {
        began = true;
        may_end.wait(false);
        drive->generation++; /* as in the child, which gives the queue anew */
        drive->krcud[0].serving = 0;
        *drive_slot(record) = {};
        EXPECT_TRUE(drive_krcud_give(drive, record, 1, false));
        pthread_exit(nullptr);
    });
    give_until_the_daemon_ends(record, began, may_end);
    EXPECT_EQ(drive_->krcud[1].first, record);
    EXPECT_EQ(drive_slot(record)->listed, 1u) << "it is on that list still";
    EXPECT_EQ(drive_->krcud[0].serving, 0u);
}

/* The same of a turn in a thread that is no daemon. */
TEST_F(ForkTurn, ATurnAsideThatEndsBehindOneLeavesItsQueueToAnother)
{
    static struct drive *drive;
    static reader_record *record;
    drive = drive_;
    record = world_.craft(0);
    drive_->krcud[1].thread.state = DRIVE_RUNNING; /* it does nothing: the queue stays on its list */
    make_ready(record, 1, [](rcu_head *) {
        drive->generation++;
        drive->aside.serving = 0;
        *drive_slot(record) = {};
        EXPECT_TRUE(drive_krcud_give(drive, record, 1, false));
    });
    struct drive_share share = {};
    share.ns = PLAT_FOREVER;
    drive_krcud_serve_here(drive_, record, &share);
    EXPECT_EQ(left(record), 0u);
    EXPECT_EQ(drive_->krcud[1].first, record);
    EXPECT_EQ(drive_slot(record)->listed, 1u) << "it is on that list still";
    EXPECT_EQ(drive_->aside.serving, 0u);
    drive_->krcud[1].thread.state = DRIVE_NONE;
}

/* What its lock guards may be torn, in the child for ever; below the queues' locks nothing is. */
TEST_F(ForkTurn, AHandlerThatInterruptedTheLibraryIsToldSo)
{
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    lock_acquire(&drive_->worker[0].lock);
    EXPECT_DEATH(drive_before_fork(drive_), "fork\\(\\) in a signal handler that interrupted the library");
    lock_release(&drive_->worker[0].lock);
    lock_acquire(&drive_->barrier_lock);
    drive_before_fork(drive_);
    drive_after_fork_parent(drive_);
    lock_release(&drive_->barrier_lock);
}

/* Who read the count before its attempt, and begins to sleep behind the wake-up, does not. */
TEST_F(ForkTurn, TheEndOfAForkIsCounted)
{
    uint32_t before = drive_->fork_event;
    drive_before_fork(drive_);
    EXPECT_EQ(drive_->fork_event, before);
    drive_after_fork_parent(drive_);
    EXPECT_EQ(drive_->fork_event, before + 1);
}

#if defined(__x86_64__)

struct drive *interrupted;
volatile long steps_left;
volatile bool is_child;

/* What the child of a handler has of it, where the thread has another number: it goes on as the child's. */
void fork_behind_a_step(int, siginfo_t *, void *context)
{
    bool late = lock_any_held(UINT32_MAX); /* under these no handler forks */
    if (!test::SteppedBy::comes_to(steps_left, late, context))
        return;
    rtrcu_store_relaxed(&rtrcu_self.thread_id, lock_thread_number() + 1);
    rtrcu_store_relaxed(&interrupted->forker, 0u);
    is_child = true;
}

/* Each later fork of the child would wait for a forker that nobody is. */
TEST_F(ForkTurn, TheForkerIsTheThreadThatTheChildHas)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer delivers signals later, or takes too many steps";
    test::SteppedBy traps(fork_behind_a_step);
    interrupted = drive_;
    long step = 0;
    do {
        is_child = false;
        steps_left = ++step;
        test::SteppedBy::begin();
        drive_before_fork(drive_);
        test::SteppedBy::end();
        drive_after_fork_parent(drive_);
        EXPECT_EQ(drive_->forker, 0u) << "behind instruction " << step;
        rtrcu_store_relaxed(&rtrcu_self.thread_id, 0); /* asked for anew */
    } while (is_child && !HasFailure());
    EXPECT_GT(step, 20);
}

volatile long with_a_forker, without_a_time, told_early;
uint32_t event_before;

void look_for_the_time(int, siginfo_t *, void *)
{
    bool is_free = rtrcu_load_relaxed(&interrupted->forker) == 0;
    with_a_forker = with_a_forker + !is_free;
    told_early = told_early + (!is_free && rtrcu_load_relaxed(&interrupted->fork_event) != event_before);
    without_a_time = without_a_time + (is_free && rtrcu_load_relaxed(&interrupted->forked_ns) == 0);
}

/* Who is next need not be woken: it may come at the first instruction behind which nobody is the forker; and if it
 * reads the event before that, it is told behind it. */
TEST_F(ForkTurn, TheTimeIsSaidBeforeTheNextMayFork)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer delivers signals later, or takes too many steps";
    test::SteppedBy traps(look_for_the_time);
    interrupted = drive_;
    with_a_forker = 0;
    without_a_time = 0;
    told_early = 0;
    drive_before_fork(drive_);
    ASSERT_EQ(drive_->forked_ns, 0);
    event_before = drive_->fork_event;
    test::SteppedBy::begin();
    drive_after_fork_parent(drive_);
    test::SteppedBy::end();
    EXPECT_EQ(drive_->forker, 0u);
    EXPECT_NE(drive_->forked_ns, 0);
    EXPECT_GT(with_a_forker, 10);
    EXPECT_EQ(without_a_time, 0);
    EXPECT_EQ(told_early, 0);
    EXPECT_NE(drive_->fork_event, event_before);
}

#endif

struct drive *forked;
int64_t told_ns;

/* While the next forker is woken, which may have gone on. */
long look_at_the_time()
{
    told_ns = rtrcu_load_relaxed(&forked->forked_ns);
    return 0;
}

/* By the time of an older one it would have waited long enough for whom the fork has held off. */
TEST_F(ForkTurn, WhoIsNextKnowsWhenTheForkEnded)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
    forked = drive_;
    told_ns = -1;
    bool trapped = true;
    int64_t began_ns = plat_clock_now();
    std::thread([&] {
        trapped = test::trap(SYS_futex, &drive_->fork_event, look_at_the_time);
        if (!trapped)
            return;
        drive_before_fork(drive_);
        drive_after_fork_parent(drive_);
    }).join();
    if (!trapped)
        GTEST_SKIP() << "no call can be trapped here";
    EXPECT_GE(told_ns, began_ns);
}

} // namespace
