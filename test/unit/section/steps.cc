/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A section of a reader without a record, looked at behind every instruction: while the thread and the registry do not
 * agree about whether it is counted, no handler may come, which would believe the thread.
 */
#include <csignal>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/tracer.h"
#include "../../support/variant.h"

namespace
{

reader_registry *const registry = &rtrcu_domain.registry;

[[noreturn]] void tracee(volatile int *inside)
{
    alarm(50);
    reader_self_set(READER_STATE_GONE); /* it can have no record */
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

} // namespace
