/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of a worker that goes to sleep while work arrives after any of its instructions, and of a handler during the
 * creation of a daemon. */
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

/* The body's last instruction and stack pointer; and the stack pointer at the entry of a called function, 0 = none. */
uintptr_t last_at, last_stack, callee_stack;

/* Returns whether the next instruction belongs to the body itself.  Steps inside called functions would make the test
 * slow. */
bool is_in_the_body(const void *context)
{
    constexpr uintptr_t shortest_call = 2, longest_call = 7;
    const auto &registers = static_cast<const ucontext_t *>(context)->uc_mcontext.gregs;
    auto at = static_cast<uintptr_t>(registers[REG_RIP]), stack = static_cast<uintptr_t>(registers[REG_RSP]);
    if (callee_stack ? stack <= callee_stack : last_at == 0 && at != body_at)
        return false;
    callee_stack = 0;
    if (last_at != 0 && stack + sizeof(uintptr_t) == last_stack) {
        /* the return address of a call by the body */
        uintptr_t bytes = *reinterpret_cast<const uintptr_t *>(stack) - last_at;
        if (bytes >= shortest_call && bytes <= longest_call) {
            callee_stack = stack;
            return false;
        }
    }
    last_at = at;
    last_stack = stack;
    return true;
}

/* Trap handler: after a given number of the body's instructions, lets work arrive and wakes the worker. */
void arrive_after_a_step(int, siginfo_t *, void *context)
{
    if (!is_in_the_body(context) || !may_come())
        return;
    if (!test::SteppedBy::comes_to(steps_left, false, context))
        return;
    come();
    rtrcu_fetch_add(&worker->thread.event, 1);
    has_come = true;
}

/* In place of the worker's sleep: notes whether it would sleep despite the wake-up. */
long look_at_the_sleep()
{
    bool begins = test::third_argument == rtrcu_load_relaxed(&worker->thread.event);
    sleeps_on = has_come && begins && test::fourth_argument == 0;
    siglongjmp(lies_down, 1);
}

class WorkerSteps : public DriveWorld
{
  protected:
    /* Step the body from its beginning to its first sleep.  Returns false if system calls cannot be trapped here. */
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
    /* Let work arrive after the body's first instruction, after its second, and so on to its sleep. */
    void arrive_after_each(const work_job &job, const std::function<void()> &prepare)
    {
        test::SteppedBy traps(arrive_after_a_step);
        body_at = reinterpret_cast<uintptr_t>(job.body);
        has_come = true;
        long step = 0;
        for (; has_come; step++) {
            prepare();
            steps_left = step + 1;
            if (!run_stepped(job.body))
                GTEST_SKIP() << "system calls cannot be trapped here";
            ASSERT_FALSE(sleeps_on) << "after instruction " << step;
        }
        EXPECT_GT(step, 3);
    }
    void SetUp() override
    {
        DriveWorld::SetUp();
        if (TEST_TSAN || TEST_ASAN || TEST_EMULATED)
            GTEST_SKIP() << "a sanitizer adds too many instructions, and the emulator cannot single-step";
    }
};

work_visit *visit;

/* The reporter does not sleep once a visit has begun: a hanging visit would not be reported. */
TEST_F(WorkerSteps, ReporterDoesNotSleepIfAVisitBegins)
{
    worker = &drive_->work.worker[WORK_WORKER_REPORT];
    visit = &drive_->work.visit;
    may_come = [] { return true; };
    come = [] {
        rtrcu_store_relaxed(&visit->visitor, 77u);
        rtrcu_store_release(&visit->began_ns, INT64_MAX / 2);
    };
    arrive_after_each(work_job_report, [] { *visit = {}; });
}

struct turn_boosting *boosting;

/* The nudger does not sleep once a boost has begun: the booster would spin in the kernel until the reader's section
 * ends. */
TEST_F(WorkerSteps, NudgerDoesNotSleepIfABoostBegins)
{
    constexpr int above = 6;
    worker = &drive_->work.worker[WORK_WORKER_NUDGE];
    boosting = &drive_->turn.boosting;
    /* once the nudger has found that no thread boosts */
    may_come = [] { return rtrcu_load_relaxed(&boosting->priority) == 0 && !lock_is_mine(&worker->lock); };
    come = [] {
        boosting->booster = {77};
        boosting->cpu_at = &boosting->cpu;
        boosting->nap_ns = 1000000;
    };
    arrive_after_each(turn_job_nudge, [] {
        *boosting = {};
        boosting->priority = above - 1;
        worker->priority = above; /* the priority that it needs */
    });
}

/* ---- a daemon that is being created ---- */

struct serve_daemon *claimed;
std::atomic<uint32_t> came_to;

/* Raises a signal after the first instruction at which this thread has claimed the creation of the daemon. */
void raise_after_a_step(int, siginfo_t *, void *context)
{
    if (rtrcu_load_relaxed(&claimed->thread.state) != WORK_STARTING)
        return;
    test::SteppedBy::end_behind(context);
    raise(SIGUSR1);
}

using DaemonSteps = DriveWorld;

/* If a handler could fork during the creation, the child could get two daemons for one list.  So signals are blocked
 * until the daemon runs. */
TEST_F(DaemonSteps, NoHandlerRunsWhileADaemonIsCreated)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delays signals";
    keep();
    test::SteppedBy traps(raise_after_a_step);
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
