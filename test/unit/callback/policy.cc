/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of policies: the owner's budget, the adaptive limit, pauses, and the quota of krcud. */
#include "../../support/probes.h"
#include "world.h"

namespace
{

class Policy : public CallbackWorld
{
  protected:
    reader_record *record_ = nullptr;

    void SetUp() override
    {
        CallbackWorld::SetUp();
        record_ = world_.craft(0);
    }
    callback_budget budget_of(int32_t policy, int64_t requested_ns = 0)
    {
        callback_budget budget = {};
        budget.count_max = 77; /* every policy overwrites this count */
        callback_policy_of(policy)->owner_budget(cb_, record_, requested_ns, &budget);
        return budget;
    }
    void set_pending(uint64_t count)
    {
        callback_slot(record_)->queue.invoked = callback_slot(record_)->queue.enqueued - count;
    }
};

TEST_F(Policy, EachPolicyNumberHasItsPolicy)
{
    const char *names[] = {"daemon", "inline", "krcud", "throttle", "unbounded"};
    for (int32_t i = RTRCU_POLICY_DAEMON; i <= RTRCU_POLICY_UNBOUNDED; i++) {
        const callback_policy *policy = callback_policy_of(i);
        ASSERT_NE(policy, nullptr) << i;
        EXPECT_STREQ(policy->name, names[i]);
        EXPECT_EQ(policy->owner_runs, i != RTRCU_POLICY_DAEMON);
    }
    EXPECT_EQ(callback_policy_of(-1), nullptr);
    EXPECT_EQ(callback_policy_of(RTRCU_POLICY_UNBOUNDED + 1), nullptr);
}

TEST_F(Policy, LimitGrowsWithTheBacklog)
{
    config_.blimit = 10;
    config_.qhimark = 1000000;
    set_pending(5);
    EXPECT_EQ(callback_count_limit(cb_, record_), 10u);
    set_pending(10 << CALLBACK_DIVISOR);
    EXPECT_EQ(callback_count_limit(cb_, record_), 10u);
    set_pending(25 << CALLBACK_DIVISOR);
    EXPECT_EQ(callback_count_limit(cb_, record_), 25u);
}

TEST_F(Policy, LimitIsRemovedAboveQhimarkUntilQlowmark)
{
    config_.qhimark = 100;
    config_.qlowmark = 20;
    set_pending(100);
    EXPECT_EQ(callback_count_limit(cb_, record_), 10u);
    set_pending(101);
    EXPECT_EQ(callback_count_limit(cb_, record_), UINT64_MAX);
    set_pending(50);
    EXPECT_EQ(callback_count_limit(cb_, record_), UINT64_MAX)
        << "the limit stays removed until the backlog falls to qlowmark";
    set_pending(20);
    EXPECT_EQ(callback_count_limit(cb_, record_), 10u);
    set_pending(50);
    EXPECT_EQ(callback_count_limit(cb_, record_), 10u) << "the limit stays until the backlog exceeds qhimark";
    set_pending(101);
    callback_count_limit(cb_, record_);
    EXPECT_EQ(cb_->limit_raised.count, 2u);
}

TEST_F(Policy, LimitIsKeptIfAdaptiveIsOff)
{
    config_.qhimark = 100;
    config_.adaptive = 0;
    set_pending(101);
    EXPECT_EQ(callback_count_limit(cb_, record_), 10u);
    EXPECT_EQ(cb_->limit_raised.count, 0u);
}

TEST_F(Policy, PolicyDaemonAllowsTheOwnerNoCallback)
{
    EXPECT_EQ(budget_of(RTRCU_POLICY_DAEMON, -1).count_max, 0u);
}

TEST_F(Policy, PolicyUnboundedHasNoLimits)
{
    callback_slot(record_)->deadline_ns = 1;
    callback_budget budget = budget_of(RTRCU_POLICY_UNBOUNDED);
    EXPECT_EQ(budget.count_max, UINT64_MAX);
    EXPECT_EQ(budget.end_ns, 0);
    EXPECT_EQ(budget.deadline_ns, 0);
}

/* An owner that waits in the library cannot run its callbacks. */
TEST_F(Policy, PolicyInlineLeavesCallbacksOfAWaitingOwnerToADaemon)
{
    config_.policy = RTRCU_POLICY_INLINE;
    queue_ready(record_, 2);
    EXPECT_EQ(advance(record_), CALLBACK_OWNER);
    callback_owner_waits(record_, true);
    EXPECT_EQ(advance(record_), CALLBACK_DAEMON);
    callback_owner_waits(record_, false);
    EXPECT_EQ(advance(record_), CALLBACK_OWNER);
}

TEST_F(Policy, PolicyInlineLimitsCountTimeAndDeadline)
{
    config_.budget_ns = 70000;
    callback_slot(record_)->deadline_ns = 123456;
    int64_t before = plat_clock_now();
    callback_budget budget = budget_of(RTRCU_POLICY_INLINE);
    int64_t after = plat_clock_now();
    EXPECT_EQ(budget.count_max, 10u);
    EXPECT_EQ(budget.deadline_ns, 123456);
    EXPECT_GE(budget.end_ns, before + 70000);
    EXPECT_LE(budget.end_ns, after + 70000);
}

TEST_F(Policy, PolicyInlineUsesTheRequestedBudget)
{
    int64_t before = plat_clock_now();
    EXPECT_GE(budget_of(RTRCU_POLICY_INLINE, 5000000).end_ns, before + 5000000);
    callback_budget unlimited = budget_of(RTRCU_POLICY_INLINE, -1);
    EXPECT_EQ(unlimited.count_max, UINT64_MAX);
    EXPECT_EQ(unlimited.end_ns, 0);
    EXPECT_EQ(budget_of(RTRCU_POLICY_INLINE, INT64_MAX).end_ns, 0)
        << "a time beyond the clock's range counts as no limit";
    EXPECT_GT(budget_of(RTRCU_POLICY_INLINE, INT64_MAX / 2).end_ns, before);
}

TEST_F(Policy, BackpressureHelpRemovesLimitsOfPolicyInlineExceptTheDeadline)
{
    config_.qmax = 50;
    config_.backpressure = RTRCU_BACKPRESSURE_HELP;
    callback_slot(record_)->deadline_ns = 99;
    set_pending(49);
    EXPECT_EQ(budget_of(RTRCU_POLICY_INLINE).count_max, 10u);
    set_pending(50);
    callback_budget budget = budget_of(RTRCU_POLICY_INLINE);
    EXPECT_EQ(budget.count_max, UINT64_MAX);
    EXPECT_EQ(budget.end_ns, 0);
    EXPECT_EQ(budget.deadline_ns, 99);
    config_.backpressure = RTRCU_BACKPRESSURE_EXPEDITE;
    EXPECT_EQ(budget_of(RTRCU_POLICY_INLINE).count_max, 10u);
}

TEST_F(Policy, PolicyThrottlePausesAfterABatchThatLeavesCallbacks)
{
    config_.maxbatch = 7;
    config_.plugticks = 1000000;
    config_.tick_us = 1000;
    const callback_policy *policy = callback_policy_of(RTRCU_POLICY_THROTTLE);
    EXPECT_EQ(budget_of(RTRCU_POLICY_THROTTLE).count_max, 7u);
    callback_run run = {};
    policy->owner_done(cb_, record_, &run, false);
    EXPECT_EQ(budget_of(RTRCU_POLICY_THROTTLE).count_max, 7u) << "no callback was left, so there is no pause";
    policy->owner_done(cb_, record_, &run, true);
    EXPECT_EQ(budget_of(RTRCU_POLICY_THROTTLE).count_max, 0u);
    EXPECT_EQ(cb_->limit_stops.count, 1u);
    callback_slot(record_)->throttled_until_ns = plat_clock_now();
    EXPECT_EQ(budget_of(RTRCU_POLICY_THROTTLE).count_max, 7u);
    config_.plugticks = 0;
    policy->owner_done(cb_, record_, &run, true);
    EXPECT_EQ(budget_of(RTRCU_POLICY_THROTTLE).count_max, 7u) << "plugticks is 0, so there is no pause";
}

TEST_F(Policy, PolicyThrottlePausesForItsTicks)
{
    config_.plugticks = 3;
    config_.tick_us = 2000;
    int64_t before = plat_clock_now();
    callback_run run = {};
    callback_policy_of(RTRCU_POLICY_THROTTLE)->owner_done(cb_, record_, &run, true);
    int64_t after = plat_clock_now();
    EXPECT_GE(callback_slot(record_)->throttled_until_ns, before + 6000000);
    EXPECT_LE(callback_slot(record_)->throttled_until_ns, after + 6000000);
}

TEST_F(Policy, FloodRemovesTheLimitOfPolicyThrottle)
{
    config_.maxbatch = 7;
    config_.qhimark = 100;
    callback_slot(record_)->throttled_until_ns = INT64_MAX;
    set_pending(101);
    EXPECT_EQ(budget_of(RTRCU_POLICY_THROTTLE).count_max, UINT64_MAX);
}

TEST_F(Policy, PolicyKrcudYieldsToADeadlineOrRealTimeWorkOnTheOwnersCpu)
{
    config_.bhlimit = 5;
    config_.krcud_when = RTRCU_KRCUD_WHEN_RT;
    uint32_t cpu = 0;
    record_->cpu = &cpu;
    queue_ready(record_, 20);
    EXPECT_FALSE(callback_rt_waits(cb_, record_));
    callback_slot(record_)->deadline_ns = plat_clock_now();
    EXPECT_TRUE(callback_rt_waits(cb_, record_)) << "the deadline has arrived";
    callback_slot(record_)->deadline_ns = plat_clock_now() + INT64_C(60000000000);
    EXPECT_FALSE(callback_rt_waits(cb_, record_)) << "the deadline is a minute away";
    callback_slot(record_)->deadline_ns = 0;
    cb_->rt_awake[0] = 1;
    EXPECT_TRUE(callback_rt_waits(cb_, record_));
    cpu = 1;
    EXPECT_FALSE(callback_rt_waits(cb_, record_)) << "the real-time thread is on another CPU";
}

TEST_F(Policy, PolicyKrcudUsesTheCallersCpuIfTheOwnersIsUnknown)
{
    uint32_t cpu = PLAT_CPU_MAX;
    EXPECT_FALSE(callback_rt_waits(cb_, record_));
    for (uint32_t &each : cb_->rt_awake)
        each = 1;
    EXPECT_TRUE(callback_rt_waits(cb_, record_));
    record_->cpu = &cpu;
    EXPECT_FALSE(callback_rt_waits(cb_, record_)) << "no thread is counted on that CPU";
    record_->cpu = nullptr;
}

TEST_F(Policy, AwakeRealTimeThreadIsCountedOnce)
{
    auto awake = [&] {
        uint32_t sum = 0;
        for (uint32_t each : cb_->rt_awake)
            sum += each;
        return sum;
    };
    callback_rt_awake(cb_, true);
    callback_rt_awake(cb_, true);
    EXPECT_EQ(awake(), 1u);
    callback_rt_awake(cb_, false);
    callback_rt_awake(cb_, false);
    EXPECT_EQ(awake(), 0u);
    callback_rt_awake(cb_, true);
    cb_->rt_awake[rtrcu_self.rt_awake_cpu - 1]--; /* as if the thread had been counted on another CPU */
    cb_->rt_awake[PLAT_CPU_MAX - 1]++;
    rtrcu_self.rt_awake_cpu = PLAT_CPU_MAX;
    callback_rt_awake(cb_, false);
    EXPECT_EQ(cb_->rt_awake[PLAT_CPU_MAX - 1], 0u) << "subtracted on the CPU where it was counted";
    EXPECT_EQ(awake(), 0u);
}

/* Policy krcud with a limit of 5, and a record that runs on CPU 0. */
class Krcud : public Policy
{
  protected:
    static inline reader_record *owner_;
    static inline callback *callbacks_;
    static inline int until_due_; /* number of callbacks after which real-time work is due */
    uint32_t cpu_ = 0;

