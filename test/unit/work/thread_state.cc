/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the state and the sleep of a library thread: every transition, compared with the tables of work/thread.h. */
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/sync.h"
#include "../../support/transitions.h"
#include "../../support/variant.h"

namespace
{

std::string state_of(const work_thread &thread)
{
    switch (rtrcu_load_acquire(&thread.state)) {
    case WORK_NONE:
        return "NONE";
    case WORK_STARTING:
        return "STARTING";
    case WORK_STARTING | WORK_NEEDED:
        return "NEEDED";
    case WORK_RUNNING:
        return "RUNNING";
    default:
        return "?";
    }
}

void *nothing(void *)
{
    return nullptr;
}

/* Threads in each state; the process's own data of work/ counts them and remembers refusals. */
class ThreadState : public testing::Test
{
  protected:
    struct domain_drive *drive_ = &rtrcu_domain.drive;
    test::Transitions table_{"src/work/thread.h", "before"};

    int claim(work_thread *thread)
    {
        sigset_t saved;
        int claimed = work_thread_claim(&drive_->work, thread, &saved);
        if (claimed > 0)
            plat_signals_restore(&saved);
        return claimed;
    }
    int make(work_thread *thread, const work_thread_spec &start)
    {
        sigset_t saved;
        plat_signals_block(&saved);
        return work_thread_make(&drive_->work, thread, &start, &saved);
    }
    work_thread in(const std::string &state)
    {
        work_thread thread = {};
        rtrcu_store_relaxed(&drive_->work.refused_ns, int64_t{0});
        if (state != "NONE") {
            EXPECT_EQ(claim(&thread), 1);
        }
        if (state == "NEEDED") {
            EXPECT_EQ(claim(&thread), 0);
        }
        if (state == "RUNNING") {
            EXPECT_EQ(make(&thread, no_body), 0);
        }
        EXPECT_EQ(state_of(thread), state);
        return thread;
    }
    /* Create a thread while the system refuses memory. */
    int make_refused(work_thread *thread)
    {
        rlimit before, none;
        getrlimit(RLIMIT_AS, &before);
        none = before;
        none.rlim_cur = 1;
        setrlimit(RLIMIT_AS, &none);
        plat_thread_attr attr;
        plat_thread_attr_init(&attr);
        attr.stack_bytes = size_t{1} << 28; /* so large that the C library has no cached stack of that size */
        work_thread_spec start = {};
        start.name = "refused";
        start.body = nothing;
        start.attr = &attr;
        uint64_t threads = rtrcu_load_acquire(&drive_->work.threads);
        int error = make(thread, start);
        setrlimit(RLIMIT_AS, &before);
        EXPECT_EQ(rtrcu_load_acquire(&drive_->work.threads), threads) << "a refused thread must not be counted";
        return error;
    }
    static constexpr work_thread_spec no_body = {"none", nullptr, nullptr, 0, nullptr};
};

TEST_F(ThreadState, TransitionsFollowTheTable)
{
    if (TEST_ASAN || TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "memory cannot be limited";
    for (const char *before : {"NONE", "STARTING", "NEEDED", "RUNNING"}) {
        work_thread claimed = in(before), held = in(before);
        EXPECT_EQ(claim(&claimed), before == std::string("NONE"));
        table_.saw(before, "work_thread_claim()", state_of(claimed));
        EXPECT_EQ(work_thread_hold(&held), before == std::string("NONE"));
        table_.saw(before, "work_thread_hold()", state_of(held));
    }
    for (const char *before : {"STARTING", "NEEDED"}) {
        work_thread made = in(before), refused = in(before), let = in(before);
        EXPECT_EQ(make(&made, no_body), 0);
        table_.saw(before, "work_thread_make()", state_of(made));
        EXPECT_LT(make_refused(&refused), 0);
        table_.saw(before, "work_thread_make()", state_of(refused));
        EXPECT_EQ(work_thread_release(&let), before == std::string("NEEDED"));
        table_.saw(before, "work_thread_release()", state_of(let));
    }
    for (const char *before : {"STARTING", "RUNNING"}) {
        work_thread ended = in(before);
        rtrcu_fetch_add(&drive_->work.threads, WORK_THREADS_CHANGE + 1); /* as if it had been created */
        work_thread_ended(&drive_->work, &ended);
        table_.saw(before, "work_thread_ended()", state_of(ended));
    }
    table_.all_seen();
}

TEST_F(ThreadState, RefusedThreadIsNotCreatedAgainImmediately)
{
    if (TEST_ASAN || TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "memory cannot be limited";
    work_thread thread = in("STARTING");
    EXPECT_LT(make_refused(&thread), 0);
    EXPECT_NE(drive_->work.refused_ns, 0);
    drive_->work.refused_ns = INT64_MAX / 2; /* a refusal that counts as recent throughout the test */
    EXPECT_EQ(claim(&thread), -EAGAIN);
    rtrcu_store_relaxed(&drive_->work.refused_ns, int64_t{0});
    EXPECT_EQ(claim(&thread), 1);
}

/* The kernel may reuse the number, and in a fork's child the next thread must not be taken for the ended one. */
TEST_F(ThreadState, EndedThreadHasNoId)
{
    work_thread thread = in("RUNNING");
    plat_thread_renumber(&thread.plat, {12345});
    rtrcu_fetch_add(&drive_->work.threads, WORK_THREADS_CHANGE + 1);
    work_thread_ended(&drive_->work, &thread);
    EXPECT_FALSE(work_thread_after_fork(&drive_->work, &thread, plat_tid{12345}));
    EXPECT_EQ(state_of(thread), "NONE");
}

/* As in the child of a handler that forks while its thread holds the library thread, which the child then creates. */
TEST_F(ThreadState, ReleaseOfAThreadThatIsNotHeldFails)
{
    for (const char *before : {"NONE", "RUNNING"}) {
        work_thread thread = in(before);
        EXPECT_FALSE(work_thread_release(&thread));
        EXPECT_EQ(state_of(thread), before);
    }
}

TEST_F(ThreadState, MisuseEndsDebugBuildsWithTheInvariantsId)
{
    if (!CHECK_DEBUG)
        GTEST_SKIP() << "only debug builds check";
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    work_thread thread = in("NONE");
    EXPECT_DEATH(work_thread_set_ticking(&thread), "INV-DR3");
    work_thread_prepare_sleep(&thread, WORK_ASLEEP);
    EXPECT_DEATH(work_thread_prepare_sleep(&thread, WORK_ASLEEP), "INV-DR3");
}

TEST(ThreadSleep, TransitionsFollowTheTable)
{
    static const char *const names[] = {"AWAKE", "PACING", "TICKING", "ASLEEP"};
    test::Transitions table("src/work/thread.h", "sleeping   transition");
    work_thread thread = {};
    for (enum work_sleep how : {WORK_PACING, WORK_ASLEEP}) {
        work_thread_prepare_sleep(&thread, how);
        table.saw("AWAKE", "work_thread_prepare_sleep()", names[work_thread_sleeps(&thread)]);
        work_thread_finish_sleep(&thread);
        table.saw(names[how], "work_thread_finish_sleep()", names[work_thread_sleeps(&thread)]);
    }
    work_thread_prepare_sleep(&thread, WORK_ASLEEP);
    work_thread_set_ticking(&thread);
    table.saw("ASLEEP", "work_thread_set_ticking()", names[work_thread_sleeps(&thread)]);
    work_thread_finish_sleep(&thread);
    table.saw("TICKING", "work_thread_finish_sleep()", names[work_thread_sleeps(&thread)]);
    table.all_seen();
}

/* A wake-up after the event was read ends the sleep, even if it precedes the sleep. */
TEST(ThreadSleep, EarlierWakeUpEndsTheSleep)
{
    work_thread thread = {};
    uint32_t event = work_thread_event(&thread);
    work_thread_wake(&thread);
    work_thread_sleep(&rtrcu_domain.drive.work, &thread, event, PLAT_FOREVER);
    EXPECT_NE(work_thread_event(&thread), event);
}

} // namespace
