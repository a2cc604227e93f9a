/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of batches, which end at a count, a time or a deadline. */
#include <linux/futex.h>
#include <pthread.h>
#include <thread>

#include "../../support/capture.h"
#include "../../support/sync.h"
#include "world.h"

namespace
{

using Invocation = CallbackWorld;

TEST_F(Invocation, CountLimitEndsABatchAndTheRestStaysInOrder)
{
    reader_record *record = world_.craft(0);
    queue_ready(record, 10);
    EXPECT_EQ(invoke(record, at_most(4)), 4u);
    EXPECT_TRUE(callback_has_ready(record));
    EXPECT_EQ(callback_pending(record), 6u);
    EXPECT_EQ(invoke(record, at_most(0)), 0u);
    queue_ready(record, 5); /* appended to the remaining callbacks */
    EXPECT_EQ(invoke(record, everything()), 11u);
    EXPECT_EQ(order_, numbers(0, 15));
}

TEST_F(Invocation, NoCallbackRunsAfterTheDeadline)
{
    reader_record *record = world_.craft(0);
    queue_ready(record, 3);
    callback_budget budget = everything();
    budget.deadline_ns = plat_clock_now() - 1;
    EXPECT_EQ(invoke(record, budget), 0u);
    EXPECT_EQ(cb_->deadline_stops.count, 1u);
    EXPECT_EQ(cb_->budget_stops.count, 0u);
    EXPECT_TRUE(callback_has_ready(record));
    budget.deadline_ns = plat_clock_now() + INT64_C(60000000000);
    EXPECT_EQ(invoke(record, budget), 3u);
}

/* rcu_free_head() queues the offset of the head instead of a function; a report must not take it for an address. */
TEST_F(Invocation, FreeOfAnEmbeddedHeadIsReportedAsFree)
{
    struct object {
        char before[24];
        rcu_head head;
    };
    reader_record *record = world_.craft(0);
    auto *memory = static_cast<object *>(malloc(sizeof(object)));
    callback_enqueue(cb_, record, &memory->head, rtrcu_free_from(offsetof(object, head)));
    make_ready(record);
    callback_slot(record)->longest_ns = 0;
    callback_budget budget = everything();
    EXPECT_EQ(invoke(record, budget), 1u);
    EXPECT_EQ(callback_slot(record)->queue.function, reinterpret_cast<rcu_callback_t>(&free));
    EXPECT_EQ(callback_slot(record)->longest, reinterpret_cast<rcu_callback_t>(&free));
}

/* A late release of the previous thread's queue keeps the deadline and pause that the next thread has set. */
TEST_F(Invocation, ReleaseOfAQueueKeepsTheNextThreadsDeadlineAndPause)
{
    reader_record *record = world_.craft(0);
    for (bool is_there : {true, false}) {
        callback_set_deadline(record, 77);
        callback_slot(record)->throttled_until_ns = 88;
        reader_lock(record->leaf);
        if (!is_there)
            reader_withdraw(world_.registry(), record);
        callback_release_slot(record);
        reader_unlock(record->leaf);
        EXPECT_EQ(callback_deadline(record), is_there ? 77 : 0);
        EXPECT_EQ(callback_slot(record)->throttled_until_ns, is_there ? 88 : 0);
    }
}

TEST_F(Invocation, UsedUpTimeBudgetRunsNoCallback)
{
    reader_record *record = world_.craft(0);
    queue_ready(record, 3);
    callback_budget budget = everything();
    budget.end_ns = plat_clock_now() - 1;
    EXPECT_EQ(invoke(record, budget), 0u);
    EXPECT_EQ(cb_->budget_stops.count, 1u);
    EXPECT_EQ(cb_->deadline_stops.count, 0u);
    EXPECT_EQ(invoke(record, everything()), 3u);
}

int64_t spin_until_ns;

void spin(rcu_head *)
{
    while (plat_clock_now() < spin_until_ns)
        ;
}

/* The first callback uses up the time.  Without a known cost, a batch runs at most one more callback. */
TEST_F(Invocation, TimeLimitEndsABatchOfSlowCallbacks)
{
    reader_record *record = world_.craft(0);
    for (int i = 0; i < 40; i++)
        enqueue(record, spin);
    make_ready(record);
    callback_budget budget = everything();
    budget.end_ns = spin_until_ns = plat_clock_now() + 2000000;
    uint64_t done = invoke(record, budget);
    EXPECT_GE(done, 1u);
    EXPECT_LE(done, 2u) << "the cost of these callbacks is unknown";
    EXPECT_EQ(cb_->budget_stops.count, 1u);
    EXPECT_GT(callback_slot(record)->queue.cost_ns, 0u) << "the estimate learns";
    EXPECT_EQ(invoke(record, everything()), 40 - done);
}

/* The only callback runs past the end of the budget, which therefore stops no callback. */
TEST_F(Invocation, CompletedBatchIsNotCountedAsStopped)
{
    reader_record *record = world_.craft(0);
    for (int64_t callback_budget::*end : {&callback_budget::end_ns, &callback_budget::deadline_ns}) {
        uint64_t stops = 0;
        enqueue(record, spin);
        make_ready(record);
        callback_budget budget = everything();
        budget.by_owner = true;
        do { /* repeat if the thread was preempted until the end of the budget */
            stops = cb_->budget_stops.count + cb_->deadline_stops.count;
            callback_slot(record)->queue.cost_ns = 0;
            budget.*end = spin_until_ns = plat_clock_now() + 2000000;
        } while (invoke(record, budget) == 0);
        EXPECT_EQ(cb_->budget_stops.count + cb_->deadline_stops.count, stops);
        EXPECT_EQ(callback_slot(record)->queue.cut, 0u);
        EXPECT_GT(callback_slot(record)->queue.cost_ns, 0u) << "the estimate learns";
    }
}

/* The estimate was learned from quick callbacks, and does not apply to another function. */
TEST_F(Invocation, TimeLimitEndsABatchOfSlowCallbacksAfterQuickOnes)
{
    reader_record *record = world_.craft(0);
    for (int i = 0; i < 95; i++) /* so many that the intervals between the batch's clock readings grow */
        enqueue(record);
    for (int i = 0; i < 40; i++)
        enqueue(record, spin);
    make_ready(record);
    callback_budget budget = everything();
    budget.end_ns = spin_until_ns = plat_clock_now() + 5000000;
    uint64_t done = invoke(record, budget);
    EXPECT_LE(done, 96u);
    EXPECT_EQ(cb_->budget_stops.count, 1u);
    EXPECT_EQ(invoke(record, everything()), 135 - done);
}

/* A clock that only callbacks advance, so that these tests do not depend on the speed of the machine. */
struct CallbackClock {
    int64_t now_ns = 1000000000;
    bool was_read = false;           /* whether the clock was read since the last callback began */
    std::vector<int64_t> costs_ns;   /* the time that each callback takes, in order */
    std::vector<size_t> read_before; /* numbers of the callbacks before which the clock was read */
    size_t begun = 0;
};
CallbackClock *callback_clock; /* null: the time is CLOCK_MONOTONIC */

extern "C" int64_t __real_plat_clock_now();
extern "C" int64_t __wrap_plat_clock_now();

int64_t __wrap_plat_clock_now()
{
    if (!callback_clock)
        return __real_plat_clock_now();
    callback_clock->was_read = true;
    return callback_clock->now_ns;
}

void take_time(rcu_head *)
{
    CallbackClock &clock = *callback_clock;
    if (clock.was_read)
        clock.read_before.push_back(clock.begun);
    clock.was_read = false;
    clock.now_ns += clock.costs_ns[clock.begun++];
}

class ClockReadings : public CallbackWorld
{
  protected:
    CallbackClock clock_;

