/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A worker that looks whether it has anything to do, and sleeps: something comes behind each instruction of its own,
 * outside of the functions that it calls.  And a daemon that is being made: no handler comes meanwhile.
 */
#include <csetjmp>
#include <csignal>
#include <thread>

#include "../../support/stepped.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"
#include "../../support/driving.h"

#if defined(__x86_64__)

namespace
{

struct work_worker *worker;
volatile long steps_left;
volatile bool has_come, sleeps_on;
uintptr_t body_at;
bool (*may_come)();
void (*come)();
sigjmp_buf lies_down;

/* The body's last instruction by now, and the stack there; where the stack was at the beginning of the function that it
 * has called, 0 = it is in none. */
uintptr_t last_at, last_stack, callee_stack;

/* Not in what it calls: all of its steps, each with the steps before it, would take seconds. */
bool is_in_the_body(const void *context)
{
    constexpr uintptr_t shortest_call = 2, longest_call = 7;
    const auto &registers = static_cast<const ucontext_t *>(context)->uc_mcontext.gregs;
    auto at = static_cast<uintptr_t>(registers[REG_RIP]), stack = static_cast<uintptr_t>(registers[REG_RSP]);
    if (callee_stack ? stack <= callee_stack : last_at == 0 && at != body_at)
        return false;
    callee_stack = 0;
    if (last_at != 0 && stack + sizeof(uintptr_t) == last_stack) {
        uintptr_t bytes = *reinterpret_cast<const uintptr_t *>(stack) - last_at; /* pushed by a call: its own */
        if (bytes >= shortest_call && bytes <= longest_call) {
            callee_stack = stack;
            return false;
        }
    }
    last_at = at;
    last_stack = stack;
    return true;
}

/* It comes, and wakes the worker. */
void come_behind_a_step(int, siginfo_t *, void *context)
{
    if (!is_in_the_body(context) || !may_come())
        return;
    if (!test::SteppedBy::comes_to(steps_left, false, context))
        return;
    come();
    rtrcu_fetch_add(&worker->thread.event, 1);
    has_come = true;
}

/* The worker's sleep: does it begin for good, behind the wake-up? */
long look_at_the_sleep()
{
    bool begins = test::third_argument == rtrcu_load_relaxed(&worker->thread.event);
    sleeps_on = has_come && begins && test::fourth_argument == 0;
    siglongjmp(lies_down, 1);
}

class WorkerSteps : public DriveWorld
{
  protected:
    /* From its beginning to its first sleep.  False: no call can be trapped here. */
    static bool run_stepped(void *(*body)(void *))
    {
        bool trapped = false;
        has_come = false;
        sleeps_on = false;
        last_at = callee_stack = 0;
        std::thread([&trapped, body] {
            trapped = test::trap(SYS_futex, &worker->thread.event, look_at_the_sleep);
            if (!trapped || sigsetjmp(lies_down, 1) != 0)
                return;
            test::SteppedBy::begin();
            (void)body(worker);
        }).join();
        return trapped;
    }
    /* Behind its first instruction, behind its second, and so on to its sleep. */
    void come_behind_each(const work_job &job, const std::function<void()> &prepare)
    {
        test::SteppedBy traps(come_behind_a_step);
        body_at = reinterpret_cast<uintptr_t>(job.body);
        has_come = true;
        long step = 0;
        for (; has_come; step++) {
            prepare();
            steps_left = step + 1;
            if (!run_stepped(job.body))
                GTEST_SKIP() << "no call can be trapped here";
            ASSERT_FALSE(sleeps_on) << "behind instruction " << step;
        }
        EXPECT_GT(step, 3);
    }
    void SetUp() override
    {
        DriveWorld::SetUp();
        if (TEST_TSAN || TEST_ASAN || TEST_EMULATED)
            GTEST_SKIP() << "the sanitizer takes too many steps, the emulator none";
    }
};

work_visit *visit;

/* A thread that begins to visit all CPUs would hang there unreported. */
TEST_F(WorkerSteps, AVisitThatBeginsIsSeenBeforeTheReporterSleeps)
{
    worker = &drive_->work.worker[WORK_WORKER_REPORT];
    visit = &drive_->work.visit;
    may_come = [] { return true; };
    come = [] {
        rtrcu_store_relaxed(&visit->visitor, 77u);
        rtrcu_store_release(&visit->began_ns, INT64_MAX / 2);
    };
    come_behind_each(work_job_report, [] { *visit = {}; });
}

struct turn_boosting *boosting;

/* Whoever boosts would spin in the kernel to the end of the reader's section. */
TEST_F(WorkerSteps, ABoostThatBeginsIsSeenBeforeTheNudgerSleeps)
{
    constexpr int above = 6;
    worker = &drive_->work.worker[WORK_WORKER_NUDGE];
    boosting = &drive_->turn.boosting;
    /* Behind its look, which says that nobody has boosted since. */
    may_come = [] { return rtrcu_load_relaxed(&boosting->priority) == 0 && !lock_is_mine(&worker->lock); };
    come = [] {
        boosting->booster = {77};
        boosting->cpu_at = &boosting->cpu;
        boosting->nap_ns = 1000000;
    };
    come_behind_each(turn_job_nudge, [] {
        *boosting = {};
        boosting->priority = above - 1;
        worker->priority = above; /* it has nothing to change */
    });
}

/* ---- a daemon that is being made ---- */

struct serve_daemon *claimed;
std::atomic<uint32_t> came_to;

/* Behind the first instruction from which the thread that is being made is this one's to make: a signal comes. */
void raise_behind_a_step(int, siginfo_t *, void *context)
{
    if (rtrcu_load_relaxed(&claimed->thread.state) != WORK_STARTING)
        return;
    test::SteppedBy::end_behind(context);
    raise(SIGUSR1);
}

using KrcudSteps = DriveWorld;

/* The child of a handler that forks then is free to make one, and the thread makes another for the same list.  The
 * signal waits for the first instruction behind which a handler may come. */
TEST_F(KrcudSteps, NoHandlerComesWhileOneIsMade)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delivers signals later";
    keep();
    test::SteppedBy traps(raise_behind_a_step);
    reader_record *record = world_.craft(0);
    claimed = &drive_->serve.daemon[0];
    came_to = WORK_NONE;
    auto saved = signal(SIGUSR1, [](int) { came_to = rtrcu_load_relaxed(&claimed->thread.state); });
    test::SteppedBy::begin();
    bool given = serve_daemon_enqueue(&drive_->serve, record, 0, false);
    test::SteppedBy::end();
    signal(SIGUSR1, saved);
    EXPECT_TRUE(given);
    EXPECT_EQ(came_to, static_cast<uint32_t>(WORK_RUNNING));
}

} // namespace

#endif
