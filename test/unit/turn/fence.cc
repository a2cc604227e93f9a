/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The heavy fence, and who may note whom it stands in for.
 */
#include <cerrno>

#include "../../support/capture.h"
#include "../../support/sandbox.h"
#include "../../support/stepped.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "../../support/driving.h"

namespace
{

using Fence = DriveWorld;

TEST_F(Fence, IsHadInEitherMode)
{
    EXPECT_TRUE(turn_fence(&drive_->turn));
    reader_fences_switch(world_.registry());
    EXPECT_TRUE(turn_fence(&drive_->turn)) << "by a visit to every CPU, or by what readers acknowledge";
    EXPECT_EQ(world_.registry()->fence_confirmer, 0u);
    EXPECT_TRUE(reader_fences_are_confirmed(world_.registry(), world_.registry()->fence_mode));
    EXPECT_TRUE(turn_fence(&drive_->turn));
    EXPECT_EQ(drive_->turn.fence_refused.count, 0u);
}

/* Another thread notes: the notes are its own, and stay. */
TEST_F(Fence, LeavesAnothersNotesAlone)
{
    reader_fences_switch(world_.registry());
    world_.registry()->fence_confirmer = 77;
    (void)turn_fence(&drive_->turn);
    EXPECT_EQ(world_.registry()->fence_confirmer, 77u);
}

/* A thread that does not come to run on a CPU cannot say so. */
TEST_F(Fence, AVisitThatTakesTooLongIsSaidByAnother)
{
    keep();
    config_.stall_timeout_ms = 5;
    test::CapturedErrors errors;
    ASSERT_TRUE(work_visit_begins(&drive_->work));
    std::thread([&] { EXPECT_FALSE(work_visit_begins(&drive_->work)) << "one is told of"; }).join();
    rtrcu_store_release(&drive_->work.visit.next_cpu, 77);
    EXPECT_TRUE(test::eventually([&] { return errors.contains("run on CPU 77"); })) << errors.text();
    EXPECT_TRUE(errors.contains("thread " + std::to_string(lock_thread_number()))) << errors.text();
    EXPECT_TRUE(test::eventually([&] { return counter_read(&drive_->work.watch->stall_reports) > 1; })) << "and again";
    work_visit_ends(&drive_->work);
    uint32_t event = work_thread_event(&drive_->work.worker[WORK_WORKER_REPORT].thread);
    EXPECT_TRUE(work_visit_begins(&drive_->work));
    work_visit_ends(&drive_->work);
    EXPECT_NE(work_thread_event(&drive_->work.worker[WORK_WORKER_REPORT].thread), event);
}

#if defined(__x86_64__)

struct work_visit *ending;
volatile long under_way, ended_late;

void look_at_the_end(int, siginfo_t *, void *)
{
    bool is_visitor = rtrcu_load_relaxed(&ending->visitor) != 0;
    under_way = under_way + is_visitor;
    ended_late = ended_late + (!is_visitor && rtrcu_load_relaxed(&ending->began_ns) != 0);
}

/* The next visit may begin at the first instruction behind which nobody is the visitor, and its time stays. */
TEST_F(Fence, AVisitHasEndedBeforeTheNextMayBegin)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delivers signals later";
    test::SteppedBy traps(look_at_the_end);
    ending = &drive_->work.visit;
    under_way = 0;
    ended_late = 0;
    ending->visitor = 77;
    ending->began_ns = 88;
    test::SteppedBy::begin();
    work_visit_ends(&drive_->work);
    test::SteppedBy::end();
    EXPECT_EQ(ending->visitor, 0u);
    EXPECT_EQ(ending->began_ns, 0);
    EXPECT_GT(under_way, 0);
    EXPECT_EQ(ended_late, 0);
}

#endif

/* However often the thread that says it is woken, each age is said once; ages are counted anew for another visit. */
TEST_F(Fence, AVisitIsReportedOnceAtEachAge)
{
    constexpr int64_t timeout_ms = 3600000, now = INT64_C(1500) * timeout_ms * 1000;
    keep();
    config_.stall_timeout_ms = timeout_ms;
    test::CapturedErrors errors;
    struct work_worker *reporter = &drive_->work.worker[WORK_WORKER_REPORT];
    ASSERT_TRUE(work_visit_begins(&drive_->work));
    for (uint32_t visit = 1; visit <= 2; visit++) {
        rtrcu_store_release(&drive_->work.visit.next_cpu, 70 + visit);
        rtrcu_store_release(&drive_->work.visit.began_ns, plat_clock_now() - now - visit);
        for (int i = 0; i < 5; i++) {
            work_worker_wake(work_worker(&drive_->work, WORK_WORKER_REPORT));
            EXPECT_TRUE(test::eventually([&] {
                uint64_t said = counter_read(&drive_->work.watch->stall_reports);
                bool asleep = test::is_asleep(pid_t(plat_thread_tid(&reporter->thread.plat).number));
                return said > visit || (said == visit && asleep);
            }));
            ASSERT_EQ(counter_read(&drive_->work.watch->stall_reports), visit);
        }
        EXPECT_TRUE(errors.contains("run on CPU " + std::to_string(70 + visit))) << errors.text();
    }
    work_visit_ends(&drive_->work);
}

int fences_made;

long count_fence()
{
    fences_made++;
    return 0;
}

/* One that is not had leaves the notes to whoever tries next. */
TEST_F(Fence, AVisitThatIsRefusedNotesNoMore)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
    keep();
    bool refused = false, had = true;
    std::thread([&] {
        refused = test::refuse({{SYS_membarrier, EPERM}, {SYS_sched_setaffinity, EPERM}}, 0);
        world_.craft(1); /* who acknowledges nothing */
        reader_fences_switch(world_.registry());
        had = refused && turn_fence(&drive_->turn);
    }).join();
    if (!refused)
        GTEST_SKIP() << "no call can be refused here";
    EXPECT_FALSE(had);
    EXPECT_EQ(world_.registry()->fence_confirmer, 0u);
}

/* Interrupts of other CPUs are what the setting forbids, and so it stays where readers are to fence again. */
TEST_F(Fence, InterruptsNoCpuWhereTheSettingForbidsIt)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator's calls are not the program's";
    keep(); /* a visit to every CPU makes the thread that reports it */
    bool trapped = true;
    std::thread([&] {
        trapped = test::trap(SYS_membarrier, nullptr, count_fence);
        for (int membarrier : {RTRCU_MEMBARRIER_OFF, RTRCU_MEMBARRIER_AUTO, RTRCU_MEMBARRIER_ON}) {
            reader_fences_switch(world_.registry());
            ASSERT_FALSE(reader_fences_are_confirmed(world_.registry(), world_.registry()->fence_mode));
            config_.membarrier = membarrier;
            fences_made = 0;
            EXPECT_TRUE(!trapped || turn_fence(&drive_->turn));
            EXPECT_EQ(fences_made, trapped && membarrier != RTRCU_MEMBARRIER_OFF ? 1 : 0) << membarrier;
            reader_fences_restore(world_.registry());
        }
    }).join();
    if (!trapped)
        GTEST_SKIP() << "no call can be trapped here";
}

} // namespace
