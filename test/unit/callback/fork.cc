/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a fork's child makes of queues whose owners and invokers it does not have, state by state.
 *
 * Each test leaves a queue as a thread would that stops at one point for ever, then goes on as the child does.  A
 * number that nothing will reach would make rcu_barrier() wait for ever.
 */
#include "../../support/sync.h"
#include "world.h"

namespace
{

constexpr uint32_t missing_thread = 0x7ffffff0, old_thread_id = 0x7ffffff1;

class CallbackFork : public CallbackWorld
{
  protected:
    reader_record *record_ = nullptr;

    void SetUp() override
    {
        CallbackWorld::SetUp();
        record_ = world_.craft(0);
    }
    /* @forks: the record that the forking thread has in the child. */
    void fork(reader_record *forks = nullptr, uint32_t forker = old_thread_id)
    {
        reader_after_fork_child(world_.registry(), forks);
        parked_after_fork_child(world_.registry());
        gp_after_fork_child(world_.gp());
        callback_after_fork_child(cb_, {forker});
        test::let_go(world_.registry(), READER_SERVE);
    }
    /* A thread that the child does not have stands before the first callback of what is ready, or is inside. */
    void begin_elsewhere(bool inside = true)
    {
        cb_queue *queue = &callback_slot(record_)->queue;
        cbqueue_join(&queue->batch, queue->ready);
        queue->ready = {nullptr, nullptr};
        queue->running = queue->batch.first;
        queue->started++;
        queue->claim = missing_thread;
        if (inside)
            cbqueue_pop(&queue->batch);
    }
    void free_pointers(int count)
    {
        for (int i = 0; i < count; i++)
            callback_free(cb_, record_, {malloc(8), free});
    }
    /* A thread that the child does not have has freed the first @done pointers, and begun with the next. */
    void begin_to_free_elsewhere(int pointers, uint64_t done)
    {
        free_pointers(pointers);
        make_ready(record_);
        invoke(record_, at_most(done + 1));
        callback_slot(record_)->free_done = done;
        callback_slot(record_)->queue.claim = missing_thread;
    }
    /* The owner, which the child does not have, stands in a call, behind its taking out of the ring of @newest. */
    void have_out(void *newest)
    {
        callback_slot(record_)->free_block = static_cast<char *>(newest) + CALLBACK_FREE_OUT;
    }
    /* The queue is the forking thread's own. */
    void fork_by_the_owner()
    {
        rtrcu_self.record = record_;
        fork();
        rtrcu_self.record = nullptr;
    }
    /* The child's rcu_barrier(): the driver's passes until its goal is reached. */
    void expect_barrier_ends()
    {
        callback_barrier_set(cb_);
        for (int pass = 0; pass < 4 && !callback_barrier_reached(cb_); pass++) {
            make_ready(record_);
            invoke(record_, everything());
        }
        EXPECT_TRUE(callback_barrier_reached(cb_));
    }
};

/* A leaf that was hung during the fork: whoever holds its queues would have another thread beside it. */
TEST_F(CallbackFork, TheParentReleasesOnlyWhatItHasLocked)
{
    callback_before_fork(cb_);
    world_.fill_last_leaf();
    reader_leaf *hung = world_.craft(0)->leaf;
    ASSERT_NE(hung, record_->leaf);
    const lock *theirs = &callback_leaf(hung)->lock;
    test::Worker driver;
    bool kept = false;
    driver.run([&] { callback_queues_lock(hung); });
    callback_after_fork_parent(cb_);
    EXPECT_FALSE(lock_is_mine(&callback_leaf(record_->leaf)->lock));
    driver.run([&] {
        kept = lock_is_mine(theirs);
        if (kept)
            callback_queues_unlock(hung);
    });
    EXPECT_TRUE(kept);
}

TEST_F(CallbackFork, WhatIsQueuedIsKeptInEveryStage)
{
    queue_ready(record_, 4);
    invoke(record_, at_most(1)); /* three are left in the batch */
    queue_ready(record_, 1);
    enqueue(record_);
    callback_collect(cb_);
    enqueue(record_);
    world_.registry()->registered = 1;
    tally_raise(&cb_->barriers);
    fork();
    EXPECT_EQ(tally_read(&cb_->barriers), 0u) << "nobody in the child waits";
    EXPECT_EQ(callback_pending(record_), 6u);
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 7));
    EXPECT_EQ(cb_->lost_at_fork.count, 0u);
}