    void SetUp() override
    {
        Policy::SetUp();
        config_.policy = RTRCU_POLICY_KRCUD;
        config_.bhlimit = 5;
        record_->cpu = &cpu_;
        owner_ = record_;
        callbacks_ = cb_;
    }
    callback_run call_of_the_owner()
    {
        const callback_policy *policy = callback_policy_of(RTRCU_POLICY_KRCUD);
        callback_budget budget = budget_of(RTRCU_POLICY_KRCUD);
        budget.by_owner = budget.may_wait = true;
        callback_run run = {};
        if (budget.count_max)
            run = callback_invoke(cb_, record_, &budget);
        policy->owner_done(cb_, record_, &run, callback_has_ready(record_));
        return run;
    }
    void queue_ready_that(rcu_callback_t func, size_t count)
    {
        for (size_t i = 0; i < count; i++)
            enqueue(record_, func);
        make_ready(record_);
    }
};

TEST_F(Krcud, OwnerRunsAllCallbacksIfNoRealTimeWorkWaits)
{
    ASSERT_EQ(config_.krcud_when, RTRCU_KRCUD_WHEN_RT);
    queue_ready(record_, 20);
    EXPECT_EQ(advance(record_), CALLBACK_OWNER);
    EXPECT_EQ(call_of_the_owner().done, 20u);
    EXPECT_EQ(cb_->limit_stops.count, 0u);
}

TEST_F(Krcud, DaemonGetsRemainingCallbacksWhileRealTimeWorkWaits)
{
    queue_ready(record_, 20);
    cb_->rt_awake[0] = 1;
    EXPECT_EQ(call_of_the_owner().done, 5u);
    EXPECT_EQ(cb_->limit_stops.count, 1u);
    EXPECT_EQ(advance(record_), CALLBACK_DAEMON);
    cb_->rt_awake[0] = 0;
    EXPECT_EQ(call_of_the_owner().done, 0u) << "the callbacks belong to the daemon until more become ready";
    queue_ready(record_, 1);
    EXPECT_EQ(advance(record_), CALLBACK_OWNER) << "a grace period has made a callback ready";
    EXPECT_EQ(call_of_the_owner().done, 16u);
}

/* The ninth callback, past the limit of 5, makes real-time work due; the tenth does not run. */
TEST_F(Krcud, RealTimeWorkEndsABatchAfterTheLimit)
{
    until_due_ = 9;
    queue_ready_that([](rcu_head *) { callbacks_->rt_awake[0] = --until_due_ <= 0; }, 20);
    callback_run run = call_of_the_owner();
    EXPECT_EQ(run.done, 9u);
    EXPECT_TRUE(run.stopped);
    EXPECT_EQ(advance(record_), CALLBACK_DAEMON);
}

TEST_F(Krcud, OwnersDeadlineEndsABatchAfterTheLimit)
{
    until_due_ = 9;
    callback_set_deadline(record_, plat_clock_now() + INT64_C(3600000000000));
    queue_ready_that(
        [](rcu_head *) {
            if (--until_due_ == 0)
                callback_set_deadline(owner_, plat_clock_now());
        },
        20);
    EXPECT_EQ(call_of_the_owner().done, 9u);
    EXPECT_EQ(advance(record_), CALLBACK_DAEMON);
}

void spin_for_a_millisecond(rcu_head *)
{
    int64_t until_ns = plat_clock_now() + 1000000;
    while (plat_clock_now() < until_ns)
        ;
}

TEST_F(Krcud, LearnedCostEndsABatchBeforeTheDeadline)
{
    queue_ready_that(spin_for_a_millisecond, 3);
    EXPECT_EQ(call_of_the_owner().done, 3u);
    uint32_t cost_ns = callback_slot(record_)->queue.cost_ns;
    ASSERT_GE(cost_ns, 500000u) << "half of a measured millisecond";
    callback_set_deadline(record_, plat_clock_now() + cost_ns);
    EXPECT_TRUE(callback_rt_waits(cb_, record_));
    callback_set_deadline(record_, plat_clock_now() + INT64_C(3600000000000));
    EXPECT_FALSE(callback_rt_waits(cb_, record_));
}

TEST_F(Krcud, OwnerKeepsTheLimitIfKrcudWhenIsAlways)
{
    config_.krcud_when = RTRCU_KRCUD_WHEN_ALWAYS;
    queue_ready(record_, 20);
    EXPECT_EQ(call_of_the_owner().done, 5u);
    EXPECT_EQ(advance(record_), CALLBACK_DAEMON);
    invoke(record_, everything());
    queue_ready(record_, 5);
    callback_run run = call_of_the_owner();
    EXPECT_EQ(run.done, 5u);
    EXPECT_FALSE(run.stopped) << "no callback was left that the budget could have stopped";
    EXPECT_EQ(cb_->limit_stops.count, 1u);
}

TEST_F(Krcud, CallsOfTheOwnerInOneGracePeriodShareTheLimit)
{
    const callback_policy *policy = callback_policy_of(RTRCU_POLICY_KRCUD);
    queue_ready(record_, 20);
    EXPECT_EQ(budget_of(RTRCU_POLICY_KRCUD).sure, 5u);
    callback_run run = {};
    run.done = 3;
    policy->owner_done(cb_, record_, &run, true);
    EXPECT_EQ(budget_of(RTRCU_POLICY_KRCUD).sure, 2u);
    run.done = 9;
    policy->owner_done(cb_, record_, &run, true);
    EXPECT_EQ(budget_of(RTRCU_POLICY_KRCUD).sure, 0u);
    EXPECT_EQ(advance(record_), CALLBACK_OWNER) << "no real-time work waits";
    EXPECT_EQ(cb_->limit_stops.count, 0u);
}

TEST_F(Krcud, OwnerRunsAllCallbacksIfBhlimitIsZero)
{
    config_.krcud_when = RTRCU_KRCUD_WHEN_ALWAYS;
    config_.bhlimit = 0;
    cb_->rt_awake[0] = 1;
    queue_ready(record_, 20);
    EXPECT_EQ(advance(record_), CALLBACK_OWNER);
    EXPECT_EQ(call_of_the_owner().done, 20u);
    EXPECT_EQ(cb_->limit_stops.count, 0u);
}

/* A daemon may be preempted, so its batches do not measure the cost of a callback. */
TEST_F(Krcud, DaemonsBatchDoesNotChangeTheLearnedCost)
{
    queue_ready_that(spin_for_a_millisecond, 1);
    EXPECT_EQ(invoke(record_, everything()), 1u);
    EXPECT_EQ(callback_slot(record_)->queue.cost_ns, 0u);
}

/* Without a ready callback, an owner's flag stays clear, and its next section takes the fast path. */
TEST(RequestOwner, OwnersFlagStaysClearWithoutReadyCallbacks)
{
    std::thread([] {
        for (unsigned how : {0u, unsigned(RTRCU_QSBR)}) {
            ASSERT_EQ(rtrcu_register_thread(how), 0);
            rcu_read_lock();
            rcu_read_unlock();
            uint32_t word = rtrcu_word_of(&rtrcu_self);
            callback_request_owner(&rtrcu_domain.cb);
            EXPECT_EQ(rtrcu_word_of(&rtrcu_self), word);
            rtrcu_unregister_thread();
        }
    }).join();
}

/* Under policies by which the owner runs callbacks, a quiescent-state thread runs its ready callbacks at its next
 * quiescent state. */
TEST_F(Policy, ReadyCallbacksSetTheFlagOfAQuiescentStateOwner)
{
    for (int32_t policy : {RTRCU_POLICY_INLINE, RTRCU_POLICY_DAEMON}) {
        config_.policy = policy;
        std::thread([&] {
            ASSERT_EQ(rtrcu_register_thread(RTRCU_QSBR), 0);
            for (uint32_t ready : {1u, 0u}) {
                uint32_t *has_ready = &callback_slot(rtrcu_self.record)->queue.has_ready;
                rtrcu_word_disarm(&rtrcu_self);
                uint32_t word = rtrcu_word_of(&rtrcu_self);
                rtrcu_store_release(has_ready, ready);
                callback_request_owner(cb_);
                rtrcu_store_release(has_ready, 0u);
                EXPECT_EQ(rtrcu_word_of(&rtrcu_self) != word, ready && policy == RTRCU_POLICY_INLINE);
            }
            rtrcu_unregister_thread();
        }).join();
    }
}

TEST(CallbackProbes, TracepointsOfCallbacksExist)
{
    EXPECT_EQ(test::missing_probes({"limit_raised", "over_qmax", "batch_begin", "batch_end"}),
              std::vector<std::string>{});
}

} // namespace
