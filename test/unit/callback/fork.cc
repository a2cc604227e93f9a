/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of queues in a fork's child, where their owners and invokers do not exist.  Each test leaves a queue in the
 * state at one point of a call or a batch, calls the fork handlers, then runs the child's rcu_barrier(), which must not
 * wait for a callback that the fork lost. */
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
    /* Run the fork handlers of the child.  @forks is the forking thread's record, which the child keeps. */
    void fork(reader_record *forks = nullptr, uint32_t forker = old_thread_id)
    {
        reader_after_fork_child(world_.registry(), forks);
        parked_after_fork_child(world_.registry());
        gp_after_fork_child(world_.gp());
        callback_after_fork_child(cb_, {forker});
        test::let_go(world_.registry(), READER_SERVE);
    }
    /* Make the queue look as if a thread that the child does not have were about to run the first ready callback, or
     * with @inside were running it. */
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
    /* Make the queue look as if a thread that the child does not have had freed the first @done pointers, and were
     * freeing the next one. */
    void begin_to_free_elsewhere(int pointers, uint64_t done)
    {
        free_pointers(pointers);
        make_ready(record_);
        invoke(record_, at_most(done + 1));
        callback_slot(record_)->free_done = done;
        callback_slot(record_)->queue.claim = missing_thread;
    }
    /* Make the slot look as if its owner, which the child does not have, had detached the block ring that ends with
     * @newest. */
    void have_out(void *newest)
    {
        callback_slot(record_)->free_block = static_cast<char *>(newest) + CALLBACK_FREE_OUT;
    }
    /* Fork in the thread that owns the queue. */
    void fork_by_the_owner()
    {
        rtrcu_self.record = record_;
        fork();
        rtrcu_self.record = nullptr;
    }
    /* The child's rcu_barrier(): makes up to four driver's passes, and expects that they reach its goal. */
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

/* A leaf was linked after callback_before_fork(), which therefore did not take its lock; another thread holds it. */
TEST_F(CallbackFork, ParentReleasesOnlyTheLocksItTook)
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

TEST_F(CallbackFork, QueuedCallbacksAreKeptInEveryStage)
{
    queue_ready(record_, 4);
    invoke(record_, at_most(1)); /* three callbacks stay in the batch */
    queue_ready(record_, 1);
    enqueue(record_);
    callback_collect(cb_);
    enqueue(record_);
    world_.registry()->registered = 1;
    tally_raise(&cb_->barriers);
    fork();
    EXPECT_EQ(tally_read(&cb_->barriers), 0u) << "no thread of the child waits";
    EXPECT_EQ(callback_pending(record_), 6u);
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 7));
    EXPECT_EQ(cb_->lost_at_fork.count, 0u);
}

TEST_F(CallbackFork, EmptyQueuesRequestNoGracePeriod)
{
    fork();
    EXPECT_FALSE(gp_is_needed(world_.gp(), GP_NORMAL));
    enqueue(record_);
    callback_collect(cb_);
    fork();
    EXPECT_TRUE(gp_is_needed(world_.gp(), GP_NORMAL));
}

TEST_F(CallbackFork, WaitingCallbacksRequestAGracePeriodOfTheChild)
{
    enqueue(record_);
    callback_collect(cb_);
    world_.gp()->machine[GP_NORMAL].needed = gp_seq(world_.gp(), GP_NORMAL); /* the request was made in the parent */
    fork();
    EXPECT_TRUE(gp_is_needed(world_.gp(), GP_NORMAL));
    expect_barrier_ends();
}

TEST_F(CallbackFork, LeafWithoutWaitingCallbacksIsSkipped)
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
    EXPECT_FALSE(callback_has_ready(record_)) << "waiting callbacks are not ready";
    expect_barrier_ends();
}

/* All callbacks have returned, but no pass of the driver has unmarked the leaf. */
TEST_F(CallbackFork, LeafWhoseCallbacksHaveAllReturnedIsSkipped)
{
    queue_ready(record_, 2);
    invoke(record_, everything());
    ASSERT_NE(callback_next_marked(&cb_->busy_leaves, world_.registry(), nullptr), nullptr);
    fork();
    EXPECT_EQ(callback_next_marked(&cb_->busy_leaves, world_.registry(), nullptr), nullptr);
}

/* The driver had made the callbacks ready, but not set has_ready. */
TEST_F(CallbackFork, ChildMarksReadyCallbacksThatTheDriverHadNotMarked)
{
    queue_ready(record_, 2);
    callback_slot(record_)->queue.has_ready = 0;
    fork();
    EXPECT_TRUE(callback_has_ready(record_));
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 2));
}

/* The record is the only one of its leaf.  The fork clears its bit of ready callbacks, so the child's driver chooses
 * the invoker again. */