TEST_F(CallbackFork, WhereNothingWaitsNoGracePeriodIsAskedFor)
{
    fork();
    EXPECT_FALSE(gp_is_needed(world_.gp(), GP_NORMAL));
    enqueue(record_);
    callback_collect(cb_);
    fork();
    EXPECT_TRUE(gp_is_needed(world_.gp(), GP_NORMAL));
}

TEST_F(CallbackFork, WhatWaitsAsksForAGracePeriodOfTheChild)
{
    enqueue(record_);
    callback_collect(cb_);
    world_.gp()->machine[GP_NORMAL].needed = gp_seq(world_.gp(), GP_NORMAL); /* whoever asked was the parent */
    fork();
    EXPECT_TRUE(gp_is_needed(world_.gp(), GP_NORMAL));
    expect_barrier_ends();
}

TEST_F(CallbackFork, ALeafWhereNothingWaitsIsNotLookedAt)
{
    auto is_looked_at = [&] { return callback_next_marked(&cb_->busy_leaves, world_.registry(), nullptr) != nullptr; };
    fork();
    EXPECT_FALSE(is_looked_at());
    EXPECT_FALSE(callback_anything_new(cb_));
    record_ = world_.craft(0);
    enqueue(record_);
    callback_collect(cb_);
    fork();
    EXPECT_TRUE(is_looked_at());
    EXPECT_FALSE(callback_has_ready(record_)) << "what waits is not ready";
    expect_barrier_ends();
}

/* All has returned, and the driver has not come by since. */
TEST_F(CallbackFork, ALeafWhereAllHasReturnedIsNotLookedAt)
{
    queue_ready(record_, 2);
    invoke(record_, everything());
    ASSERT_NE(callback_next_marked(&cb_->busy_leaves, world_.registry(), nullptr), nullptr);
    fork();
    EXPECT_EQ(callback_next_marked(&cb_->busy_leaves, world_.registry(), nullptr), nullptr);
}

/* The driver's pass was between making them ready and saying so. */
TEST_F(CallbackFork, WhatIsReadyIsSaidToBe)
{
    queue_ready(record_, 2);
    callback_slot(record_)->queue.has_ready = 0;
    fork();
    EXPECT_TRUE(callback_has_ready(record_));
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 2));
}

/* The child's driver has chosen nobody yet to run them.  The record is alone in its leaf. */
TEST_F(CallbackFork, WhoRunsWhatIsReadyIsChosenAnew)
{
    world_.fill_last_leaf();
    record_ = world_.craft(0);
    queue_ready(record_, 1);
    ASSERT_NE(callback_ready(record_->leaf) & reader_bit(record_), 0u);
    fork();
    EXPECT_EQ(callback_ready(record_->leaf) & reader_bit(record_), 0u);
    expect_barrier_ends();
}

/* Of the threads that were awake for real-time work the child has the one that forked, if that was. */
TEST_F(CallbackFork, OnlyTheForkingThreadIsAwakeStill)
{
    cb_->rt_awake[0] = 2;
    cb_->rt_awake[2] = 3;
    rtrcu_self.rt_awake_cpu = 3;
    fork();
    rtrcu_self.rt_awake_cpu = 0;
    EXPECT_EQ(cb_->rt_awake[0], 0u);
    EXPECT_EQ(cb_->rt_awake[2], 1u);
    fork();
    EXPECT_EQ(cb_->rt_awake[2], 0u);
}

/* The child gives its owner the time anew, however long the parent's last pass lies back. */
TEST_F(CallbackFork, AnOwnerIsNotLateWithWhatWasReadyInItsParent)
{
    constexpr int64_t later_ns = INT64_C(1000) * CALLBACK_OWNER_LATE_NS;
    queue_ready(record_, 1);
    EXPECT_EQ(advance(record_, 2000), CALLBACK_OWNER);
    fork(record_);
    EXPECT_EQ(advance(record_, later_ns), CALLBACK_OWNER);
    EXPECT_EQ(advance(record_, 2 * later_ns), CALLBACK_DAEMON);
    expect_barrier_ends();
}

TEST_F(CallbackFork, TheSlotOfAMissingThreadIsGivenBack)
{
    reader_record *idle = world_.craft(0);
    enqueue(record_);
    fork();
    EXPECT_EQ(reader_slot_take(world_.registry()), idle);
    expect_barrier_ends();
    serve_release_slot(record_);
    EXPECT_EQ(reader_slot_take(world_.registry()), record_);
}

/* ---- an enqueue under way ---- */

TEST_F(CallbackFork, BetweenNumberAndExchange)
{
    enqueue(record_);
    callback_slot(record_)->queue.enqueued++; /* another one has its number, and nothing more */
    callback_slot(record_)->queue.enqueuing = &item()->head;
    fork();
    EXPECT_EQ(cb_->lost_at_fork.count, 1u);
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 1));
}

