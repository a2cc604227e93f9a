/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a thread gives back when it leaves.
 */
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"
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

} // namespace