TEST_F(CallbackFork, ChildChoosesTheInvokerOfReadyCallbacks)
{
    world_.fill_last_leaf();
    record_ = world_.craft(0);
    queue_ready(record_, 1);
    ASSERT_NE(callback_ready(record_->leaf) & reader_bit(record_), 0u);
    fork();
    EXPECT_EQ(callback_ready(record_->leaf) & reader_bit(record_), 0u);
    expect_barrier_ends();
}

/* Of the threads that announced real-time work, the child has only the forking thread, if it was one of them. */
TEST_F(CallbackFork, ChildCountsOnlyTheForkingThreadsRealTimeWork)
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

/* In the child, the time after which an owner counts as late begins with the driver's first pass. */
TEST_F(CallbackFork, OwnerIsNotLateWithCallbacksReadyInItsParent)
{
    constexpr int64_t later_ns = INT64_C(1000) * CALLBACK_OWNER_LATE_NS;
    queue_ready(record_, 1);
    EXPECT_EQ(advance(record_, 2000), CALLBACK_OWNER);
    fork(record_);
    EXPECT_EQ(advance(record_, later_ns), CALLBACK_OWNER);
    EXPECT_EQ(advance(record_, 2 * later_ns), CALLBACK_DAEMON);
    expect_barrier_ends();
}

TEST_F(CallbackFork, SlotOfAMissingThreadIsReleased)
{
    reader_record *idle = world_.craft(0);
    enqueue(record_);
    fork();
    EXPECT_EQ(reader_slot_take(world_.registry()), idle);
    expect_barrier_ends();
    serve_release_slot(record_);
    EXPECT_EQ(reader_slot_take(world_.registry()), record_);
}

/* ---- an enqueue in progress ---- */

TEST_F(CallbackFork, HeadIsLostIfTheForkPrecedesItsExchange)
{
    enqueue(record_);
    callback_slot(record_)->queue.enqueued++; /* a call has taken its number, but not exchanged the tail */
    callback_slot(record_)->queue.enqueuing = &item()->head;
    fork();
    EXPECT_EQ(cb_->lost_at_fork.count, 1u);
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 1));
}

/* The forking thread is in rcu_barrier(), whose goals include a callback and a pointer that the fork loses. */
TEST_F(CallbackFork, BarrierDoesNotWaitForLostCallbacks)
{
    enqueue(record_);
    free_pointers(1);
    callback_slot(record_)->queue.enqueued++;
    callback_slot(record_)->queue.enqueuing = &item()->head;
    callback_slot(record_)->free_queued++; /* a call has taken a number, but not stored its pointer */
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

/* Callbacks and pointers queued after the goals were set do not raise them. */
TEST_F(CallbackFork, ContinuedBarrierKeepsItsGoals)
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

TEST_F(CallbackFork, HeadIsKeptIfTheForkPrecedesItsLink)
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

TEST_F(CallbackFork, HeadIsKeptIfTheForkPrecedesItsDirtyBit)
{
    enqueue(record_);
    callback_leaf(record_->leaf)->dirty = 0;
    fork();
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 1));
}

TEST_F(CallbackFork, UnfinishedLinkOfCollectedHeadsIsFinished)
{
    enqueue(record_);
    enqueue(record_);
    callback_collect(cb_);
    items_[0].head.next = nullptr; /* the link is not stored yet, but the inbox was collected */
    callback_slot(record_)->queue.enqueuing = &items_[1].head;
    fork();
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 2));
}

/* ---- a batch in progress ---- */

TEST_F(CallbackFork, CallbackThatHasNotBegunRunsInTheChild)
{
    queue_ready(record_, 2);
    begin_elsewhere(false);
    fork();
    EXPECT_EQ(callback_slot(record_)->queue.enqueued, 2u);
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 2));
    EXPECT_EQ(cb_->lost_at_fork.count, 0u);
}

TEST_F(CallbackFork, CallbackThatAnotherThreadRanIsNeitherRunNorWaitedFor)
{
    queue_ready(record_, 3);
    for (uint64_t lost : {1u, 2u}) {
        begin_elsewhere();
        fork();
        EXPECT_EQ(cb_->lost_at_fork.count, lost) << "each lost callback is counted";
    }
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(2, 3));
    EXPECT_EQ(callback_slot(record_)->queue.claim, 0u);
}

TEST_F(CallbackFork, LastCallbackOfAnotherThreadsBatchIsDropped)
{
    queue_ready(record_, 1);
    begin_elsewhere();
    fork();
    expect_barrier_ends();
    EXPECT_TRUE(order_.empty());
}

/* The claim of thread number 1 is a claim like any other: the first thread of a PID namespace has that number. */
TEST_F(CallbackFork, ForksChildEndsTheClaimOfTheThreadWithIdOne)
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
    EXPECT_EQ(callback_slot(record_)->queue.claim, lock_thread_number()) << "the forking thread continues the batch";
    callback_slot(record_)->queue.claim = 0;
}