/* The forking thread was in rcu_barrier(), and goes on there: the number that is nobody's was its goal. */
TEST_F(CallbackFork, ABarrierWaitsForNoNumberThatIsLost)
{
    enqueue(record_);
    free_pointers(1);
    callback_slot(record_)->queue.enqueued++;
    callback_slot(record_)->queue.enqueuing = &item()->head;
    callback_slot(record_)->free_queued++; /* another pointer has its number, and nothing more */
    callback_barrier_set(cb_);
    fork();
    EXPECT_EQ(cb_->lost_at_fork.count, 2u);
    for (int pass = 0; pass < 4 && !callback_barrier_reached(cb_); pass++) {
        make_ready(record_);
        invoke(record_, everything());
    }
    EXPECT_TRUE(callback_barrier_reached(cb_));
    EXPECT_EQ(order_, numbers(0, 1));
}

/* Nor for what was queued behind its goal, in the child or before. */
TEST_F(CallbackFork, ABarrierThatGoesOnKeepsItsGoals)
{
    enqueue(record_);
    free_pointers(1);
    callback_barrier_set(cb_);
    enqueue(record_);
    free_pointers(1);
    fork();
    EXPECT_EQ(callback_barrier_left(record_), 2u);
    expect_barrier_ends();
}

TEST_F(CallbackFork, BetweenExchangeAndLink)
{
    enqueue(record_);
    Item *open = item();
    cb_queue *queue = &callback_slot(record_)->queue;
    open->head = {nullptr, note};
    queue->enqueued++;
    queue->enqueuing = &open->head;
    queue->tail = &open->head;
    fork();
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 2));
    EXPECT_EQ(cb_->lost_at_fork.count, 0u);
}

TEST_F(CallbackFork, BetweenLinkAndDirtyBit)
{
    enqueue(record_);
    callback_leaf(record_->leaf)->dirty = 0;
    fork();
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 1));
}

TEST_F(CallbackFork, AnOpenLinkThatWasTakenAlready)
{
    enqueue(record_);
    enqueue(record_);
    callback_collect(cb_);
    items_[0].head.next = nullptr; /* the owner stands before its link, the collector has taken the inbox */
    callback_slot(record_)->queue.enqueuing = &items_[1].head;
    fork();
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 2));
}

/* ---- a batch under way ---- */

TEST_F(CallbackFork, AboutToBeginIsRunInTheChild)
{
    queue_ready(record_, 2);
    begin_elsewhere(false);
    fork();
    EXPECT_EQ(callback_slot(record_)->queue.enqueued, 2u);
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 2));
    EXPECT_EQ(cb_->lost_at_fork.count, 0u);
}

TEST_F(CallbackFork, BegunElsewhereIsNeitherRunAgainNorWaitedFor)
{
    queue_ready(record_, 3);
    for (uint64_t lost : {1u, 2u}) {
        begin_elsewhere();
        fork();
        EXPECT_EQ(cb_->lost_at_fork.count, lost) << "counted";
    }
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(2, 3));
    EXPECT_EQ(callback_slot(record_)->queue.claim, 0u);
}

TEST_F(CallbackFork, TheLastOfABatchBegunElsewhere)
{
    queue_ready(record_, 1);
    begin_elsewhere();
    fork();
    expect_barrier_ends();
    EXPECT_TRUE(order_.empty());
}

/* The first thread of a sandbox has the number 1. */
TEST_F(CallbackFork, BegunByThreadNumberOne)
{
    queue_ready(record_, 2);
    begin_elsewhere();
    callback_slot(record_)->queue.claim = 1;
    fork();
    EXPECT_EQ(callback_slot(record_)->queue.claim, 0u);
    EXPECT_EQ(cb_->lost_at_fork.count, 1u);
    expect_barrier_ends();
    callback_slot(record_)->queue.claim = 1;
    fork(nullptr, 1);
    EXPECT_EQ(callback_slot(record_)->queue.claim, lock_thread_number()) << "who forks goes on with the batch";
    callback_slot(record_)->queue.claim = 0;
}

TEST_F(CallbackFork, BetweenTwoCallbacksOfABatch)
{
    queue_ready(record_, 3);
    invoke(record_, at_most(1));
    callback_slot(record_)->queue.claim = missing_thread;
    fork();
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 3));
}

struct Forker {
    rcu_head head;
    callback *cb;
    reader_record *record;
};