    /* Run callbacks that take @costs_ns, with a time limit of one millisecond.  Returns how many ran before the limit
     * ended the batch; a second batch runs the others. */
    uint64_t run(const std::vector<int64_t> &costs_ns)
    {
        reader_record *record = world_.craft(0);
        for (size_t i = 0; i < costs_ns.size(); i++)
            enqueue(record, take_time);
        make_ready(record);
        clock_.costs_ns = costs_ns;
        callback_clock = &clock_;
        callback_budget budget = everything();
        budget.end_ns = clock_.now_ns + 1000000;
        uint64_t done = invoke(record, budget);
        invoke(record, everything());
        callback_clock = nullptr;
        return done;
    }
};

TEST_F(ClockReadings, ClockReadingsGrowApartToEightQuickCallbacks)
{
    EXPECT_EQ(run(std::vector<int64_t>(40, 100)), 40u);
    EXPECT_EQ(clock_.read_before, (std::vector<size_t>{0, 1, 3, 7, 15, 23, 31, 39}));
}

TEST_F(ClockReadings, ClockIsReadBeforeEachSlowCallback)
{
    EXPECT_EQ(run(std::vector<int64_t>(40, 3000)), 40u);
    EXPECT_EQ(clock_.read_before, numbers(0, 40));
}

/* One of many quick callbacks uses up the time.  Others run after it, until the next reading. */
TEST_F(ClockReadings, QuickCallbacksAfterTheTimeLimitRunUntilTheNextReading)
{
    std::vector<int64_t> costs_ns(64, 100);
    costs_ns[40] = 5000000;
    EXPECT_EQ(run(costs_ns), 47u);
}

int quick_left;

void spin_when_quick_ones_are_over(rcu_head *head)
{
    if (quick_left-- <= 0)
        spin(head);
}

/* One function is quick 95 times, then slow, so the estimate was learned from the quick calls. */
TEST_F(Invocation, AtMostOneCallbackPassesTheDeadlineWhenAFunctionBecomesSlow)
{
    reader_record *record = world_.craft(0);
    for (int i = 0; i < 135; i++)
        enqueue(record, spin_when_quick_ones_are_over);
    make_ready(record);
    quick_left = 95;
    callback_budget budget = everything();
    budget.deadline_ns = spin_until_ns = plat_clock_now() + 5000000;
    uint64_t done = invoke(record, budget);
    EXPECT_LE(done, 96u);
    EXPECT_EQ(cb_->deadline_stops.count, 1u);
    EXPECT_EQ(invoke(record, everything()), 135 - done);
}

template <int64_t ns> void spin_for(rcu_head *head)
{
    spin_until_ns = plat_clock_now() + ns;
    spin(head);
}

/* A batch lowers the estimate by an eighth, then raises it halfway to the measured cost, or to a millisecond if that is
 * less. */
TEST_F(Invocation, EstimateMovesHalfwayToTheMeasuredCost)
{
    reader_record *record = world_.craft(0);
    callback_budget budget = everything();
    budget.end_ns = INT64_MAX;
    for (uint32_t learned : {500000u, 718750u}) {
        enqueue(record, spin_for<1500000>);
        make_ready(record);
        EXPECT_EQ(invoke(record, budget), 1u);
        EXPECT_EQ(callback_slot(record)->queue.cost_ns, learned);
    }
}

/* Many quick callbacks may take long together.  A single slow one is reported with its function. */
TEST_F(Invocation, LongCallbacksAreReported)
{
    reader_record *record = world_.craft(0);
    test::CapturedErrors errors;
    enqueue(record, spin_for<100000000>);
    for (int i = 1; i < 20000; i++)
        enqueue(record);
    make_ready(record);
    EXPECT_EQ(invoke(record, everything()), 20000u);
    EXPECT_EQ(errors.text(), "");
    enqueue(record, spin_for<100000000>);
    make_ready(record);
    EXPECT_EQ(invoke(record, everything()), 1u);
    EXPECT_TRUE(errors.contains(": 1 callbacks took ")) << errors.text();
}

TEST_F(Invocation, CallbackWhoseEstimateExceedsTheRemainingTimeIsNotStarted)
{
    reader_record *record = world_.craft(0);
    queue_ready(record, 5);
    callback_slot(record)->queue.cost_ns = 1000000;
    callback_budget budget = everything();
    budget.deadline_ns = plat_clock_now() + 500000;
    EXPECT_EQ(invoke(record, budget), 0u);
    EXPECT_EQ(cb_->deadline_stops.count, 1u);
}

/* An estimate that stops a batch before its first callback decays, since the batch measures nothing. */
TEST_F(Invocation, EstimateThatStopsABatchBeforeItsFirstCallbackDecays)
{
    reader_record *record = world_.craft(0);
    queue_ready(record, 5);
    callback_slot(record)->queue.cost_ns = 1000000;
    callback_budget budget = everything();
    budget.deadline_ns = plat_clock_now() + 500000;
    EXPECT_EQ(invoke(record, budget), 0u);
    EXPECT_EQ(callback_slot(record)->queue.cost_ns, 875000u);
}

int cancel_state()
{
    int now;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &now);
    pthread_setcancelstate(now, nullptr);
    return now;
}

