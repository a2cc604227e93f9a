/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of turn_fence(): membarrier, visits to every CPU, acknowledgments of readers, and reports. */
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

TEST_F(Fence, HeavyFenceSucceedsInBothModes)
{
    SKIP_WITHOUT_MEMBARRIER();
    EXPECT_TRUE(turn_fence(&drive_->turn));
    reader_fences_switch(world_.registry());
    EXPECT_TRUE(turn_fence(&drive_->turn)) << "a visit to every CPU, or acknowledgments, replace membarrier";
    EXPECT_EQ(world_.registry()->fence_confirmer, 0u);
    EXPECT_TRUE(reader_fences_are_confirmed(world_.registry(), world_.registry()->fence_mode));
    EXPECT_TRUE(turn_fence(&drive_->turn));
    EXPECT_EQ(drive_->turn.fence_refused.count, 0u);
}

/* While another thread confirms readers, turn_fence() leaves that thread registered as the confirmer. */
TEST_F(Fence, ConfirmerDoesNotReleaseTheClaimOfAnotherThread)
{
    reader_fences_switch(world_.registry());
    world_.registry()->fence_confirmer = 77;
    (void)turn_fence(&drive_->turn);
    EXPECT_EQ(world_.registry()->fence_confirmer, 77u);
}

/* Another thread reports a long visit, since the visiting thread waits for time on a CPU. */
TEST_F(Fence, LongVisitIsReportedByAnotherThread)
{
    keep();
    config_.stall_timeout_ms = 5;
    test::CapturedErrors errors;
    ASSERT_TRUE(work_visit_begins(&drive_->work));
    std::thread([&] { EXPECT_FALSE(work_visit_begins(&drive_->work)) << "only one visit is recorded"; }).join();
    rtrcu_store_release(&drive_->work.visit.next_cpu, 77);
    EXPECT_TRUE(test::eventually([&] { return errors.contains("run on CPU 77"); })) << errors.text();
    EXPECT_TRUE(errors.contains("thread " + std::to_string(lock_thread_number()))) << errors.text();
    EXPECT_TRUE(test::eventually([&] { return counter_read(&drive_->work.watch->stall_reports) > 1; }))
        << "the visit is reported again";
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

/* At each instruction at which `visitor` is 0, the visit must be over, since the next one may begin. */
TEST_F(Fence, VisitEndsBeforeTheNextMayBegin)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delays signals";
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

/* Each age is reported once, however often the reporter is woken.  The next visit begins with the first age. */
TEST_F(Fence, LongVisitIsReportedOnceAtEachAge)
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

/* After a failed visit another thread may confirm readers. */
TEST_F(Fence, RefusedVisitReleasesTheConfirmer)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    keep();
    bool refused = false, had = true;
    std::thread([&] {
        refused = test::refuse({{SYS_membarrier, EPERM}, {SYS_sched_setaffinity, EPERM}}, 0);
        world_.craft(1); /* a reader that acknowledges nothing */
        reader_fences_switch(world_.registry());
        had = refused && turn_fence(&drive_->turn);
    }).join();
    if (!refused)
        GTEST_SKIP() << "system calls cannot be refused here";
    EXPECT_FALSE(had);
    EXPECT_EQ(world_.registry()->fence_confirmer, 0u);
}

/* With membarrier=off no membarrier() is called, since it interrupts other CPUs. */
TEST_F(Fence, MembarrierIsNotCalledIfItIsOff)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    keep(); /* a visit to every CPU creates the thread that reports it */
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
        GTEST_SKIP() << "system calls cannot be trapped here";
}

} // namespace
