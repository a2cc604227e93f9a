/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of forks in a program that uses a liburcu flavour: its hooks, pauses of servers, and the child's state. */
#include <atomic>
#include <thread>

#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "world.h"

namespace
{

using Fork = AdoptWorld;

int calls;

void count(void *)
{
    calls++;
}

TEST_F(Fork, ForkHooksAreCounted)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    rtrcu_fork_hooks hooks = {count, count, count, nullptr};
    auto fork = [&] {
        int before = calls;
        urcu_fork_begins(adopted);
        urcu_fork_ends(adopted, false);
        return calls - before;
    };
    urcu_hooks(adopted, &hooks, false); /* a surplus call */
    EXPECT_EQ(fork(), 0);
    urcu_hooks(adopted, &hooks, true);
    urcu_hooks(adopted, &hooks, true);
    EXPECT_EQ(fork(), 2);
    urcu_hooks(adopted, &hooks, false);
    EXPECT_EQ(fork(), 2);
    urcu_hooks(adopted, &hooks, false);
    EXPECT_EQ(fork(), 0);
    EXPECT_EQ(adopted->ordinary.state, static_cast<uint32_t>(WORK_NONE)) << "the parent's servers are unchanged";
}

TEST_F(Fork, ChildCallsItsOwnHook)
{
    static int before, parents, childs;
    before = parents = childs = 0;
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    rtrcu_fork_hooks hooks = {[](void *) { before++; }, [](void *) { parents++; }, [](void *) { childs++; }, nullptr};
    urcu_hooks(adopted, &hooks, true);
    urcu_fork_begins(adopted);
    urcu_fork_ends(adopted, false);
    EXPECT_EQ(before, 1);
    EXPECT_EQ(parents, 1);
    EXPECT_EQ(childs, 0);
    urcu_fork_begins(adopted);
    urcu_after_fork_child(&all_, PLAT_NOBODY);
    urcu_fork_ends(adopted, true);
    EXPECT_EQ(before, 2);
    EXPECT_EQ(parents, 1);
    EXPECT_EQ(childs, 1);
    EXPECT_EQ(adopted->ordinary.state, static_cast<uint32_t>(WORK_RUNNING));
    end_ordinary(adopted);
}

TEST_F(Fork, ParentReleasesTheLocksOfEveryFlavour)
{
    rtrcu_adopted *flavours[] = {adopt(RTRCU_ADOPT_MEMB), adopt(RTRCU_ADOPT_QSBR), adopt(RTRCU_ADOPT_MB)};
    urcu_before_fork(&all_);
    for (const rtrcu_adopted *adopted : flavours) {
        EXPECT_TRUE(lock_is_mine(&adopted->servers_lock));
        EXPECT_TRUE(lock_is_mine(&adopted->words_lock));
    }
    urcu_after_fork_parent(&all_);
    for (const rtrcu_adopted *adopted : flavours) {
        EXPECT_FALSE(lock_is_mine(&adopted->servers_lock));
        EXPECT_FALSE(lock_is_mine(&adopted->words_lock));
    }
}

/* A thread that found a fork in progress before its end sees the changed event, and does not sleep. */
TEST_F(Fork, EndOfAForkChangesTheEventOnWhichThreadsSleep)
{
    urcu_pause(&all_);
    uint32_t event = all_.pause.event;
    urcu_resume(&all_);
    EXPECT_NE(all_.pause.event, event);
    EXPECT_EQ(tally_read(&all_.pause.forking), 0u);
}

/* When the end of a fork wakes sleepers, the event has already changed, so a thread that checks it does not sleep. */
TEST_F(Fork, EndOfAForkIsStoredBeforeSleepersAreWoken)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    static uint32_t *event, woken_at;
    static int wakes;
    event = &all_.pause.event;
    wakes = 0;
    urcu_pause(&all_);
    uint32_t before = all_.pause.event;
    bool trapped = true;
    std::thread([&] {
        trapped = test::trap(SYS_futex, event, [] {
            woken_at = rtrcu_load_relaxed(event);
            wakes++;
            return 0L;
        });
        urcu_resume(&all_);
    }).join();
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
    EXPECT_EQ(wakes, 1);
    EXPECT_NE(woken_at, before);
}

class Pause : public AdoptWorld
{
    std::atomic<pid_t> forker_id_ = 0;