/* A thread is not cancelled during a callback, whose work would stay unfinished. */
TEST_F(Invocation, ThreadInsideCallbacksIsNotCancelled)
{
    static int inside;
    reader_record *record = world_.craft(0);
    for (int before : {PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DISABLE}) {
        int own;
        inside = PTHREAD_CANCEL_ENABLE;
        enqueue(record, [](rcu_head *) { inside = cancel_state(); });
        make_ready(record);
        pthread_setcancelstate(before, &own);
        EXPECT_EQ(invoke(record, everything()), 1u);
        EXPECT_EQ(cancel_state(), before);
        EXPECT_EQ(inside, PTHREAD_CANCEL_DISABLE);
        pthread_setcancelstate(own, nullptr);
    }
}

TEST_F(Invocation, CallbacksThatTheOwnerInvokesAreCounted)
{
    reader_record *record = world_.craft(0);
    queue_ready(record, 5);
    callback_budget budget = at_most(2);
    budget.by_owner = true;
    invoke(record, budget);
    invoke(record, everything());
    EXPECT_EQ(callback_leaf(record->leaf)->by_owner.count, 2u);
}

/* An owner runs no callbacks inside a section: they would prolong the section, and every grace period would wait for
 * them. */
TEST_F(Invocation, NoCallbackRunsInsideASectionOfTheOwner)
{
    std::thread([&] {
        reader_record *record = reader_slot_take(world_.registry());
        test::publish(world_.registry(), record, &rtrcu_self);
        queue_ready(record, 2);
        (void)rtrcu_word_enter();
        EXPECT_EQ(callback_invoke_own(cb_, -1).done, 0u);
        EXPECT_EQ(callback_pending(record), 2u);
        (void)rtrcu_word_leave();
        EXPECT_EQ(callback_invoke_own(cb_, -1).done, 2u);
        world_.withdraw(record);
    }).join();
}

