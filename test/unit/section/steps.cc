/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Instruction by instruction.  A section of a reader without a record: while the thread and the registry do not agree
 * about whether it is counted, no handler may come, which would believe the thread.  And a thread that comes back from
 * a call, with a handler's section anywhere; one that parks a task beside a scan; one whose task ends its section
 * beside a handler's; and one that comes or goes, where a handler may fork or read.
 */
#include <csignal>
#include <optional>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/stepped.h"
#include "../../support/sync.h"
#include "../../support/tracer.h"
#include "../../support/variant.h"

namespace
{

reader_registry *const registry = &rtrcu_domain.registry;

[[noreturn]] void tracee(volatile int *inside)
{
    alarm(50);
    reader_self_set(READER_STATE_EXITED); /* it can have no record */
    if (!test::is_to_be_traced())
        _exit(3);
    raise(SIGSTOP); /* the tracer begins to step */
    *inside = 1;
    rcu_read_lock();
    rcu_read_unlock();
    *inside = 0;
    _exit(0);
}

struct Seen {
    long steps = 0, counted = 0, differ = 0, open = 0;
};

/* The tracee is a copy of this process: its variables lie where ours do. */
Seen look_at_every_instruction(test::Tracer &tracer, const volatile int *inside)
{
    Seen seen;
    tracer.step_into(0);
    while (*inside && tracer.step()) {
        bool believes = tracer.value_of(&rtrcu_self.state) & READER_STATE_ANONYMOUS;
        bool counted = tracer.value_of(&registry->anonymous) != 0;
        seen.steps++;
        seen.counted += counted;
        seen.differ += believes != counted;
        seen.open += believes != counted && !tracer.blocks(SIGUSR1);
    }
    return seen;
}

TEST(SlowSteps, NoHandlerComesWhileAReaderWithoutARecordIsHalfCounted)
{
    if (TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "the race detector has a mask of its own, the emulator does not step";
    auto *inside = test::shared_with_children<volatile int>();
    ASSERT_TRUE(inside);
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0)
        tracee(inside);
    test::Tracer tracer(pid, inside);
    Seen seen;
    if (tracer.at_the_start())
        seen = look_at_every_instruction(tracer, inside);
    tracer.go_on(0);
    bool well = tracer.ends_well();
    if (WIFEXITED(tracer.status()) && WEXITSTATUS(tracer.status()) == 3)
        GTEST_SKIP() << "ptrace() is not allowed here";
    EXPECT_TRUE(well) << "status " << tracer.status();
    EXPECT_GT(seen.counted, 10);
    EXPECT_GT(seen.differ, 0);
    EXPECT_EQ(seen.open, 0) << "of " << seen.steps << " instructions";
}

/* ---- a thread that comes back ---- */

struct Return {
    volatile int inside, stop;
    volatile long rounds, left_behind;
};

void read_in_a_handler(int)
{
    rcu_read_lock();
    rcu_read_unlock();
}

[[noreturn]] void tracee_that_comes_back(Return *shared)
{
    struct sigaction action = {};
    action.sa_handler = read_in_a_handler;
    sigaction(SIGUSR1, &action, nullptr);
    read_in_a_handler(0); /* registers */
    if (!test::is_to_be_traced())
        _exit(3);
    while (!shared->stop) {
        alarm(50); /* it goes on, however slowly */
        bool away = reader_sleep_begin();
        raise(SIGSTOP); /* the tracer begins to step */
        shared->inside = 1;
        reader_sleep_end(registry);
        shared->inside = 0;
        bool left = !away || rtrcu_load_relaxed(&rtrcu_self.record->fence_ack) == READER_FENCES_ANY;
        shared->left_behind = shared->left_behind + left;
        shared->rounds = shared->rounds + 1;
    }
    _exit(0);
}

/* The number of instructions behind which a handler came, one in each round. */
long interrupt_everywhere(test::Tracer &tracer, const Return *shared)
{
    long places = 0;
    while (tracer.at_the_start() && tracer.step_into(places) == places && shared->inside && tracer.interrupt()) {
        tracer.go_on(SIGUSR1);
        places++;
    }
    return places;
}

/* What the thread has said of its fences while it was away would be believed of the sections that come. */
TEST(AwaySteps, AHandlerLeavesNoAcknowledgmentBehindAThreadThatIsBack)
{
    if (TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "the race detector has a mask of its own, the emulator does not step";
    auto *shared = test::shared_with_children<Return>();
    ASSERT_TRUE(shared);
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0)
        tracee_that_comes_back(shared);
    test::Tracer tracer(pid, &shared->inside);
    long places = interrupt_everywhere(tracer, shared);
    shared->stop = 1;
    tracer.go_on(0);
    bool well = tracer.ends_well();
    if (WIFEXITED(tracer.status()) && WEXITSTATUS(tracer.status()) == 3)
        GTEST_SKIP() << "ptrace() is not allowed here";
    EXPECT_TRUE(well) << "status " << tracer.status();
    EXPECT_GT(places, 10);
    EXPECT_GE(shared->rounds, places);
    EXPECT_EQ(shared->left_behind, 0) << "of " << places << " places";
}

#if defined(__x86_64__)

/* ---- a task that parks while the scan that has seen its thread inside publishes that ---- */

struct gp *const gp = &rtrcu_domain.gp;
volatile long steps, publish_at, first; /* from which the task is on the thread's list */
volatile bool published;

uint64_t *leaf_word()
{
    return &gp_leaf_node(gp, reader_leaf_of(rtrcu_self.record))->word[GP_NORMAL];
}

/* The scan's second half, behind one of the thread's instructions: what parks on the thread's own list by now was not
 * there when the scan promoted. */
void publish_behind_a_step(int, siginfo_t *, void *context)
{
    steps = steps + 1;
    if (parked_on_thread(rtrcu_self.record) == 0 || lock_any_held(UINT32_MAX))
        return;
    first = first ? first : steps;
    if (steps != publish_at)
        return;
    rtrcu_fetch_or(leaf_word(), uint64_t{reader_bit(rtrcu_self.record)});
    published = true;
    test::SteppedBy::end_behind(context);
}

/* Whoever parked is waited for: its thread's bit stays, or the task is on the leaf's list. */
TEST(TaskSteps, AScanThatPublishesLateWaitsForATaskThatParks)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the race detector delivers signals later, and the other takes too many steps";
    test::SteppedBy traps(publish_behind_a_step);
    rcu_task task;
    rcu_task_init(&task, "parker");
    rcu_read_lock(); /* registers */
    rcu_read_unlock();
    test::Worker reader, updater;
    std::optional<test::GpStepper>
        stepper; /* the updater's; its grace period lasts as long as the reader stays inside */
    reader.run([] { rcu_read_lock(); });
    updater.run([&] {
        stepper.emplace(gp);
        EXPECT_TRUE(stepper->begin_and_scan());
    });
    long checked = 0, at = 0, all = 0;
    first = 0;
    do {
        publish_at = at;
        rcu_read_lock();
        reader_arm_self();
        published = false;
        steps = 0;
        test::SteppedBy::begin();
        rcu_task_park(&task);
        test::SteppedBy::end();
        uint64_t word = rtrcu_load_acquire(leaf_word()), waited = reader_bit(rtrcu_self.record) | GP_NODE_PARKED;
        checked += published;
        EXPECT_TRUE(!published || (word & waited)) << "instruction " << publish_at;
        rcu_task_resume(&task);
        rcu_read_unlock();
        all = at ? all : steps; /* the first round only looks where the task comes to the list, and where all ends */
        at = at ? at + 1 : first;
    } while (at <= all && !testing::Test::HasFailure());
    rcu_task_exit(&task);
    reader.run([] { rcu_read_unlock(); });
    updater.run([&] {
        (void)stepper->poll(true);
        EXPECT_TRUE(stepper->is_clear());
        stepper->end();
        stepper.reset();
    });
    EXPECT_GT(checked, 20);
}

