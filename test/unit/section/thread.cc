/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a thread gives back when it leaves.
 */
#include <vector>

#include <gtest/gtest.h>

#include "../../support/complaints.h"
#include "../../support/internals.h"
#include "../../support/probes.h"
#include "../../support/sync.h"

namespace
{

struct gp *const gp_ = &rtrcu_domain.gp;

/* With nobody asleep on the word, its owner's release alone gives the priority back; else the kernel has to. */
TEST(Leave, EndsItsBoost)
{
    for (uint32_t waiters : {0u, UINT32_C(1) << 31}) {
        test::Worker reader;
        reader.run([&] {
            reader_record *record = section_record(gp_);
            ASSERT_NE(record, nullptr);
            rtrcu_store_relaxed(&record->boost, lock_thread_number() | waiters);
            gp_actions actions = section_leave(gp_, false);
            EXPECT_EQ((actions & GP_ACTION_UNLOCK_PI) != 0, waiters != 0);
            EXPECT_EQ(rtrcu_load_relaxed(&record->boost) != 0, waiters != 0);
            rtrcu_store_relaxed(&record->boost, 0u);
        });
    }
}

/* Whoever waits for it alone is woken. */
TEST(Leave, ReportsLikeAnyOther)
{
    test::Worker reader;
    reader.run([] { ASSERT_EQ(section_register(gp_, RTRCU_QSBR), 0); });
    test::Crank crank(gp_);
    EXPECT_TRUE(crank.begin_and_scan());
    gp_actions actions = GP_ACTION_NONE;
    reader.run([&] { actions = section_leave(gp_, false); });
    EXPECT_TRUE(actions & GP_ACTION_WAKE_NORMAL);
    ASSERT_TRUE(crank.is_clear());
    crank.end();
}

/* More than are promoted at once: none stays on the list of a slot that another thread may take. */
TEST(Leave, LeavesAllItsTasksToItsLeaf)
{
    std::vector<rcu_task> tasks(2 * PARKED_PROMOTE_MAX + 1);
    test::Worker reader;
    reader.run([&] {
        for (rcu_task &task : tasks) {
            rcu_task_init(&task, "left");
            rcu_read_lock();
            (void)section_task_park(gp_, &task, true);
        }
        (void)section_leave(gp_, false);
    });
    for (const rcu_task &task : tasks)
        EXPECT_EQ(rtrcu_load_relaxed(&task.where), static_cast<uint32_t>(PARKED_ON_LEAF));
    reader.run([&] {
        for (rcu_task &task : tasks) {
            rcu_task_resume(&task);
            rcu_read_unlock();
        }
    });
}

/* Its hook may not run again: what it reads from now on must not take a slot that nobody would give back. */
TEST(Leave, AtItsExitIsForGood)
{
    test::Worker reader;
    reader.run([] {
        ASSERT_NE(section_record(gp_), nullptr);
        (void)section_leave(gp_, false);
        ASSERT_NE(section_record(gp_), nullptr) << "it may come again";
        (void)section_leave(gp_, true);
        EXPECT_TRUE(reader_self_is(READER_STATE_GONE));
        EXPECT_EQ(section_record(gp_), nullptr);
    });
}

/* It is counted then, and what it leaves open is closed. */
TEST(Leave, AtItsExitASectionWithoutARecordIsClosed)
{
    test::CapturedComplaints errors;
    test::Worker reader;
    reader.run([] {
        (void)section_leave(gp_, true);
        ASSERT_EQ(reader_self(), nullptr);
        rcu_read_lock();
        ASSERT_EQ(section_nesting(), 1u);
        EXPECT_EQ(rtrcu_domain.registry.anonymous, 1u);
        (void)section_leave(gp_, true);
        EXPECT_EQ(section_nesting(), 0u);
        EXPECT_EQ(rtrcu_domain.registry.anonymous, 0u);
    });
    EXPECT_TRUE(errors.contains("exits inside a read-side critical section (nesting 1); closed"));
}

/* More than an unlock promotes: whoever waits is woken, and does the rest. */
TEST(Leave, ByAnUnlockLeavesManyTasksToWhoWaits)
{
    std::vector<rcu_task> tasks(2 * PARKED_PROMOTE_MAX + 1);
    test::Worker reader;
    reader.run([&] {
        for (rcu_task &task : tasks) {
            rcu_task_init(&task, "many");
            rcu_read_lock();
            (void)section_task_park(gp_, &task, true);
        }
        rcu_read_lock();
    });
    test::Crank crank(gp_);
    EXPECT_TRUE(crank.begin_and_scan());
    crank.poll(true);
    gp_actions actions = GP_ACTION_NONE;
    reader.run([&] {
        EXPECT_TRUE(rtrcu_word_leave());
        actions = section_unlock_slow(gp_);
    });
    EXPECT_EQ(rtrcu_load_relaxed(&tasks.back().where), static_cast<uint32_t>(PARKED_ON_THREAD));
    EXPECT_TRUE(actions & GP_ACTION_WAKE_NORMAL);
    EXPECT_TRUE(actions & GP_ACTION_WAKE_EXPEDITED) << "it may wait for the same tasks";
    crank.poll(true);
    EXPECT_EQ(rtrcu_load_relaxed(&tasks.back().where), static_cast<uint32_t>(PARKED_ON_LEAF));
    EXPECT_FALSE(crank.is_clear()) << "it waits for the tasks";
    reader.run([&] {
        for (rcu_task &task : tasks) {
            rcu_task_resume(&task);
            rcu_read_unlock();
        }
    });
    crank.poll(true);
    ASSERT_TRUE(crank.is_clear());
    crank.end();
}

TEST(SectionProbes, AreThere)
{
    EXPECT_EQ(test::missing_probes({"task_park", "task_resume"}), std::vector<std::string>{});
}

} // namespace