/* The callbacks beyond the limit are passed to a daemon immediately, before other queues. */
TEST_F(Invocation, OwnerAtItsLimitReportsRemainingCallbacks)
{
    config_.policy = RTRCU_POLICY_KRCUD;
    config_.krcud_when = RTRCU_KRCUD_WHEN_ALWAYS;
    config_.bhlimit = 2;
    test::Worker owner;
    owner.run([&] {
        reader_record *record = reader_slot_take(world_.registry());
        test::publish(world_.registry(), record, &rtrcu_self);
        for (size_t ready : {5, 2}) {
            queue_ready(record, ready);
            callback_own own = callback_invoke_own(cb_, -1);
            EXPECT_EQ(own.done, 2u);
            EXPECT_EQ(own.punted, ready > 2);
            invoke(record, everything());
        }
        world_.withdraw(record);
    });
}

/* A deadline thread does not wait for the queues' lock, which a preempted driver or a fork may hold beyond the
 * deadline. */
TEST_F(Invocation, DeadlineThreadDoesNotWaitForTheQueuesLock)
{
    test::Worker owner, holder;
    reader_record *record = nullptr;
    owner.run([&] {
        record = reader_slot_take(world_.registry());
        test::publish(world_.registry(), record, &rtrcu_self);
        queue_ready(record, 2);
        reader_self_set(READER_STATE_DEADLINE);
    });
    const lock *queues = &callback_leaf(record->leaf)->lock;
    holder.run([&] { callback_queues_lock(record->leaf); });
    owner.start([&] { EXPECT_EQ(callback_invoke_own(cb_, -1).done, 0u); });
    EXPECT_TRUE(
        test::eventually([&] { return owner.is_done() || (rtrcu_load_relaxed(&queues->word) & FUTEX_WAITERS) != 0; }));
    EXPECT_TRUE(owner.is_done());
    holder.run([&] { callback_queues_unlock(record->leaf); });
    owner.wait();
    owner.run([&] {
        EXPECT_EQ(callback_invoke_own(cb_, -1).done, 2u);
        reader_self_clear(READER_STATE_DEADLINE);
        world_.withdraw(record);
    });
}

TEST_F(Invocation, BatchRecordsOneLatencySample)
{
    reader_record *record = world_.craft(0);
    queue_ready(record, 5);
    invoke(record, everything());
    queue_ready(record, 1);
    invoke(record, everything());
    uint64_t samples = 0;
    for (const counter &bucket : callback_leaf(record->leaf)->latency_us_log2)
        samples += counter_read(&bucket);
    EXPECT_EQ(samples, 2u);
}

} // namespace
