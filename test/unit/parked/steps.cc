/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Test of forks at every instruction of a change of lists of parked tasks: the child repairs the lists and loses no
 * parked task. */
#include <csignal>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/tracer.h"
#include "../../support/variant.h"

namespace
{

constexpr int tasks = 4;

/* Shared by tracer and tracee. */
struct Shared {
    volatile int inside; /* the lists are being changed */
    volatile int forks, torn, listed;
};
Shared *shared;

/* Variables of the tracee.  Tasks 0 and 1 are always parked. */
test::World *world;
reader_record *record;
rcu_task task[tasks];
volatile bool parked[tasks] = {true, true};

/* ---- the child of the fork ---- */

bool is_whole(const struct parked_leaf *part)
{
    bool seen[tasks] = {}, whole = parked_slot(record)->tasks.next == &parked_slot(record)->tasks;
    uint32_t count = 0;
    const rtrcu_link *before = &part->tasks;
    for (rtrcu_link *link = part->tasks.next; link != &part->tasks; before = link, link = link->next) {
        rcu_task *at = container_of(link, rcu_task, link);
        whole &= link->prev == before && at->where == PARKED_ON_LEAF && at->leaf == part->leaf && ++count <= tasks;
        if (!whole)
            return false;
        seen[at - task] = true;
    }
    for (int i = 0; i < tasks; i++)
        whole &= seen[i] || (!parked[i] && task[i].where == PARKED_NOWHERE);
    return whole && part->tasks.prev == before && part->count == count;
}

/* Runs in the fork's child: repairs the lists.  The exit code is 1 if the leaf's lists are broken, plus 2 if the
 * thread's list held tasks at the fork. */
[[noreturn]] void go_on_in_the_child()
{
    (void)lock_after_fork_child();
    bool listed = parked_slot(record)->tasks.next != &parked_slot(record)->tasks;
    reader_after_fork_child(world->registry(), nullptr);
    parked_after_fork_child(world->registry());
    _exit((is_whole(parked_leaf(record->leaf)) ? 0 : 1) + (listed ? 2 : 0));
}

/* A tracee that does not reach the next point within this time hangs. */
constexpr unsigned int stuck_s = 50;

/* Signal handler: forks, and counts what the child reports about the lists. */
void fork_here(int)
{
    int status = 0;
    alarm(stuck_s);                               /* ends a child that hangs */
    long pid = syscall(SYS_clone, 0, 0, 0, 0, 0); /* no signal when it exits */
    if (pid == 0)
        go_on_in_the_child();
    if (pid < 0 || waitpid(static_cast<pid_t>(pid), &status, __WALL) != pid)
        return;
    bool well = WIFEXITED(status);
    shared->forks = shared->forks + 1;
    shared->torn = shared->torn + (!well || (WEXITSTATUS(status) & 1));
    shared->listed = shared->listed + (well && (WEXITSTATUS(status) & 2));
    raise(SIGSTOP); /* the tracer continues stepping */
}

/* ---- the tracee ---- */

void promote()
{
    uint32_t moved;
    reader_lock(record->leaf);
    parked_lock_list(record);
    (void)parked_promote(record, {0}, &moved);
    parked_unlock_list(record);
    parked_promoted(record, moved);
    reader_unlock(record->leaf);
}

void remove_from_leaf(int i)
{
    parked[i] = false;
    reader_lock(record->leaf);
    (void)parked_remove_from_leaf(record->leaf, &task[i]);
    reader_unlock(record->leaf);
}

void park_promote_and_end()
{
    for (int i : {2, 3}) {
        parked_add_to_thread(record, &task[i]);
        parked[i] = true;
    }
    parked[3] = false;
    (void)parked_remove_from_thread(&task[3]);
    promote();
    remove_from_leaf(2);
}

[[noreturn]] void tracee()
{
    struct sigaction action = {};
    action.sa_handler = fork_here;
    sigaction(SIGUSR1, &action, nullptr);
    alarm(stuck_s);
    world = new test::World;
    record = world->craft(0);
    for (int i : {0, 1})
        parked_add_to_thread(record, &task[i]);
    promote();
    if (!test::is_to_be_traced())
        _exit(3);
    raise(SIGSTOP); /* the tracer begins to step here */
    shared->inside = 1;
    park_promote_and_end();
    shared->inside = 0;
    _exit(0);
}

/* Fork at the current instruction, then step over one instruction. */
bool fork_and_step(test::Tracer &tracer)
{
    if (!tracer.interrupt())
        return false;
    tracer.go_on(SIGUSR1);
    if (!tracer.at_the_start())
        return false;
    do {
        if (!tracer.step())
            return false;
    } while (tracer.blocks(SIGUSR1)); /* until the handler has returned */
    return tracer.step();
}

/* Instructions between two forks.  With the sanitizer a fork copies the page tables of its shadow memory and takes 10
 * ms, so the test does not fork at every instruction. */
constexpr long skipped_between = TEST_ASAN ? 7 : 0;

/* Returns the number of instructions at which there was a fork. */
long fork_everywhere(test::Tracer &tracer)
{
    long places = 0;
    if (tracer.at_the_start() && tracer.step_into(0) == 0) {
        while (shared->inside && fork_and_step(tracer)) {
            places++;
            for (long left = skipped_between; left > 0 && shared->inside && tracer.step(); left--)
                ;
        }
    }
    return places;
}

TEST(ParkedSteps, ForkAtAnyInstructionLosesNoTask)
{
    if (TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "the race detector keeps a signal mask of its own, and the emulator cannot single-step";
    shared = test::shared_with_children<Shared>();
    ASSERT_TRUE(shared);
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0)
        tracee();
    test::Tracer tracer(pid, &shared->inside);
    long places = fork_everywhere(tracer);
    tracer.go_on(0);
    bool well = tracer.ends_well();
    if (WIFEXITED(tracer.status()) && WEXITSTATUS(tracer.status()) == 3)
        GTEST_SKIP() << "ptrace() is not allowed here";
    EXPECT_TRUE(well) << "status " << tracer.status();
    EXPECT_GT(places, 100);
    EXPECT_EQ(shared->forks, places);
    EXPECT_GT(shared->listed, 10);
    EXPECT_EQ(shared->torn, 0);
}

} // namespace
