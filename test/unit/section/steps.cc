/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of signal handlers at every instruction of a section without a record, a sleep in the library, a park, the
 * end of a task's section, and an unregistration. */
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
    reader_self_set(READER_STATE_EXITED); /* so that the thread gets no record */
    if (!test::is_to_be_traced())
        _exit(3);
    raise(SIGSTOP); /* the tracer begins to step here */
    *inside = 1;
    rcu_read_lock();
    rcu_read_unlock();
    *inside = 0;
    _exit(0);
}

struct Seen {
    long steps = 0, counted = 0, differ = 0, open = 0;
};

/* The tracee is a copy of this process, so its variables have the same addresses. */
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

TEST(SlowSteps, HandlerNeverRunsWhileAReaderIsPartlyCounted)
{
    if (TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "the race detector keeps a signal mask of its own, and the emulator cannot single-step";
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
    EXPECT_EQ(seen.open, 0) << "signals were unblocked at so many of " << seen.steps << " instructions";
}

/* ---- a thread that returns from a call ---- */

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
        alarm(50); /* ends a tracee that hangs */
        bool away = reader_sleep_begin();
        raise(SIGSTOP); /* the tracer begins to step here */
        shared->inside = 1;
        reader_sleep_end(registry);
        shared->inside = 0;
        bool left = !away || rtrcu_load_relaxed(&rtrcu_self.record->fence_ack) == READER_FENCES_ANY;
        shared->left_behind = shared->left_behind + left;
        shared->rounds = shared->rounds + 1;
    }
    _exit(0);
}

/* Returns the number of instructions after which a handler ran, one in each round. */
long interrupt_everywhere(test::Tracer &tracer, const Return *shared)
{
    long places = 0;
    while (tracer.at_the_start() && tracer.step_into(places) == places && shared->inside && tracer.interrupt()) {
        tracer.go_on(SIGUSR1);
        places++;
    }
    return places;
}

/* No acknowledgment may remain after a sleep: a switch of the fences would apply it to the thread's later sections. */
TEST(AsleepSteps, HandlerLeavesNoAcknowledgmentOnAnAwakeThread)
{
    if (TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "the race detector keeps a signal mask of its own, and the emulator cannot single-step";
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

/* ---- a task parks while a scan that found its thread inside stores the thread's bit ---- */

struct gp *const gp = &rtrcu_domain.gp;
volatile long steps, publish_at, first; /* first: the first step at which the task is on the thread's list */
volatile bool published;

uint64_t *leaf_word()
{
    return &gp_leaf_node(gp, reader_leaf_of(rtrcu_self.record))->word[GP_NORMAL];
}

/* Trap handler: after instruction `publish_at`, sets the thread's bit in the leaf's word, as a scan does that found the
 * thread inside and its list empty. */
void publish_after_a_step(int, siginfo_t *, void *context)
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

/* The grace period waits for the task: either the thread's bit is set, or the leaf has the flag of parked tasks. */
TEST(TaskSteps, ScanThatPublishesLateWaitsForAParkingTask)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP()
            << "the race detector delays signals, and with the other sanitizer a call has too many instructions";
    test::SteppedBy traps(publish_after_a_step);
    rcu_task task;
    rcu_task_init(&task, "parker");
    rcu_read_lock(); /* registers */
    rcu_read_unlock();
    test::Worker reader, updater;
    /* used by the updater only */
    std::optional<test::GpStepper> stepper;
    reader.run([] { rcu_read_lock(); });
    updater.run([&] {
        stepper.emplace(gp);
        EXPECT_TRUE(stepper->begin_and_scan());
    });
    auto waits_for_the_task = [] {
        return (rtrcu_load_acquire(leaf_word()) & (reader_bit(rtrcu_self.record) | GP_NODE_PARKED)) != 0;
    };

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
        checked += published;
        EXPECT_TRUE(!published || waits_for_the_task()) << "instruction " << publish_at;
        rcu_task_resume(&task);
        rcu_read_unlock();
        all = at ? all : steps; /* the first round only finds the first and the last step */
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

/* ---- a handler whose section ends beside the section of a task ---- */

long step_of_the_handler, last_with_a_task;

void read_after_a_step(int, siginfo_t *, void *context)
{
    steps = steps + 1;
    last_with_a_task = rtrcu_self.task ? steps : last_with_a_task;
    if (steps != step_of_the_handler)
        return;
    rcu_read_lock();
    reader_arm_self();
    rcu_read_unlock(); /* the task's section may have ended already */
    test::SteppedBy::end_behind(context);
}

/* The task is removed once: a second removal would make it its own predecessor, and lose the task below it. */
TEST(TaskSteps, TaskWhoseSectionEndsIsRemovedOnce)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP()
            << "the race detector delays signals, and with the other sanitizer a call has too many instructions";
    test::SteppedBy traps(read_after_a_step);
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
        all = at ? all : last_with_a_task + 5; /* the first round only counts instructions */
    } while (++at <= all && !testing::Test::HasFailure());
    EXPECT_GT(all, 50);
}

/* A sleeping thread stays marked: a switch of the fences waits for threads that are not marked, and the sleeper may
 * wait for that switch. */
TEST(AsleepSteps, HandlerThatReadsKeepsItsThreadMarkedAsAsleep)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delays signals";
    test::SteppedBy traps(read_after_a_step);
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
        all = at ? all : steps; /* the first round only counts instructions */
    } while (++at <= all && !testing::Test::HasFailure());
    EXPECT_GT(all, 10);
}

/* ---- a thread that unregisters at its exit ---- */

long reads;

bool signals_are_open(void *context)
{
    return sigismember(&static_cast<ucontext_t *>(context)->uc_sigmask, SIGUSR1) == 0;
}

void read_after_each_step(int, siginfo_t *, void *context)
{
    if (!signals_are_open(context))
        return;
    rcu_read_lock();
    rcu_read_unlock();
    reads++;
}

/* A handler of an exiting thread takes no record: the exit hook may not run again, so the record would outlive the
 * thread. */
TEST(LeaveSteps, HandlerDoesNotRegisterAThreadThatHasExited)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the sanitizer delays signals";
    test::SteppedBy traps(read_after_each_step);
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