/* A fork inside a callback: in the child the batch goes on in the thread that forked.  The daemon that has come for the
 * queue is not there. */
void fork_inside(rcu_head *head)
{
    Forker *forker = container_of(head, Forker, head);
    plat_tid before = lock_thread_id();
    EXPECT_TRUE(callback_want(forker->record));
    reader_after_fork_child(forker->cb->registry, nullptr);
    callback_after_fork_child(forker->cb, before);
}

TEST_F(CallbackFork, InsideACallbackTheBatchGoesOn)
{
    Forker forker = {{}, cb_, record_};
    enqueue(record_);
    callback_enqueue(cb_, record_, &forker.head, fork_inside);
    enqueue(record_);
    make_ready(record_);
    EXPECT_EQ(invoke(record_, everything()), 3u);
    EXPECT_EQ(order_, numbers(0, 2));
    EXPECT_EQ(callback_slot(record_)->queue.claim, 0u);
    expect_barrier_ends();
    EXPECT_EQ(cb_->lost_at_fork.count, 0u);
}

/* ---- frees under way ---- */

TEST_F(CallbackFork, GatheredPointersAreKept)
{
    free_pointers(10);
    fork();
    expect_barrier_ends();
    EXPECT_EQ(callback_slot(record_)->free_done, callback_slot(record_)->free_queued);
    EXPECT_EQ(cb_->lost_at_fork.count, 0u);
}

/* At every place of a block, its last pointer included: the one that was begun is lost, the rest is freed. */
TEST_F(CallbackFork, WhileAPointerIsFreedElsewhere)
{
    for (uint64_t done = 0; done < 7; done++) {
        uint64_t lost = cb_->lost_at_fork.count;
        struct callback_slot *slot = callback_slot(record_);
        slot->free_queued = slot->free_done = slot->free_started = 0;
        begin_to_free_elsewhere(7, done);
        fork();
        EXPECT_EQ(cb_->lost_at_fork.count, lost + 1) << done;
        expect_barrier_ends();
        EXPECT_EQ(callback_pending(record_), 0u) << done;
        EXPECT_EQ(callback_slot(record_)->free_done, 7u) << done;
        serve_release_slot(record_);
        ASSERT_EQ(world_.craft(0), record_) << "the slot was given back";
    }
}

/* Of the forking thread's own queue nothing is counted anew, since it may stand in the midst of a call. */
TEST_F(CallbackFork, WhileAPointerOfTheForkingThreadIsFreedElsewhere)
{
    begin_to_free_elsewhere(10, 4);
    fork_by_the_owner();
    EXPECT_EQ(cb_->lost_at_fork.count, 1u);
    expect_barrier_ends();
    EXPECT_EQ(callback_pending(record_), 0u);
}

/* It has its number, and goes on with the link in the child. */
TEST_F(CallbackFork, WhileTheForkingThreadIsInACall)
{
    enqueue(record_);
    callback_slot(record_)->queue.enqueued++;
    callback_slot(record_)->queue.enqueuing = &item()->head;
    fork_by_the_owner();
    EXPECT_EQ(cb_->lost_at_fork.count, 0u);
    EXPECT_EQ(callback_slot(record_)->queue.enqueued, 2u);
    callback_slot(record_)->queue.enqueued--;
    expect_barrier_ends();
}

/* The last pointer of the block is freed, and the block stands at the head yet. */
TEST_F(CallbackFork, ABlockWhoseLastPointerWasBegunElsewhere)
{
    free_pointers(CALLBACK_FREE_POINTERS + 1);
    make_ready(record_);
    invoke(record_, at_most(CALLBACK_FREE_POINTERS - 1));
    rcu_head *block = callback_slot(record_)->queue.batch.first;
    callback_slot(record_)->free_started++;
    callback_slot(record_)->queue.claim = missing_thread;
    fork();
    EXPECT_EQ(cb_->lost_at_fork.count, 1u);
    expect_barrier_ends();
    EXPECT_EQ(callback_slot(record_)->free_done, CALLBACK_FREE_POINTERS + 1u);
    callback_slot(record_)->queue.batch = {block, block}; /* the parent's: here it would be a leak */
    callback_slot(record_)->free_done = CALLBACK_FREE_POINTERS - 1;
    callback_free_one(record_);
}

/* A daemon was given the slot when its last callback had let it go: whoever takes it next in the child finds it
 * unclaimed. */
TEST_F(CallbackFork, ADaemonHadASlotThatNobodyHas)
{
    world_.withdraw(record_);
    callback_slot(record_)->queue.claim = missing_thread;
    fork();
    ASSERT_EQ(world_.craft(0), record_);
    queue_ready(record_, 2);
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 2));
}