/* ---- a handler whose section ends beside one that a task brought along ---- */

long step_of_the_handler, last_with_a_task;

void read_behind_a_step(int, siginfo_t *, void *context)
{
    steps = steps + 1;
    last_with_a_task = rtrcu_self.task ? steps : last_with_a_task;
    if (steps != step_of_the_handler)
        return;
    rcu_read_lock();
    reader_arm_self();
    rcu_read_unlock(); /* the task's may have ended by now: whoever takes it out goes on */
    test::SteppedBy::end_behind(context);
}

/* Taken out twice, the task would lie beneath itself, and what it came above would be forgotten. */
TEST(TaskSteps, ATaskWhoseSectionEndsIsTakenOutOnce)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the race detector delivers signals later, and the other takes too many steps";
    test::SteppedBy traps(read_behind_a_step);
    rcu_task task;
    rcu_task_init(&task, "reader");
    rcu_read_lock(); /* registers */
    rcu_read_unlock();
    long at = 0, all = 0;
    do {
        step_of_the_handler = at;
        rcu_read_lock();
        rcu_task_park(&task);
        rcu_task_resume(&task);
        steps = 0;
        test::SteppedBy::begin();
        rcu_read_unlock();
        test::SteppedBy::end();
        EXPECT_EQ(section_nesting(), 0u);
        EXPECT_EQ(task.where, static_cast<uint32_t>(PARKED_NOWHERE)) << "instruction " << at;
        EXPECT_EQ(rtrcu_self.task, nullptr) << "instruction " << at;
        EXPECT_EQ(rtrcu_self.bare, &task) << "instruction " << at;
        EXPECT_EQ(task.below, nullptr) << "instruction " << at;
        rcu_task_park(&task);
        EXPECT_EQ(rtrcu_self.bare, nullptr) << "instruction " << at;
        all = at ? all : last_with_a_task + 5; /* the first round only counts, a little further than it is mounted */
    } while (++at <= all && !testing::Test::HasFailure());
    EXPECT_GT(all, 50);
}