  protected:
    test::Worker forker_;

    void SetUp() override
    {
        AdoptWorld::SetUp();
        config_.fork_wait_us = INT64_C(3600000000);
    }
    /* Start a fork, and return when it sleeps or has ended. */
    void begin()
    {
        forker_id_ = 0;
        forker_.start([&] {
            forker_id_ = static_cast<pid_t>(lock_thread_number());
            urcu_pause(&all_);
        });
        EXPECT_TRUE(
            test::eventually([&] { return forker_.is_done() || (forker_id_ != 0 && test::is_asleep(forker_id_)); }));
    }
};

TEST_F(Pause, PauseWaitsForARunningCallback)
{
    static test::Steps *steps;
    test::Steps own;
    steps = &own;
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    rcu_head head;
    urcu_server_call(&adopted->ordinary, &head, [](rcu_head *) {
        steps->reach(1);
        steps->wait(2);
    });
    (void)urcu_server_urge(&adopted->ordinary);
    steps->wait(1);
    begin();
    EXPECT_FALSE(forker_.is_done());
    steps->reach(2);
    forker_.wait();
    EXPECT_EQ(rtrcu_load_acquire(&adopted->ordinary.serving), 0u);
    urcu_resume(&all_);
    end_ordinary(adopted);
}

/* The fork waits for the running callback only, and not for the rest of the batch. */
TEST_F(Pause, PauseWaitsForOnlyOneCallbackOfABatch)
{
    static test::Steps *steps;
    static std::atomic<int> ran;
    test::Steps own;
    steps = &own;
    ran = 0;
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    rcu_head heads[3] = {};
    urcu_pause(&all_); /* so that the callbacks are invoked in one batch */
    for (rcu_head &head : heads) {
        urcu_server_call(&adopted->ordinary, &head, [](rcu_head *) {
            steps->reach(1);
            steps->wait(2);
            ran++;
        });
    }
    (void)urcu_server_urge(&adopted->ordinary);
    urcu_resume(&all_);
    steps->wait(1);
    begin();
    EXPECT_TRUE(test::eventually([&] { return tally_acquire(&all_.pause.forking) == 1; }));
    steps->reach(2);
    forker_.wait();
    EXPECT_EQ(ran, 1);
    urcu_resume(&all_);
    EXPECT_TRUE(test::eventually([] { return ran == 3; }));
    end_ordinary(adopted);
}

/* A fork does not wait for a server that waits for a producer: the producer may be the forking thread, in which a
 * handler forks. */
TEST_F(Pause, PauseDoesNotWaitForAServerThatWaitsForAProducer)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopt_server *server = &adopted->ordinary;
    static std::atomic<int> ran;
    ran = 0;
    rcu_head heads[2] = {};
    for (rcu_head &head : heads) {
        head.func = [](rcu_head *) { ran++; };
        (void)cbqueue_push(&server->queue, &head, CB_ANYBODY);
    }
    /* the producer of the second callback has not stored the link */
    rtrcu_store_relaxed(&heads[0].next, static_cast<rcu_head *>(nullptr));
    (void)urcu_server_urge(server);
    EXPECT_TRUE(test::eventually(
        [&] { return cbqueue_inbox_is_empty(&server->queue) && rtrcu_load_acquire(&server->serving) != 0; }));
    begin();
    EXPECT_TRUE(test::eventually([&] { return forker_.is_done(); }));
    rtrcu_store_release(&heads[0].next, &heads[1]);
    forker_.wait();
    urcu_resume(&all_);
    EXPECT_TRUE(test::eventually([&] { return ran == 2; }));
    end_ordinary(adopted);
}

/* A fork reads the list of servers under its lock, since servers may be started, stopped or freed meanwhile. */
TEST_F(Pause, PauseReadsServersUnderTheirLock)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    lock_acquire(&adopted->servers_lock);
    begin();
    EXPECT_FALSE(forker_.is_done());
    lock_release(&adopted->servers_lock);
    forker_.wait();
    urcu_resume(&all_);
}