TEST_F(CallbackFork, WhileTheOwnerHasItsBlocksOut)
{
    free_pointers(2 * CALLBACK_FREE_POINTERS + 1);
    have_out(callback_slot(record_)->free_block);
    fork();
    EXPECT_EQ(callback_pending(record_), 2 * CALLBACK_FREE_POINTERS + 1u);
    expect_barrier_ends();
    EXPECT_EQ(callback_pending(record_), 0u);
    EXPECT_EQ(cb_->lost_at_fork.count, 0u);
}

/* At every block: one that is linked and not shown yet comes with the others, in order. */
TEST_F(CallbackFork, WhileTheOwnerHasLinkedABlockThatIsNotShown)
{
    for (int full = 1; full <= 3; full++) {
        free_pointers(full * CALLBACK_FREE_POINTERS);
        void *shown = callback_slot(record_)->free_block;
        free_pointers(1);
        ASSERT_NE(callback_slot(record_)->free_block, shown);
        have_out(shown);
        fork();
        EXPECT_EQ(callback_pending(record_), full * CALLBACK_FREE_POINTERS + 1u);
        expect_barrier_ends();
        EXPECT_EQ(callback_pending(record_), 0u);
        EXPECT_EQ(cb_->lost_at_fork.count, 0u);
        serve_release_slot(record_);
        ASSERT_EQ(world_.craft(0), record_) << "the slot was given back";
    }
}

/* The owner has the ring out, and a pointer's number and nothing more. */
TEST_F(CallbackFork, WhileTheOwnerAddsAPointer)
{
    free_pointers(CALLBACK_FREE_POINTERS - 1);
    have_out(callback_slot(record_)->free_block);
    callback_slot(record_)->free_queued++;
    fork();
    EXPECT_EQ(cb_->lost_at_fork.count, 1u);
    EXPECT_EQ(callback_pending(record_), CALLBACK_FREE_POINTERS - 1u);
    expect_barrier_ends();
    EXPECT_EQ(callback_pending(record_), 0u);
}

TEST_F(CallbackFork, AfterAFreeWasLostLaterOnesAreWaitedFor)
{
    callback_slot(record_)->free_queued++;
    fork();
    EXPECT_EQ(cb_->lost_at_fork.count, 1u);
    expect_barrier_ends();
    ASSERT_EQ(world_.craft(0), record_) << "the slot was given back";
    free_pointers(1);
    callback_barrier_set(cb_);
    EXPECT_FALSE(callback_barrier_reached(cb_));
    make_ready(record_);
    invoke(record_, everything());
    EXPECT_TRUE(callback_barrier_reached(cb_));
}

/* The forking thread is in a callback of a queue whose owner is not in the child, and stood in the midst of a call. */
void fork_inside_with_a_number_more(rcu_head *head)
{
    reader_record *record = container_of(head, Forker, head)->record;
    callback_slot(record)->queue.enqueued++;
    fork_inside(head);
}

TEST_F(CallbackFork, InsideACallbackOfAQueueWhoseOwnerWasInACall)
{
    Forker forker = {{}, cb_, record_};
    callback_enqueue(cb_, record_, &forker.head, fork_inside_with_a_number_more);
    enqueue(record_);
    make_ready(record_);
    EXPECT_EQ(invoke(record_, everything()), 2u);
    EXPECT_EQ(cb_->lost_at_fork.count, 1u);
    EXPECT_EQ(callback_pending(record_), 0u);
    expect_barrier_ends();
}

/* The same in a function of rcu_retire(), at every place of a block. */
void fork_inside_retired(void *forker)
{
    if (forker)
        fork_inside(&static_cast<Forker *>(forker)->head);
}

TEST_F(CallbackFork, InsideARetiredFunction)
{
    constexpr uint64_t count = CALLBACK_FREE_RETIRED + 1;
    for (uint64_t at = 0; at < count; at++) {
        Forker forker = {{}, cb_, record_};
        for (uint64_t i = 0; i < count; i++)
            ASSERT_LT(callback_free(cb_, record_, {i == at ? &forker : nullptr, fork_inside_retired}),
                      CALLBACK_NO_MEMORY);
        make_ready(record_);
        EXPECT_EQ(invoke(record_, everything()), count);
        EXPECT_EQ(cb_->lost_at_fork.count, 0u);
        EXPECT_EQ(callback_pending(record_), 0u) << at;
        expect_barrier_ends();
        record_ = world_.craft(0);
    }
}

} // namespace