TEST_F(CallbackFork, RestOfABatchInterruptedByAForkIsKept)
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

/* A callback that calls the fork handlers and continues as in the child.  Before the fork, the claim is marked as
 * wanted by another thread. */
void fork_inside(rcu_head *head)
{
    Forker *forker = container_of(head, Forker, head);
    plat_tid before = lock_thread_id();
    EXPECT_TRUE(callback_want(forker->record));
    reader_after_fork_child(forker->cb->registry, nullptr);
    callback_after_fork_child(forker->cb, before);
}

TEST_F(CallbackFork, ForkInsideACallbackContinuesTheBatch)
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

/* ---- frees in progress ---- */

TEST_F(CallbackFork, PointersOfAPartlyFilledBlockAreKept)
{
    free_pointers(10);
    fork();
    expect_barrier_ends();
    EXPECT_EQ(callback_slot(record_)->free_done, callback_slot(record_)->free_queued);
    EXPECT_EQ(cb_->lost_at_fork.count, 0u);
}

/* The pointer whose free had begun is lost and the others are freed, at every position of a block. */
TEST_F(CallbackFork, PointerThatAnotherThreadWasFreeingIsDropped)
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
        ASSERT_EQ(world_.craft(0), record_) << "the slot was released";
    }
}

/* The numbers of the forking thread's own queue are kept, since the thread may be inside a call. */
TEST_F(CallbackFork, ForkingThreadsPointerThatAnotherThreadWasFreeingIsDropped)
{
    begin_to_free_elsewhere(10, 4);
    fork_by_the_owner();
    EXPECT_EQ(cb_->lost_at_fork.count, 1u);
    expect_barrier_ends();
    EXPECT_EQ(callback_pending(record_), 0u);
}

/* The forking thread has taken a number inside a call, which continues in the child. */
TEST_F(CallbackFork, ForkInsideCallRcuKeepsTheNumberOfTheCallback)
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

/* The free of the block's last pointer has begun, and the block is still at the head of the batch. */
TEST_F(CallbackFork, BlockWithOnlyALostPointerIsFreed)
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
    callback_slot(record_)->queue.batch = {block,
                                           block}; /* restore the block and free it, or it would leak in this process */
    callback_slot(record_)->free_done = CALLBACK_FREE_POINTERS - 1;
    callback_free_one(record_);
}

/* A daemon held the claim of an exited thread's queue.  The thread that takes the slot in the child can run it. */
TEST_F(CallbackFork, ChildEndsADaemonsClaimOnAnExitedThreadsQueue)
{
    world_.withdraw(record_);
    callback_slot(record_)->queue.claim = missing_thread;
    fork();
    ASSERT_EQ(world_.craft(0), record_);
    queue_ready(record_, 2);
    expect_barrier_ends();
    EXPECT_EQ(order_, numbers(0, 2));
}

TEST_F(CallbackFork, DetachedBlocksOfAMissingOwnerAreKept)
{
    free_pointers(2 * CALLBACK_FREE_POINTERS + 1);
    have_out(callback_slot(record_)->free_block);
    fork();
    EXPECT_EQ(callback_pending(record_), 2 * CALLBACK_FREE_POINTERS + 1u);
    expect_barrier_ends();
    EXPECT_EQ(callback_pending(record_), 0u);
    EXPECT_EQ(cb_->lost_at_fork.count, 0u);
}

/* A block that is linked but not yet published is collected with the full blocks before it. */
TEST_F(CallbackFork, LinkedButUnpublishedBlockIsKept)
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

/* The owner has detached the ring and numbered a pointer, but not stored it. */
TEST_F(CallbackFork, HalfAddedPointerIsCountedAsLost)
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

TEST_F(CallbackFork, BarrierWaitsForFreesQueuedAfterALostFree)
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

/* A callback that calls fork_inside() while the queue's owner, which the child does not have, is inside call_rcu(): the
 * owner has taken a number, but not queued its callback. */
void fork_inside_with_a_number_more(rcu_head *head)
{
    reader_record *record = container_of(head, Forker, head)->record;
    callback_slot(record)->queue.enqueued++;
    fork_inside(head);
}

TEST_F(CallbackFork, CallOfAnotherThreadIsCountedAsLostIfACallbackForks)
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

/* A function for rcu_retire(): calls fork_inside() if its object is a Forker, and does nothing for a null object. */
void fork_inside_retired(void *forker)
{
    if (forker)
        fork_inside(&static_cast<Forker *>(forker)->head);
}

TEST_F(CallbackFork, ForkInsideARetiredFunctionContinues)
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