/* While threads fork, a server is held off, but for fork_wait_us at most: then one batch runs. */
TEST_F(Fork, HeldOffServerRunsABatchAfterForkWait)
{
    static std::atomic<int> ran;
    ran = 0;
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    config_.fork_wait_us = 1000;
    rcu_head head = {};
    urcu_pause(&all_); /* until the end of the test */
    urcu_server_call(&adopted->ordinary, &head, [](rcu_head *) { ran++; });
    (void)urcu_server_urge(&adopted->ordinary);
    EXPECT_TRUE(test::eventually([] { return ran == 1; }));
    urcu_resume(&all_);
    end_ordinary(adopted);
}

/* call_rcu_after_fork_parent() without call_rcu_before_fork() has no effect. */
TEST_F(Fork, EndOfAForkWithoutABeginHasNoEffect)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    urcu_fork_ends(adopted, false);
    EXPECT_EQ(tally_read(&all_.pause.forking), 0u);
    urcu_fork_begins(adopted);
    EXPECT_EQ(tally_read(&all_.pause.forking), 1u);
    urcu_fork_ends(adopted, false);
    EXPECT_EQ(tally_read(&all_.pause.forking), 0u);
}

TEST_F(Fork, UnreachableCallbacksAreCountedAsLost)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopt_server *server = &adopted->ordinary;
    rcu_head heads[3] = {};
    for (rcu_head &head : heads)
        (void)cbqueue_push(&server->queue, &head, CB_ANYBODY);
    (void)cbqueue_push(&server->queue, &heads[2], CB_ANYBODY); /* undone below, except for the number that it takes */
    heads[2].next = nullptr;
    server->queue.tail = &heads[2];
    urcu_after_fork_child(&all_, PLAT_NOBODY);
    EXPECT_EQ(cbqueue_enqueued(&server->queue) - server->invoked, 3u);
    struct rtrcu_stats stats = {};
    urcu_stats(adopted, &stats);
    EXPECT_EQ(stats.callbacks_lost_at_fork, 1u);
    cbqueue_init(&server->queue);
}

/* The batch ends before the callback whose link a missing producer has not stored. */
TEST_F(Fork, BatchInTheChildEndsAtAnUnfinishedLink)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopt_server *server = &adopted->ordinary;
    rcu_head heads[3] = {};
    heads[0].next = &heads[1]; /* the link to the last one is not stored yet */
    server->batch.first = &heads[0];
    server->batch.last = &heads[2];
    urcu_after_fork_child(&all_, PLAT_NOBODY);
    EXPECT_EQ(server->batch.first, &heads[0]);
    EXPECT_EQ(server->batch.last, &heads[1]);
    EXPECT_EQ(cbchain_count(&server->batch), 2u);
    server->batch = {};
}

/* In the parent a thread had set a CPU's server and not counted it yet, or the reverse. */
TEST_F(Fork, ChildCountsCpusWithAServer)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    for (uint32_t counted : {0u, 1u, 3u}) {
        for (int cpu : {0, PLAT_CPU_MAX - 1})
            adopted->of_cpu[cpu] = &adopted->ordinary;
        adopted->cpu_servers = counted;
        urcu_after_fork_child(&all_, PLAT_NOBODY);
        EXPECT_EQ(adopted->cpu_servers, 2u);
    }
}

/* A server's thread whose callback forks remains its thread in the child.  Any other server has none. */
TEST_F(Fork, ServersOwnThreadContinuesInTheChild)
{
    constexpr uint32_t parents = 77;
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopt_server *server = &adopted->ordinary;
    rcu_head head = {};
    for (uint32_t forked_by : {parents, parents + 1}) {
        bool survives = forked_by == parents;
        plat_thread_renumber(&server->thread, {parents});
        server->state = WORK_RUNNING;
        server->serving = 1;
        server->joined_by_program = true;
        server->urgent = 1;
        server->held_off_ns = 1;
        server->ended = survives ? 0 : 1;
        server->invoked = 5;
        server->started = 6;
        server->running = &head;
        server->queue.enqueued = 7; /* a callback in progress, and one of a missing producer */
        urcu_after_fork_child(&all_, {forked_by});
        EXPECT_EQ(plat_thread_tid(&server->thread).number, survives ? lock_thread_number() : 0);
        EXPECT_EQ(server->state, static_cast<uint32_t>(survives ? WORK_RUNNING : WORK_NONE));
        EXPECT_EQ(server->serving, survives ? 1u : 0u);
        EXPECT_EQ(server->started, survives ? 6u : 5u);
        EXPECT_FALSE(server->joined_by_program);
        EXPECT_EQ(server->urgent, 0u) << "the parent's urgent request is dropped";
        EXPECT_EQ(server->held_off_ns, 0);
        EXPECT_EQ(server->ended, 0u) << "the server may run again";
        EXPECT_EQ(cbqueue_enqueued(&server->queue), survives ? 6u : 5u) << "the callback that forks is still counted";
    }
    struct rtrcu_stats stats = {};
    urcu_stats(adopted, &stats);
    EXPECT_EQ(stats.callbacks_lost_at_fork, 1u + 2u) << "one lost in the first fork, and two in the second";
}

