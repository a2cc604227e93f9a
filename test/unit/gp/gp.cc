/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the grace-period machine with made-up records: cookies, scans, reports, and carries in its tree. */
#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/seed.h"
#include "../../support/sync.h"

namespace
{

constexpr uint64_t before_the_wrap = 0 - 2 * SEQ_STEP;

class Gp : public testing::Test
{
  protected:
    test::World world_;
    struct gp *gp_ = world_.gp();
    gp_machine *normal_ = &world_.gp()->machine[GP_NORMAL];

    void grace_period(gp_kind kind = GP_NORMAL)
    {
        test::GpStepper stepper(gp_, kind);
        stepper.begin_and_scan();
        ASSERT_TRUE(stepper.is_clear());
        stepper.end();
    }
    gp_actions leave_and_report(reader_record *record)
    {
        world_.set_inside(record, 0);
        return gp_report(gp_, record);
    }
    /* Create @leaves leaves, each with one reader that is outside. */
    std::vector<reader_record *> readers_in_leaves(uint32_t leaves)
    {
        std::vector<reader_record *> readers = {world_.craft(0)};
        while (reader_leaf_count(world_.registry()) < leaves) {
            world_.fill_last_leaf();
            readers.push_back(world_.craft(0));
        }
        return readers;
    }
};

/* ---- cookies ---- */

TEST_F(Gp, CookieIsReachedByTheNextWholeGracePeriod)
{
    normal_->seq = normal_->needed = before_the_wrap;
    for (int turn = 0; turn < 4; turn++) {
        uint64_t idle = gp_snap(gp_, GP_NORMAL);
        EXPECT_FALSE(gp_reached(gp_, GP_NORMAL, idle));
        uint64_t running;
        {
            test::GpStepper stepper(gp_);
            stepper.begin_and_scan();
            running = gp_snap(gp_, GP_NORMAL);
            EXPECT_FALSE(gp_reached(gp_, GP_NORMAL, idle));
            stepper.end();
        }
        EXPECT_TRUE(gp_reached(gp_, GP_NORMAL, idle));
        EXPECT_FALSE(gp_reached(gp_, GP_NORMAL, running)) << "the grace period began before the cookie was taken";
        grace_period();
        EXPECT_TRUE(gp_reached(gp_, GP_NORMAL, running));
        EXPECT_TRUE(gp_reached(gp_, GP_NORMAL, idle));
    }
}

TEST_F(Gp, RepeatedRequestOfAGracePeriodReturnsFalse)
{
    normal_->seq = normal_->needed = before_the_wrap;
    EXPECT_FALSE(gp_is_needed(gp_, GP_NORMAL));
    uint64_t cookie = gp_snap(gp_, GP_NORMAL);
    EXPECT_TRUE(gp_request(gp_, GP_NORMAL, cookie));
    EXPECT_FALSE(gp_request(gp_, GP_NORMAL, cookie)) << "the cookie was requested already";
    EXPECT_TRUE(gp_is_needed(gp_, GP_NORMAL));
    EXPECT_FALSE(gp_is_needed(gp_, GP_EXPEDITED)) << "a request concerns one kind only";
    grace_period();
    EXPECT_FALSE(gp_is_needed(gp_, GP_NORMAL));
    EXPECT_FALSE(gp_request(gp_, GP_NORMAL, cookie)) << "the cookie is reached";
    EXPECT_TRUE(gp_request(gp_, GP_NORMAL, cookie + 2 * SEQ_STEP));
    grace_period();
    EXPECT_TRUE(gp_is_needed(gp_, GP_NORMAL)) << "a later grace period was requested too";
    grace_period();
    EXPECT_FALSE(gp_is_needed(gp_, GP_NORMAL));
}

TEST_F(Gp, EachGracePeriodIsCountedAndTimed)
{
    reader_record *reader = world_.craft(1);
    {
        test::GpStepper stepper(gp_);
        EXPECT_TRUE(stepper.begin_and_scan(1000));
        leave_and_report(reader);
        stepper.end(6000);
    }
    {
        test::GpStepper stepper(gp_);
        EXPECT_FALSE(stepper.begin_and_scan(7000));
        stepper.end(8000);
    }
    EXPECT_EQ(normal_->completed.count, 2u);
    EXPECT_EQ(normal_->busy.count, 1u);
    EXPECT_EQ(normal_->ns_last, 1000);
    EXPECT_EQ(normal_->ns_max, 5000);
}

/* ---- scan and report ---- */

TEST_F(Gp, ScanFindsExactlyTheReadersInside)
{
    std::vector<reader_record *> readers;
    uint32_t expected = 0;
    for (uint32_t i = 0; i < 20; i++) {
        readers.push_back(world_.craft(i % 3 == 0 ? i + 1 : 0));
        if (i % 3 == 0)
            expected |= reader_bit(readers.back());
    }
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    EXPECT_EQ(gp_holdouts(gp_, GP_NORMAL, reader_leaf_at(world_.registry(), 0)), expected);
    for (auto *reader : readers)
        leave_and_report(reader);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(Gp, LaterSectionsAreNotWaitedFor)
{
    reader_record *inside = world_.craft(1), *outside = world_.craft(0);
    test::GpStepper stepper(gp_);
    stepper.begin_and_scan();
    world_.set_inside(outside, 1);
    EXPECT_EQ(gp_holdouts(gp_, GP_NORMAL, reader_leaf_at(world_.registry(), 0)), reader_bit(inside));
    leave_and_report(inside);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(Gp, OnlyTheFirstReportOfTheLastHoldoutWakesTheWaiter)
{
    reader_record *a = world_.craft(1), *b = world_.craft(1);
    test::GpStepper stepper(gp_);
    stepper.begin_and_scan();
    EXPECT_EQ(leave_and_report(a), GP_ACTION_NONE);
    EXPECT_EQ(gp_report(gp_, a), GP_ACTION_NONE);
    EXPECT_FALSE(stepper.is_clear());
    EXPECT_EQ(leave_and_report(b), GP_ACTION_WAKE_NORMAL);
    EXPECT_EQ(gp_report(gp_, b), GP_ACTION_NONE) << "the reader is no holdout";
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(Gp, ReportBetweenGracePeriodsHasNoEffect)
{
    reader_record *reader = world_.craft(0);
    grace_period();
    EXPECT_EQ(gp_report(gp_, reader), GP_ACTION_NONE);
}

TEST_F(Gp, OneReportCountsForBothKindsOfGracePeriod)
{
    reader_record *reader = world_.craft(1);
    test::GpStepper normal(gp_, GP_NORMAL);
    normal.begin_and_scan();
    lock *expedited_crank = &gp_->machine[GP_EXPEDITED].gp_lock;
    lock_acquire_same_rank(expedited_crank);
    gp_begin(gp_, GP_EXPEDITED, 1);
    ASSERT_TRUE(gp_scan(gp_, GP_EXPEDITED));
    EXPECT_EQ(leave_and_report(reader), gp_actions(GP_ACTION_WAKE_NORMAL | GP_ACTION_WAKE_EXPEDITED));
    EXPECT_TRUE(gp_is_clear(gp_, GP_EXPEDITED));
    gp_end(gp_, GP_EXPEDITED, 2);
    lock_release(expedited_crank);
    EXPECT_TRUE(normal.is_clear());
    normal.end();
}

TEST_F(Gp, PollReportsForBothKindsOfGracePeriod)
{
    reader_record *reader = world_.craft(1);
    test::GpStepper stepper(gp_);
    ASSERT_TRUE(stepper.begin_and_scan());
    lock *expedited_crank = &gp_->machine[GP_EXPEDITED].gp_lock;
    lock_acquire_same_rank(expedited_crank);
    gp_begin(gp_, GP_EXPEDITED, 1);
    ASSERT_TRUE(gp_scan(gp_, GP_EXPEDITED));
    world_.set_inside(reader, 0);
    stepper.poll(false);
    EXPECT_TRUE(stepper.is_clear());
    EXPECT_TRUE(gp_is_clear(gp_, GP_EXPEDITED));
    EXPECT_EQ(stepper.actions(), GP_ACTION_WAKE_EXPEDITED) << "the thread that advances the expedited kind may sleep";
    gp_end(gp_, GP_EXPEDITED, 2);
    lock_release(expedited_crank);
    stepper.end();
}

TEST_F(Gp, PollReportsForReadersWhoseSectionEnded)
{
    reader_record *reader = world_.craft(1);
    test::GpStepper stepper(gp_);
    stepper.begin_and_scan();
    EXPECT_EQ(stepper.poll(false), 0u);
    EXPECT_FALSE(stepper.is_clear());
    EXPECT_EQ(rtrcu_word_of(reader->self) >> 24, RTRCU_FLAG_FAST) << "no report requested yet";
    world_.set_inside(reader, 0);
    stepper.poll(false);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(Gp, PollSetsEachHoldoutsFlagOnce)
{
    reader_record *a = world_.craft(1), *b = world_.craft(1), *c = world_.craft(0);
    test::GpStepper stepper(gp_);
    stepper.begin_and_scan();
    EXPECT_EQ(stepper.poll(true), 2u);
    EXPECT_EQ(stepper.poll(true), 0u) << "both flags are set already";
    rtrcu_word_disarm(a->self); /* an update in progress overwrote the flag */
    EXPECT_EQ(stepper.poll(true), 1u);
    EXPECT_EQ(rtrcu_word_of(c->self) >> 24, RTRCU_FLAG_FAST) << "a reader that is no holdout keeps its flag clear";
    leave_and_report(a);
    leave_and_report(b);
    stepper.end();
}

TEST_F(Gp, ScanSetsTheFlagOfQuiescentStateThreads)
{
    reader_record *qs = world_.craft(RTRCU_QSBR_ONLINE), *preemptible = world_.craft(1);
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    EXPECT_EQ(rtrcu_word_of(qs->self) >> 24, RTRCU_FLAG_SPECIAL);
    EXPECT_EQ(rtrcu_word_of(preemptible->self) >> 24, RTRCU_FLAG_FAST);
    EXPECT_EQ(gp_report(gp_, qs), GP_ACTION_NONE) << "the thread reports a quiescent state, and stays online";
    EXPECT_FALSE(stepper.is_clear());
    leave_and_report(preemptible);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

/* No heavy fence is needed if the words show that every thread is an online quiescent-state thread. */
TEST_F(Gp, OnlineThreadsNeedNoFence)
{
    struct gp *gp = world_.gp();
    EXPECT_FALSE(gp_needs_fence(gp)) << "no thread is scanned";
    reader_record *first = world_.craft(RTRCU_QSBR_ONLINE), *second = world_.craft(RTRCU_QSBR_ONLINE);
    uint32_t *quiescent = &first->leaf->quiescent;
    rtrcu_store_relaxed(quiescent, reader_bit(first) | reader_bit(second));
    EXPECT_FALSE(gp_needs_fence(gp));
    world_.set_inside(second, 0);
    EXPECT_TRUE(gp_needs_fence(gp)) << "the second thread is offline";
    world_.set_inside(second, 1);
    EXPECT_TRUE(gp_needs_fence(gp)) << "a section of an offline thread begins without a fence";
    world_.set_inside(second, RTRCU_QSBR_ONLINE);
    EXPECT_FALSE(gp_needs_fence(gp));
    world_.set_inside(first, 0);
    EXPECT_TRUE(gp_needs_fence(gp)) << "the first thread is offline";
    rtrcu_store_relaxed(quiescent, reader_bit(second));
    EXPECT_TRUE(gp_needs_fence(gp)) << "the first thread is not a quiescent-state thread";
}

TEST_F(Gp, ReadersWithoutARecordAreWaitedFor)
{
    for (reader_phase group : {READER_PHASE_EVEN, READER_PHASE_ODD}) {
        reader_anonymous_enter(world_.registry(), group);
        test::GpStepper stepper(gp_);
        EXPECT_TRUE(stepper.begin_and_scan());
        stepper.poll(true);
        EXPECT_FALSE(stepper.is_clear());
        EXPECT_NE(gp_report_anonymous(gp_, group), GP_ACTION_NONE);
        stepper.poll(true);
        EXPECT_TRUE(stepper.is_clear());
        stepper.end();
    }
}

/* Readers that enter after the grace period began are counted in the other phase, once that phase is empty. */
TEST_F(Gp, SuccessiveReadersWithoutARecordAreNotWaitedFor)
{
    reader_registry *registry = world_.registry();
    reader_anonymous_enter(registry, READER_PHASE_EVEN);
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    EXPECT_EQ(reader_anonymous_phase(registry), 0u);
    stepper.poll(true);
    EXPECT_EQ(reader_anonymous_phase(registry), 1u);
    reader_anonymous_enter(registry, READER_PHASE_ODD);
    stepper.poll(true);
    EXPECT_FALSE(stepper.is_clear());
    EXPECT_NE(gp_report_anonymous(gp_, READER_PHASE_EVEN), GP_ACTION_NONE);
    stepper.poll(true);
    EXPECT_TRUE(stepper.is_clear());
    EXPECT_EQ(reader_anonymous_phase(registry), 1u) << "no reader that the grace period waits for is left";
    stepper.end();
    EXPECT_TRUE(stepper.begin_and_scan());
    reader_anonymous_enter(registry, READER_PHASE_EVEN); /* the reader read the phase before the phase changed */
    stepper.poll(true);
    EXPECT_EQ(reader_anonymous_phase(registry), 1u) << "a reader of the other phase is left";
    (void)gp_report_anonymous(gp_, READER_PHASE_EVEN);
    stepper.poll(true);
    EXPECT_EQ(reader_anonymous_phase(registry), 2u);
    EXPECT_FALSE(stepper.is_clear());
    (void)gp_report_anonymous(gp_, READER_PHASE_ODD);
    stepper.poll(true);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

/* The other kind's machine may find a phase empty and begin the next one: this machine notices that. */
TEST_F(Gp, PhaseBegunByTheOtherKindShowsThatThePreviousPhaseWasEmpty)
{
    reader_registry *registry = world_.registry();
    auto empty_and_go_on = [&](uint32_t turn, reader_phase group) {
        (void)reader_anonymous_leave(registry, group);
        reader_anonymous_flip(registry, turn);
        reader_anonymous_enter(registry, group);
    };
    reader_anonymous_enter(registry, READER_PHASE_EVEN);
    reader_anonymous_enter(registry, READER_PHASE_ODD);
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan());
    empty_and_go_on(0, READER_PHASE_ODD); /* the phase may have been found empty before this grace period began */
    stepper.poll(true);
    EXPECT_EQ(gp_->machine[GP_NORMAL].anonymous_busy, 3u);
    empty_and_go_on(1, READER_PHASE_EVEN);
    stepper.poll(true);
    EXPECT_EQ(gp_->machine[GP_NORMAL].anonymous_busy, 2u);
    empty_and_go_on(2, READER_PHASE_ODD);
    EXPECT_EQ(reader_anonymous_phase(registry), 3u);
    stepper.poll(true);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(Gp, UnregisteringThreadReportsForItsSection)
{
    reader_record *reader = world_.craft(1);
    test::GpStepper stepper(gp_);
    stepper.begin_and_scan();
    world_.withdraw(reader);
    EXPECT_EQ(gp_report(gp_, reader), GP_ACTION_WAKE_NORMAL);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

/* ---- trees ---- */

class GpTree : public Gp, public testing::WithParamInterface<uint32_t>
{
};

uint32_t height_of(uint32_t leaves)
{
    return leaves == 1 ? 0 : leaves <= 32 ? 1 : leaves <= 1024 ? 2 : 3;
}

TEST_P(GpTree, LastReportWakesInAnyOrderOfReports)
{
    auto random = test::seeded_random("GpTree.LastReportWakesInAnyOrderOfReports");
    std::vector<reader_record *> readers = readers_in_leaves(GetParam());
    normal_->seq = normal_->needed = before_the_wrap;
    for (int turn = 0; turn < 4; turn++) {
        std::vector<reader_record *> inside;
        for (auto *reader : readers) {
            world_.set_inside(reader, random() % 3 == 0 ? 1 : 0);
            if (reader_inside(reader))
                inside.push_back(reader);
        }
        test::GpStepper stepper(gp_);
        EXPECT_EQ(stepper.begin_and_scan(), !inside.empty());
        EXPECT_EQ(normal_->top, height_of(GetParam()));
        std::shuffle(inside.begin(), inside.end(), random);
        for (size_t i = 0; i < inside.size(); i++) {
            ASSERT_FALSE(stepper.is_clear()) << "reports left: " << inside.size() - i;
            gp_actions actions = leave_and_report(inside[i]);
            ASSERT_EQ(actions != GP_ACTION_NONE, i + 1 == inside.size());
        }
        ASSERT_TRUE(stepper.is_clear());
        stepper.end();
    }
}

TEST_P(GpTree, TreeWithoutReadersIsClear)
{
    readers_in_leaves(GetParam());
    test::GpStepper stepper(gp_);
    EXPECT_FALSE(stepper.begin_and_scan());
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

/* A reader clears its bit and is preempted before it carries.  The next poll carries for it. */
TEST_P(GpTree, PollCompletesAnUnfinishedCarry)
{
    std::vector<reader_record *> readers = readers_in_leaves(GetParam());
    reader_record *last = readers.back();
    world_.set_inside(last, 1);
    test::GpStepper stepper(gp_);
    ASSERT_TRUE(stepper.begin_and_scan());
    world_.set_inside(last, 0);
    rtrcu_fetch_and(&gp_->level0[last->leaf->index].word[GP_NORMAL], ~static_cast<uint64_t>(reader_bit(last)));
    EXPECT_EQ(stepper.is_clear(), GetParam() == 1);
    stepper.poll(false);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

/* A preempted reader carries after its grace period has ended, while the next one waits for the same leaf. */
TEST_P(GpTree, StaleCarryChangesNothing)
{
    std::vector<reader_record *> readers = readers_in_leaves(GetParam());
    reader_record *reader = readers.back();
    struct gp_stamp stale;
    {
        test::GpStepper stepper(gp_);
        stepper.begin_and_scan();
        stale = gp_stamp_of(normal_->seq);
        stepper.end();
    }
    world_.set_inside(reader, 1);
    test::GpStepper stepper(gp_);
    ASSERT_TRUE(stepper.begin_and_scan());
    if (GetParam() > 1) {
        EXPECT_EQ(gp_carry(gp_, GP_NORMAL, 0, reader->leaf->index, stale), GP_ACTION_NONE);
    }
    EXPECT_FALSE(stepper.is_clear());
    EXPECT_EQ(leave_and_report(reader), GP_ACTION_WAKE_NORMAL);
    stepper.end();
}

TEST_P(GpTree, RepeatedCarryChangesNothing)
{
    std::vector<reader_record *> readers = readers_in_leaves(GetParam());
    world_.set_inside(readers.front(), 1);
    world_.set_inside(readers.back(), 1);
    test::GpStepper stepper(gp_);
    ASSERT_TRUE(stepper.begin_and_scan());
    leave_and_report(readers.back());
    if (readers.size() > 1) {
        gp_carry(gp_, GP_NORMAL, 0, readers.back()->leaf->index, gp_stamp_of(normal_->seq));
        EXPECT_FALSE(stepper.is_clear()) << "the other reader is still a holdout";
        leave_and_report(readers.front());
    }
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

INSTANTIATE_TEST_SUITE_P(Heights, GpTree, testing::Values(1, 2, 31, 32, 33, 1000, 1024, 1025, 1055, 1100));

/* A node counts a leaf to scan below it, but the scan finds no holdout there: the node is clear. */
TEST_F(Gp, NodeIsClearIfTheScanFindsNothingBelowIt)
{
    std::vector<reader_record *> readers = readers_in_leaves(40);
    for (reader_record *reader : readers)
        reader_scanned_clear(&reader->leaf->scanned, reader_bit(reader));
    (void)tally_raise(&world_.registry()->counts.level1[1].reasons);
    (void)tally_raise(&world_.registry()->counts.level2[0].reasons);
    test::GpStepper stepper(gp_);
    EXPECT_FALSE(stepper.begin_and_scan());
    EXPECT_EQ(normal_->top, 2u);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(Gp, LeafIsClearIfTheScanFindsNothingInIt)
{
    for (reader_record *reader : readers_in_leaves(40))
        rtrcu_store_relaxed(&reader->leaf->registered, 0); /* the scanned thread is not registered yet */
    test::GpStepper stepper(gp_);
    EXPECT_FALSE(stepper.begin_and_scan());
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

TEST_F(Gp, LeafAddedDuringAGracePeriodJoinsTheNext)
{
    reader_record *old = world_.craft(1);
    {
        test::GpStepper stepper(gp_);
        stepper.begin_and_scan();
        world_.fill_last_leaf();
        reader_record *fresh = world_.craft(1);
        EXPECT_EQ(fresh->leaf->index, 1u);
        EXPECT_EQ(gp_report(gp_, fresh), GP_ACTION_NONE);
        stepper.poll(true);
        EXPECT_FALSE(stepper.is_clear());
        leave_and_report(old);
        EXPECT_TRUE(stepper.is_clear()) << "the new reader began after the grace period";
        stepper.end();
    }
    test::GpStepper stepper(gp_);
    EXPECT_TRUE(stepper.begin_and_scan()) << "the next grace period waits for the new reader";
    EXPECT_NE(gp_holdouts(gp_, GP_NORMAL, reader_leaf_at(world_.registry(), 1)), 0u);
    stepper.poll(true);
    EXPECT_FALSE(stepper.is_clear());
    world_.set_inside(&reader_leaf_at(world_.registry(), 1)->record[0], 0);
    stepper.poll(true);
    EXPECT_TRUE(stepper.is_clear());
    stepper.end();
}

/* All leaves report concurrently: no bit of a node's word is lost. */
TEST_F(Gp, ReportsFromManyThreadsClearTheTree)
{
    std::vector<reader_record *> readers = readers_in_leaves(70);
    constexpr size_t threads = 4;
    for (int turn = 0; turn < 50; turn++) {
        for (auto *reader : readers)
            world_.set_inside(reader, 1);
        test::GpStepper stepper(gp_);
        ASSERT_TRUE(stepper.begin_and_scan());
        std::atomic<int> wakes{0};
        test::Steps start;
        std::vector<std::thread> all;
        for (size_t t = 0; t < threads; t++) {
            all.emplace_back([&, t] {
                start.wait(1);
                for (size_t i = t; i < readers.size(); i += threads)
                    wakes += leave_and_report(readers[i]) != GP_ACTION_NONE;
            });
        }
        start.reach(1);
        for (auto &thread : all)
            thread.join();
        EXPECT_TRUE(stepper.is_clear());
        EXPECT_GE(wakes, 1);
        stepper.end();
    }
}

/* ---- fork ---- */

TEST_F(Gp, ForksChildHasNoHoldoutsAndKeepsCookies)
{
    std::vector<reader_record *> readers = readers_in_leaves(40);
    normal_->seq = normal_->needed = before_the_wrap;
    uint64_t cookie = gp_snap(gp_, GP_NORMAL);
    for (auto *reader : readers)
        world_.set_inside(reader, 1);
    lock_acquire(&normal_->gp_lock);
    gp_begin(gp_, GP_NORMAL, 1);
    ASSERT_TRUE(gp_scan(gp_, GP_NORMAL));
    gp_after_fork_child(gp_);
    rtrcu_self.locks_held = 0;
    EXPECT_EQ(normal_->gp_lock.word, 0u);
    EXPECT_TRUE(gp_is_clear(gp_, GP_NORMAL));
    EXPECT_FALSE(seq_is_running(normal_->seq));
    EXPECT_FALSE(gp_reached(gp_, GP_NORMAL, cookie)) << "the parent's grace period in progress does not count";
    for (auto *reader : readers)
        EXPECT_EQ(leave_and_report(reader), GP_ACTION_NONE);
    grace_period();
    EXPECT_TRUE(gp_reached(gp_, GP_NORMAL, cookie));
}

/* The marked memory is the node after the last one that the tree uses: the child must not write beyond its nodes. */
TEST_F(Gp, ForksChildResetsEveryNode)
{
    constexpr uint32_t leaves = READER_FANOUT;
    (void)readers_in_leaves(leaves);
    void *beyond = &gp_->level1[1];
    std::vector<char> before(sizeof(gp_node), 0x5a);
    memcpy(beyond, before.data(), before.size());
    lock_acquire(&normal_->gp_lock);
    gp_begin(gp_, GP_NORMAL, 1);
    (void)gp_scan(gp_, GP_NORMAL);
    gp_after_fork_child(gp_);
    rtrcu_self.locks_held = 0;
    EXPECT_EQ(memcmp(beyond, before.data(), before.size()), 0);
}

void scan_without_the_crank()
{
    test::World world;
    gp_scan(world.gp(), GP_NORMAL);
}

void end_while_a_reader_owes()
{
    test::World world;
    world.craft(1);
    test::GpStepper stepper(world.gp());
    stepper.begin_and_scan();
    stepper.end();
}

TEST(GpDeathTest, DebugBuildsCheckTheirInvariants)
{
    if (!CHECK_DEBUG)
        GTEST_SKIP() << "release builds do not check invariants";
    EXPECT_DEATH(scan_without_the_crank(), "check failed: lock_is_mine");
    EXPECT_DEATH(end_while_a_reader_owes(), "INV-GP3");
}

} // namespace
