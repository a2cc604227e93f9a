/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of checks of debug builds on a thread that advances a grace period: its locks, and the order of steps. */
#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

class GpStepsDeathTest : public testing::Test
{
  protected:
    test::World world_;
    struct gp *gp_ = world_.gp();
    lock *crank_ = gp_lock_of(world_.gp(), GP_NORMAL);

    void SetUp() override
    {
        if (!CHECK_DEBUG)
            GTEST_SKIP() << "only debug builds check";
    }
};

TEST_F(GpStepsDeathTest, OnlyTheGpLockHolderAdvances)
{
    gp_actions actions = GP_ACTION_NONE;
    const std::vector<std::pair<const char *, std::function<void()>>> steps = {
        {"begin", [&] { gp_begin(gp_, GP_NORMAL, 1); }},
        {"alone", [&] { (void)gp_try_immediate(gp_, GP_NORMAL); }},
        {"doze", [&] { gp_idle_propose(gp_, 1); }},
        {"settle", [&] { gp_idle_settle(gp_, true); }},
        {"scan", [&] { (void)gp_scan(gp_, GP_NORMAL); }},
        {"poll", [&] { (void)gp_poll(gp_, GP_NORMAL, false, &actions); }},
        {"end", [&] { gp_end(gp_, GP_NORMAL, 1); }},
    };
    for (const auto &[name, step] : steps)
        EXPECT_DEATH(step(), "check failed: lock_is_mine") << name;
}

/* A death test runs in a fork's child, where the locks of its parent are not held: so each takes the gp lock. */
TEST_F(GpStepsDeathTest, BeginDuringAGracePeriodIsRefused)
{
    auto begun = [&] {
        lock_acquire(crank_);
        gp_begin(gp_, GP_NORMAL, 1);
    };
    EXPECT_DEATH((begun(), gp_begin(gp_, GP_NORMAL, 1)), "INV-GP1");
    EXPECT_DEATH((begun(), (void)gp_try_immediate(gp_, GP_NORMAL)), "INV-GP1");
}

TEST_F(GpStepsDeathTest, BeginWithHoldoutsIsRefused)
{
    uint64_t *word = &gp_->level0[0].word[GP_NORMAL];
    rtrcu_fetch_or(word, UINT64_C(2));
    EXPECT_DEATH((lock_acquire(crank_), gp_begin(gp_, GP_NORMAL, 1)), "INV-GP1");
    EXPECT_DEATH((lock_acquire(crank_), (void)gp_try_immediate(gp_, GP_NORMAL)), "INV-GP1");
}

/* The query reads memory of registered threads, which may exit unless the caller holds the leaf lock. */
TEST_F(GpStepsDeathTest, QueryOfReadersCpusNeedsTheLeafLock)
{
    reader_record *record = world_.craft(1);
    test::GpStepper stepper(gp_);
    ASSERT_TRUE(stepper.begin_and_scan());
    EXPECT_DEATH((reader_lock(record->leaf), (void)gp_holdouts_where(gp_, GP_NORMAL, 0)), "lock of rank");
    world_.set_inside(record, 0);
    (void)gp_report(gp_, record);
    stepper.end();
}

TEST_F(GpStepsDeathTest, QueryOfOfflineReadersNeedsTheLeafLock)
{
    reader_record *record = world_.craft(RTRCU_QSBR_ONLINE);
    rtrcu_store_relaxed(&record->leaf->quiescent, reader_bit(record));
    EXPECT_DEATH((reader_lock(record->leaf), (void)gp_needs_fence(gp_)), "lock of rank");
}

} // namespace