/* A handler in a server's thread forks, between two callbacks or just before the next one. */
TEST_F(Fork, ForkInAHandlerOfAServersThreadLosesNoCallback)
{
    constexpr uint32_t parents = 77;
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopt_server *server = &adopted->ordinary;
    rcu_head head = {};
    for (uint64_t started : {5u, 6u}) {
        plat_thread_renumber(&server->thread, {parents});
        server->invoked = 5;
        server->started = started;
        server->running = &head;
        server->queue.enqueued = 6;
        server->batch = {&head, &head};
        urcu_after_fork_child(&all_, {parents});
        EXPECT_EQ(cbqueue_enqueued(&server->queue), 6u);
    }
    server->started = 5;
    server->batch = {};
    server->queue.enqueued = 5;
    plat_thread_renumber(&server->thread, {parents});
    urcu_after_fork_child(&all_, {parents});
    EXPECT_EQ(cbqueue_enqueued(&server->queue), 5u);
    struct rtrcu_stats stats = {};
    urcu_stats(adopted, &stats);
    EXPECT_EQ(stats.callbacks_lost_at_fork, 0u);
}

/* A destructor of the exiting thread forks.  The child's barriers must not wait for a thread that no longer serves. */
TEST_F(Fork, ExitingThreadOfAServerDoesNotServeItInTheChild)
{
    constexpr uint32_t parents = 77;
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopt_server *server = &adopted->ordinary;
    plat_thread_renumber(&server->thread, {parents});
    server->state = WORK_RUNNING;
    server->ended = server->stop = 1;
    urcu_after_fork_child(&all_, {parents});
    EXPECT_EQ(server->state, static_cast<uint32_t>(WORK_NONE));
    EXPECT_EQ(plat_thread_tid(&server->thread).number, 0u);
    EXPECT_EQ(server->ended, 0u);
    struct rtrcu_stats stats = {};
    urcu_stats(adopted, &stats);
    EXPECT_EQ(stats.callbacks_lost_at_fork, 0u);
}

/* The child clears the sleeper's word, or the first reader that leaves would make a needless system call. */
TEST_F(Fork, NoThreadSleepsInTheChild)
{
    (void)adopt(RTRCU_ADOPT_MEMB);
    sleeper_ = UINT32_MAX;
    urcu_after_fork_child(&all_, PLAT_NOBODY);
    EXPECT_EQ(sleeper_, 0u);
}

/* The records of other readers are free in the child, even during a grace period. */
TEST_F(Fork, ChildHasOneReader)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    test::Worker other;
    other.run([&] {
        ASSERT_TRUE(urcu_register(adopted));
        block()->word = generation_; /* inside, for ever */
    });
    ASSERT_TRUE(urcu_register(adopted));
    adopt_record *gone = &adopted->first.record[0], *own = &adopted->first.record[1];
    ASSERT_EQ(gone->used, 1u);
    ASSERT_EQ(own->reader, block());
    gone->is_holdout = true;
    adopted->holdouts = 1;
    urcu_after_fork_child(&all_, PLAT_NOBODY);
    EXPECT_EQ(gone->used, 0u);
    EXPECT_EQ(gone->reader, nullptr);
    EXPECT_FALSE(gone->is_holdout);
    EXPECT_EQ(adopted->holdouts, 0u);
    EXPECT_EQ(own->used, 1u);
    EXPECT_EQ(own->reader, block());
    EXPECT_EQ(own->thread_id, lock_thread_number());
    urcu_wait(adopted, urcu_snap(adopted));
    urcu_unregister(adopted);
}

} // namespace