/* A switch of the fences would wait for it, and it perhaps for the switch. */
TEST(AwaySteps, WhoGoesAwaySaysSoThoughAHandlerReads)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delivers signals later";
    test::SteppedBy traps(read_behind_a_step);
    rcu_read_lock(); /* registers */
    rcu_read_unlock();
    long at = 0, all = 0;
    do {
        step_of_the_handler = at;
        steps = 0;
        test::SteppedBy::begin();
        bool away = reader_sleep_begin();
        test::SteppedBy::end();
        EXPECT_TRUE(away);
        EXPECT_EQ(rtrcu_load_relaxed(&rtrcu_self.record->fence_ack), READER_FENCES_ANY) << "instruction " << at;
        reader_sleep_end(registry);
        all = at ? all : steps; /* the first round only counts */
    } while (++at <= all && !testing::Test::HasFailure());
    EXPECT_GT(all, 10);
}

/* ---- a thread that comes and goes ---- */

long reads;

bool signals_are_open(void *context)
{
    return sigismember(&static_cast<ucontext_t *>(context)->uc_sigmask, SIGUSR1) == 0;
}

void read_behind_each_step(int, siginfo_t *, void *context)
{
    if (!signals_are_open(context))
        return;
    rcu_read_lock();
    rcu_read_unlock();
    reads++;
}

/* Its hook may not run again: the record that a handler took would outlive the thread. */
TEST(LeaveSteps, NoHandlerRegistersAThreadThatHasLeftAtItsExit)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delivers signals later";
    test::SteppedBy traps(read_behind_each_step);
    test::Worker reader;
    reads = 0;
    reader.run([] {
        ASSERT_NE(section_record(gp), nullptr);
        test::SteppedBy::begin();
        (void)section_leave(gp, true);
        test::SteppedBy::end();
        EXPECT_EQ(reader_self(), nullptr);
    });
    EXPECT_GT(reads, 10);
}

#endif

} // namespace
