/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of callbacks from the inbox to their call, of limits, and of barrier goals, without a driver. */
#include <thread>

#include "../../support/sync.h"
#include "world.h"

namespace
{

class Callback : public CallbackWorld
{
};

TEST_F(Callback, CallbackWaitsForAWholeGracePeriod)
{
    reader_record *record = world_.craft(0);
    EXPECT_TRUE(enqueue(record) & CALLBACK_FIRST);
    EXPECT_FALSE(enqueue(record) & CALLBACK_FIRST);
    EXPECT_EQ(advance(record), CALLBACK_NOBODY);
    EXPECT_TRUE(callback_collect(cb_));
    EXPECT_FALSE(callback_collect(cb_)) << "no callback was queued since";
    EXPECT_TRUE(gp_is_needed(world_.gp(), GP_NORMAL));
    EXPECT_EQ(advance(record), CALLBACK_NOBODY);
    grace_period();
    EXPECT_EQ(advance(record), CALLBACK_OWNER);
    EXPECT_TRUE(callback_has_ready(record));
    EXPECT_EQ(invoke(record, everything()), 2u);
    EXPECT_EQ(order_, numbers(0, 2));
    EXPECT_FALSE(callback_has_ready(record));
    EXPECT_EQ(callback_pending(record), 0u);
    EXPECT_EQ(invoke(record, everything()), 0u);
}

TEST_F(Callback, CallbackQueuedDuringAGracePeriodWaitsForTheNext)
{
    reader_record *record = world_.craft(0);
    enqueue(record);
    callback_collect(cb_);
    {
        test::GpStepper stepper(world_.gp());
        stepper.begin_and_scan();
        enqueue(record);
        callback_collect(cb_);
        stepper.end();
    }
    advance(record);
    EXPECT_EQ(invoke(record, everything()), 1u);
    EXPECT_TRUE(gp_is_needed(world_.gp(), GP_NORMAL));
    grace_period();
    advance(record);
    EXPECT_EQ(invoke(record, everything()), 1u);
    EXPECT_EQ(order_, numbers(0, 2));
}

/* callback_collect() makes callbacks ready whose cookie is reached.  The next pass still notifies their owner. */
TEST_F(Callback, CollectingMakesCallbacksOfEndedGracePeriodsReady)
{
    reader_record *record = world_.craft(0);
    enqueue(record);
    callback_collect(cb_);
    grace_period();
    enqueue(record);
    callback_collect(cb_);
    EXPECT_TRUE(callback_has_ready(record));
    EXPECT_EQ(advance(record), CALLBACK_OWNER);
    EXPECT_EQ(invoke(record, everything()), 1u);
}

TEST_F(Callback, CallbacksRunInOrderOverManyGracePeriods)
{
    reader_record *record = world_.craft(0);
    for (int turn = 0; turn < 50; turn++) {
        enqueue(record);
        callback_collect(cb_);
        if (turn % 3)
            grace_period();
        advance(record);
        invoke(record, at_most(turn % 4));
    }
    make_ready(record);
    invoke(record, everything());
    EXPECT_EQ(order_, numbers(0, 50));
}

/* A head whose producer has exchanged the tail but not stored the link needs no grace period yet. */
TEST_F(Callback, UnfinishedEnqueueRequestsNoGracePeriod)
{
    reader_record *record = world_.craft(0);
    cb_queue *queue = &callback_slot(record)->queue;
    rcu_head *before = rtrcu_exchange(&queue->tail, &item()->head);
    callback_mark_new(cb_, record);
    EXPECT_TRUE(callback_collect(cb_));
    EXPECT_FALSE(gp_is_needed(world_.gp(), GP_NORMAL));
    EXPECT_EQ(callback_leaf(record->leaf)->waiting, 0u);
    rtrcu_store_release(&before->next, &items_.back().head);
    callback_mark_new(cb_, record);
    EXPECT_TRUE(callback_collect(cb_));
    EXPECT_TRUE(gp_is_needed(world_.gp(), GP_NORMAL));
}

TEST_F(Callback, QueuesOfTwoThreadsAreIndependent)
{
    reader_record *a = world_.craft(0), *b = world_.craft(0);
    enqueue(a);
    enqueue(b);
    callback_collect(cb_);
    grace_period();
    advance(a);
    advance(b);
    EXPECT_EQ(invoke(b, everything()), 1u);
    EXPECT_EQ(order_, (std::vector<size_t>{1}));
    EXPECT_EQ(invoke(a, everything()), 1u);
}

TEST_F(Callback, ThreadsWithoutARecordUseTheSharedQueue)
{
    reader_record *orphan = reader_shared_record(world_.registry());
    enqueue(nullptr);
    EXPECT_EQ(callback_pending(orphan), 1u);
    callback_collect(cb_);
    grace_period();
    EXPECT_EQ(advance(orphan), CALLBACK_DAEMON) << "the shared queue has no owner";
    EXPECT_EQ(invoke(orphan, everything()), 1u);
}

/* ---- the claim ---- */

TEST_F(Callback, QueueClaimedByAnotherThreadIsNotRun)
{
    reader_record *record = world_.craft(0);
    queue_ready(record, 3);
    callback_slot(record)->queue.claim = 0x123;
    EXPECT_EQ(invoke(record, everything()), 0u);
    callback_slot(record)->queue.claim = 0;
    EXPECT_EQ(invoke(record, everything()), 3u);
    EXPECT_EQ(callback_slot(record)->queue.claim, 0u);
}

TEST_F(Callback, EndOfAClaimReportsThatAnotherThreadWantsIt)
{
    static reader_record *record;
    record = world_.craft(0);
    callback_budget budget = everything();
    EXPECT_FALSE(callback_want(record)) << "no thread holds the claim";
    EXPECT_EQ(callback_slot(record)->queue.claim, 0u);
    queue_ready(record, 3);
    callback_slot(record)->queue.claim = 0x123;
    callback_run run = callback_invoke(cb_, record, &budget);
    EXPECT_TRUE(run.claimed && run.done == 0 && !run.wanted);
    EXPECT_TRUE(callback_want(record));
    EXPECT_TRUE(callback_want(record));
    callback_barrier_view view;
    callback_barrier_read(record, &view);
    EXPECT_EQ(view.invoker.number, 0x123u);
    callback_slot(record)->queue.claim = 0;
    run = callback_invoke(cb_, record, &budget);
    EXPECT_TRUE(!run.claimed && run.done == 3 && !run.wanted);
    rcu_head head;
    callback_enqueue(cb_, record, &head, [](rcu_head *) { EXPECT_TRUE(callback_want(record)); });
    make_ready(record);
    run = callback_invoke(cb_, record, &budget);
    EXPECT_TRUE(!run.claimed && run.done == 1 && run.wanted);
    EXPECT_EQ(callback_slot(record)->queue.claim, 0u);
}

TEST_F(Callback, BudgetWithoutWaitingOnlyTriesTheQueuesLock)
{
    reader_record *record = world_.craft(0);
    queue_ready(record, 3);
    callback_queues_lock(record->leaf);
    callback_budget budget = everything();
    budget.may_wait = false;
    uint64_t done = 1;
    std::thread([&] { done = invoke(record, budget); }).join();
    EXPECT_EQ(done, 0u);
    callback_queues_unlock(record->leaf);
    EXPECT_EQ(invoke(record, budget), 3u);
}

TEST_F(Callback, ThreadThatExitsInsideACallbackReleasesItsQueue)
{
    world_.fill_last_leaf();
    reader_record *record = world_.craft(0); /* its slot is in the second leaf */
    queue_ready(record, 3);
    invoke(record, at_most(1));
    /* the state of the queue during the second callback */
    callback_slot(record)->queue.claim = lock_thread_number() | CB_CLAIM_WANTED;
    callback_slot(record)->queue.started++;
    (void)cbqueue_pop(&callback_slot(record)->queue.batch);
    callback_thread_ends(cb_);
    EXPECT_EQ(callback_slot(record)->queue.claim, lock_thread_number() | CB_CLAIM_WANTED) << "no callback runs";
    rtrcu_self.state |= READER_STATE_CALLBACK;
    callback_thread_ends(cb_);
    EXPECT_FALSE(rtrcu_self.state & READER_STATE_CALLBACK);
    EXPECT_EQ(callback_pending(record), 1u);
    EXPECT_EQ(invoke(record, everything()), 1u);
    EXPECT_EQ(order_, (std::vector<size_t>{0, 2}));
}

struct Nested {
    rcu_head head;
    callback *cb;
    reader_record *record;
    uint64_t done;
    uint32_t state;
};

void invoke_nested(rcu_head *head)
{
    Nested *nested = container_of(head, Nested, head);
    callback_budget budget = {};
    budget.count_max = UINT64_MAX;
    budget.may_wait = true;
    nested->done = callback_invoke(nested->cb, nested->record, &budget).done;
    nested->state = rtrcu_self.state;
}

TEST_F(Callback, InvocationInsideACallbackRunsNoCallback)
{
    reader_record *record = world_.craft(0);
    Nested nested = {{}, cb_, record, 77, 0};
    callback_enqueue(cb_, record, &nested.head, invoke_nested);
    enqueue(record);
    make_ready(record);
    EXPECT_EQ(invoke(record, everything()), 2u);
    EXPECT_EQ(nested.done, 0u);
    EXPECT_TRUE(nested.state & READER_STATE_CALLBACK);
    EXPECT_FALSE(rtrcu_self.state & READER_STATE_CALLBACK);
}

struct Again {
    rcu_head head;
    callback *cb;
    reader_record *record;
    int runs;
};

void requeue(rcu_head *head)
{
    Again *again = container_of(head, Again, head);
    again->runs++;
    callback_enqueue(again->cb, again->record, head, requeue);
}

TEST_F(Callback, CallbackMayQueueItselfAgain)
{
    reader_record *record = world_.craft(0);
    Again again = {{}, cb_, record, 0};
    callback_enqueue(cb_, record, &again.head, requeue);
    for (int turn = 1; turn <= 5; turn++) {
        make_ready(record);
        EXPECT_EQ(invoke(record, everything()), 1u);
        EXPECT_EQ(again.runs, turn);
    }
}

TEST_F(Callback, BatchEndsAtAnUnfinishedLink)
{
    reader_record *record = world_.craft(0);
    queue_ready(record, 3);
    rcu_head *open = &items_[1].head, *behind = open->next;
    open->next = nullptr;
    /* the head's producer has exchanged the tail, but not stored the link */
    callback_slot(record)->queue.enqueuing = behind;
    EXPECT_EQ(invoke(record, everything()), 1u);
    EXPECT_TRUE(callback_has_ready(record));
    EXPECT_EQ(callback_slot(record)->queue.started, callback_slot(record)->queue.invoked);
    open->next = behind;
    callback_slot(record)->queue.enqueuing = nullptr;
    EXPECT_EQ(invoke(record, everything()), 2u);
    EXPECT_EQ(order_, numbers(0, 3));
}

/* ---- which thread runs ready callbacks ---- */

TEST_F(Callback, DaemonGetsCallbacksOfAnIdleOwner)
{
    reader_record *record = world_.craft(0);
    enqueue(record);
    enqueue(record);
    callback_collect(cb_);
    grace_period();
    int64_t late = 100000000;
    EXPECT_EQ(advance(record, 1), CALLBACK_OWNER);
    EXPECT_EQ(advance(record, 1 + late), CALLBACK_OWNER);
    EXPECT_EQ(advance(record, 2 + late), CALLBACK_DAEMON);
    EXPECT_EQ(invoke(record, at_most(1)), 1u);
    EXPECT_EQ(advance(record, 3 + late), CALLBACK_OWNER) << "a callback has returned, so the owner's time begins again";
    EXPECT_EQ(advance(record, 4 + 2 * late), CALLBACK_DAEMON);
}

/* The owner calls repeatedly, but each time its deadline is too near to run callbacks. */
TEST_F(Callback, DaemonGetsCallbacksOfAnOwnerWhoseDeadlineIsAlwaysNear)
{
    reader_record *record = world_.craft(0);
    enqueue(record);
    callback_collect(cb_);
    grace_period();
    callback_budget budget = everything();
    budget.by_owner = true;
    int64_t late = 100000000;
    for (int64_t now = 1; now <= 1 + late; now += late / 10) {
        EXPECT_EQ(advance(record, now), CALLBACK_OWNER);
        budget.deadline_ns = plat_clock_now() - 1;
        EXPECT_EQ(invoke(record, budget), 0u);
    }
    EXPECT_EQ(advance(record, 2 + late), CALLBACK_DAEMON);
}

/* With backpressure=help, above qmax only the owner runs its callbacks, unless its deadline keeps it from helping. */
TEST_F(Callback, DaemonRunsCallbacksAboveQmaxIfTheOwnersDeadlineStopsIt)
{
    reader_record *record = world_.craft(0);
    config_.qmax = 3;
    config_.backpressure = RTRCU_BACKPRESSURE_HELP;
    queue_ready(record, 6);
    callback_budget budget = everything();
    budget.by_owner = true;
    budget.deadline_ns = plat_clock_now() - 1;
    EXPECT_EQ(invoke(record, budget), 0u);
    EXPECT_EQ(advance(record), CALLBACK_DAEMON);
    EXPECT_EQ(invoke(record, at_most(1)), 1u);
    EXPECT_EQ(advance(record), CALLBACK_DAEMON) << "a daemon's batch does not end the help";
    budget.deadline_ns = 0;
    budget.count_max = 1;
    EXPECT_EQ(invoke(record, budget), 1u);
    EXPECT_EQ(advance(record), CALLBACK_OWNER) << "the owner's last batch did not end at its deadline";
}

TEST_F(Callback, PausesOfPolicyThrottleDoNotMakeAnOwnerLate)
{
    reader_record *record = world_.craft(0);
    config_.policy = RTRCU_POLICY_THROTTLE;
    enqueue(record);
    callback_collect(cb_);
    grace_period();
    int64_t late = 100000000;
    EXPECT_EQ(advance(record, 1), CALLBACK_OWNER);
    callback_slot(record)->throttled_until_ns = 2 * late;
    EXPECT_EQ(advance(record, 2 + late), CALLBACK_OWNER);
    EXPECT_EQ(advance(record, 3 * late), CALLBACK_OWNER);
    EXPECT_EQ(advance(record, 1 + 3 * late), CALLBACK_DAEMON);
    callback_slot(record)->throttled_until_ns = 9 * late;
    EXPECT_EQ(advance(record, 4 * late), CALLBACK_OWNER);
    config_.policy = RTRCU_POLICY_INLINE;
    EXPECT_EQ(advance(record, 4 * late), CALLBACK_DAEMON) << "a pause of throttle does not count under inline";
}

TEST_F(Callback, DaemonGetsCallbacksThatTheOwnerCannotOrMayNotRun)
{
    reader_record *record = world_.craft(0);
    queue_ready(record, 2);
    EXPECT_EQ(advance(record), CALLBACK_OWNER);
    tally_raise(&cb_->barriers); /* a thread waits for the callbacks */
    EXPECT_EQ(advance(record), CALLBACK_DAEMON);
    (void)tally_lower(&cb_->barriers);
    config_.qmax = 2; /* the backlog exceeds the limit */
    EXPECT_EQ(advance(record), CALLBACK_DAEMON);
    config_.backpressure = RTRCU_BACKPRESSURE_HELP;
    EXPECT_EQ(advance(record), CALLBACK_OWNER);
    config_.policy = RTRCU_POLICY_DAEMON;
    EXPECT_EQ(advance(record), CALLBACK_DAEMON);
    config_.policy = RTRCU_POLICY_INLINE;
    world_.withdraw(record);
    EXPECT_EQ(advance(record), CALLBACK_DAEMON);
}

TEST_F(Callback, ReadyCallbacksSetTheFlagOfAQuiescentStateOwner)
{
    reader_record *record = world_.craft(RTRCU_QSBR_ONLINE);
    enqueue(record);
    callback_collect(cb_);
    {
        test::GpStepper stepper(world_.gp());
        stepper.begin_and_scan();
        gp_report(world_.gp(), record);
        stepper.end();
    }
    rtrcu_word_disarm(record->self);
    EXPECT_EQ(advance(record), CALLBACK_OWNER);
    EXPECT_EQ(rtrcu_word_of(record->self) >> 24, RTRCU_FLAG_SPECIAL);
}

TEST_F(Callback, SlotOfAnExitedThreadIsReusedOnceItsQueueIsEmpty)
{
    reader_record *record = world_.craft(0);
    enqueue(record);
    world_.withdraw(record);
    EXPECT_NE(world_.craft(0), record);
    make_ready(record);
    invoke(record, everything());
    serve_release_slot(record);
    EXPECT_EQ(world_.craft(0), record);
    EXPECT_EQ(callback_pending(record), 0u);
    serve_release_slot(record); /* a late daemon, which served the slot's previous thread, releases the slot again */
    EXPECT_TRUE(reader_is_registered(record));
    EXPECT_NE(world_.craft(0), record);
}

/* The next thread has taken the slot but not registered yet when a late daemon releases the slot again. */
TEST_F(Callback, SecondReleaseOfASlotKeepsTheDeadlineOfItsNextThread)
{
    reader_record *record = world_.craft(0);
    callback_set_deadline(record, 5);
    world_.withdraw(record);
    serve_release_slot(record);
    EXPECT_EQ(callback_deadline(record), 0);
    ASSERT_EQ(reader_slot_take(world_.registry()), record);
    callback_set_deadline(record, 7);
    serve_release_slot(record);
    EXPECT_EQ(callback_deadline(record), 7);
}

/* No flag is set: a preemptible owner finds ready callbacks at its next call, and a daemon needs no owner. */
TEST_F(Callback, ReadyCallbacksSetNoFlagOfAPreemptibleOwner)
{
    reader_record *ordinary = world_.craft(0);
    queue_ready(ordinary, 1);
    rtrcu_word_disarm(ordinary->self); /* clears the flag that the grace period set */
    EXPECT_EQ(advance(ordinary), CALLBACK_OWNER);
    EXPECT_EQ(rtrcu_word_of(ordinary->self) >> 24, RTRCU_FLAG_FAST);
    config_.policy = RTRCU_POLICY_DAEMON;
    test::World::set_inside(ordinary, RTRCU_QSBR_ONLINE);
    EXPECT_EQ(advance(ordinary), CALLBACK_DAEMON);
    EXPECT_EQ(rtrcu_word_of(ordinary->self) >> 24, RTRCU_FLAG_FAST);
}

/* ---- limits ---- */

TEST_F(Callback, LimitsAreCheckedAtShrinkingDistances)
{
    reader_record *record = world_.craft(0);
    config_.qhimark = 20;
    config_.qmax = 40;
    EXPECT_TRUE(enqueue(record) & CALLBACK_CHECK_LIMITS) << "the first check sets the next mark";
    EXPECT_EQ(callback_check_limits(cb_, record), CALLBACK_CALM);
    std::vector<uint64_t> calm, pushed, full, over;
    while (callback_pending(record) < 50) {
        if (!(enqueue(record) & CALLBACK_CHECK_LIMITS))
            continue;
        callback_pressure pressure = callback_check_limits(cb_, record);
        if (pressure == CALLBACK_CALM)
            calm.push_back(callback_pending(record));
        if (pressure == CALLBACK_PUSH)
            pushed.push_back(callback_pending(record));
        if (pressure == CALLBACK_FULL)
            full.push_back(callback_pending(record));
        if (pressure == CALLBACK_OVER)
            over.push_back(callback_pending(record));
    }
    EXPECT_EQ(calm, (std::vector<uint64_t>{11, 16, 18, 19})) << "each mark halves the distance to qhimark, rounded up";
    ASSERT_FALSE(pushed.empty());
    EXPECT_EQ(pushed.front(), 20u);
    EXPECT_LT(pushed.back(), 40u);
    EXPECT_EQ(full, std::vector<uint64_t>{40}) << "the backlog is at qmax, not above it";
    ASSERT_EQ(over.size(), 10u) << "above qmax every enqueue checks the limits";
    EXPECT_EQ(over.front(), 41u);
}

TEST_F(Callback, BacklogAtAQmaxBelowQhimarkIsDetected)
{
    reader_record *record = world_.craft(0);
    config_.qhimark = 1000;
    config_.qmax = 5;
    uint64_t seen_at = 0;
    while (callback_pending(record) < 10) {
        if ((enqueue(record) & CALLBACK_CHECK_LIMITS) && callback_check_limits(cb_, record) == CALLBACK_FULL &&
            !seen_at)
            seen_at = callback_pending(record);
    }
    EXPECT_EQ(seen_at, 5u);
}

/* ---- barrier ---- */

TEST_F(Callback, BarrierWaitsOnlyForEarlierCallbacks)
{
    reader_record *a = world_.craft(0), *b = world_.craft(0);
    callback_barrier_set(cb_);
    EXPECT_TRUE(callback_barrier_reached(cb_));
    enqueue(a);
    enqueue(b);
    callback_barrier_set(cb_);
    enqueue(a);
    EXPECT_FALSE(callback_barrier_reached(cb_));
    callback_collect(cb_);
    grace_period();
    advance(a);
    advance(b);
    invoke(a, at_most(1));
    EXPECT_FALSE(callback_barrier_reached(cb_)) << "b's callback has not run";
    invoke(b, everything());
    EXPECT_TRUE(callback_barrier_reached(cb_)) << "a's second callback was queued later";
    EXPECT_EQ(callback_pending(a), 1u);
}

/* callback_barrier_left() counts callbacks and frees below the goals that have not returned. */
TEST_F(Callback, BarrierIsReachedWhenNoCallbackOrFreeIsLeft)
{
    reader_record *record = world_.craft(0);
    struct callback_slot *slot = callback_slot(record);
    slot->queue.barrier_goal = slot->free_goal = 5;
    slot->queue.invoked = 3;
    slot->free_done = 1;
    EXPECT_EQ(callback_barrier_left(record), 6u);
    EXPECT_FALSE(callback_barrier_reached(cb_));
    slot->queue.invoked = 9;
    EXPECT_EQ(callback_barrier_left(record), 4u);
    EXPECT_FALSE(callback_barrier_reached(cb_));
    slot->free_done = 9;
    EXPECT_EQ(callback_barrier_left(record), 0u);
    EXPECT_TRUE(callback_barrier_reached(cb_));
    slot->queue.invoked = 4;
    EXPECT_EQ(callback_barrier_left(record), 1u);
    EXPECT_FALSE(callback_barrier_reached(cb_));
    slot->queue.invoked = slot->free_done = 5;
    EXPECT_TRUE(callback_barrier_reached(cb_));
}

TEST_F(Callback, BarrierIsNotStarvedByCallbacksThatQueueThemselves)
{
    reader_record *record = world_.craft(0);
    Again again = {{}, cb_, record, 0};
    callback_enqueue(cb_, record, &again.head, requeue);
    callback_barrier_set(cb_);
    make_ready(record);
    invoke(record, everything());
    EXPECT_EQ(callback_pending(record), 1u);
    EXPECT_TRUE(callback_barrier_reached(cb_));
}

bool barrier_reached_inside;
callback *barrier_callback;

void look_at_the_barrier(rcu_head *)
{
    barrier_reached_inside = callback_barrier_reached(barrier_callback);
}

TEST_F(Callback, BarrierWaitsUntilCallbacksHaveReturned)
{
    reader_record *record = world_.craft(0);
    barrier_callback = cb_;
    enqueue(record, look_at_the_barrier);
    callback_barrier_set(cb_);
    make_ready(record);
    barrier_reached_inside = true;
    invoke(record, everything());
    EXPECT_FALSE(barrier_reached_inside);
    EXPECT_TRUE(callback_barrier_reached(cb_));
}

TEST_F(Callback, BarrierWaitsForTheSharedQueue)
{
    world_.craft(0);
    enqueue(nullptr);
    callback_barrier_set(cb_);
    make_ready(reader_shared_record(world_.registry()));
    EXPECT_FALSE(callback_barrier_reached(cb_));
    invoke(reader_shared_record(world_.registry()), everything());
    EXPECT_TRUE(callback_barrier_reached(cb_));
}

TEST_F(Callback, BarrierWaitsForEveryLeaf)
{
    reader_record *record = world_.craft(0);
    while (record->leaf->index < 2)
        record = world_.craft(0);
    enqueue(record);
    callback_barrier_set(cb_);
    make_ready(record);
    EXPECT_FALSE(callback_barrier_reached(cb_));
    invoke(record, everything());
    EXPECT_TRUE(callback_barrier_reached(cb_));
}

/* With producer and consumer running concurrently, every callback runs once and in order. */
TEST_F(Callback, OwnerMayQueueWhileAnotherThreadInvokes)
{
    reader_record *record = world_.craft(0);
    constexpr size_t count = 20000;
    for (size_t i = 0; i < count; i++)
        item();
    std::atomic<bool> done{false};
    std::thread owner([&] {
        for (auto &each : items_)
            callback_enqueue(cb_, record, &each.head, note);
        done = true;
    });
    while (order_.size() < count) {
        make_ready(record);
        invoke(record, everything());
        ASSERT_TRUE(!done || callback_pending(record) + order_.size() == count);
    }
    owner.join();
    EXPECT_EQ(order_, numbers(0, count));
}

} // namespace
