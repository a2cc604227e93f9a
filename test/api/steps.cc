/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of a signal handler at every instruction of several scenarios.
 * A tracer steps the process through its scenario by ptrace(), sends the signal, and lets it continue; in the next
 * round it makes one step more. The handler reads and queues. At the end each callback has run once, and the reader's
 * word is as before. */
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <rtrcu/detail/word.h>
#pragma GCC diagnostic pop

#include "../support/seed.h"
#include "../support/tracer.h"
#include "child.h"

namespace
{

/* Shared by tracer and tracee. */
struct Shared {
    volatile int inside;  /* the scenario is running */
    volatile int stop;    /* run no further round */
    volatile long rounds; /* rounds done */
};
Shared *shared;

constexpr int pool_size = 4096;
rcu_head pool[pool_size];
std::atomic<long> queued{0}, runs{0};
bool handler_queues;

void run(rcu_head *)
{
    runs++;
}

void queue_one()
{
    call_rcu(&pool[queued++ % pool_size], run);
}

void handler(int)
{
    bool held = rcu_read_lock_held();
    rcu_read_lock();
    rcu_read_lock();
    REQUIRE(rcu_read_lock_held());
    if (handler_queues)
        queue_one();
    rcu_read_unlock();
    rcu_read_unlock();
    REQUIRE(rcu_read_lock_held() == held);
}

/* ---- scenarios: the code that is interrupted, and what is restored between two rounds ---- */

struct Scenario {
    const char *name;
    unsigned flags; /* flags with which the thread registers before the first round; ~0: the thread does not register */
    void (*body)();
    void (*after)();
};

constexpr unsigned unregistered = ~0u;

void lock_and_unlock()
{
    rcu_read_lock();
    REQUIRE(rcu_read_lock_held());
    rcu_read_unlock();
}

void nested_while_asked()
{
    rcu_read_lock();
    rtrcu_word_arm(&rtrcu_self);
    rcu_read_lock();
    rcu_read_unlock();
    rcu_read_unlock();
}

void unregister()
{
    rcu_unregister_thread();
    REQUIRE(test::stats().threads_registered == 0);
}

void drain()
{
    if (queued - runs > pool_size / 2)
        rcu_barrier();
}

void quiescent_states()
{
    rtrcu_word_arm(&rtrcu_self);
    rcu_quiescent_state();
    rcu_read_lock();
    rcu_read_unlock();
    rcu_thread_offline();
    rcu_thread_online();
}

const Scenario scenarios[] = {
    {"first_section", unregistered, lock_and_unlock, unregister},
    {"asked_section", 0, nested_while_asked, drain},
    {"enqueue", 0, queue_one, drain},
    {"enqueue_deadline", RTRCU_DEADLINE, queue_one, drain},
    {"quiescent_states", RTRCU_QSBR, quiescent_states, drain},
};

/* ---- the traced process ---- */

void tracee(const Scenario &scenario)
{
    alarm(50);
    struct sigaction action = {};
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, nullptr);
    handler_queues = scenario.flags != unregistered;
    if (handler_queues)
        REQUIRE(rtrcu_register_thread(scenario.flags) == 0);
    REQUIRE(test::is_to_be_traced());
    while (!shared->stop) {
        raise(SIGSTOP); /* the tracer begins to step here */
        shared->inside = 1;
        scenario.body();
        shared->inside = 0;
        REQUIRE((rtrcu_word_read() & RTRCU_NESTING_MASK) == 0);
        scenario.after();
        shared->rounds = shared->rounds + 1;
    }
    if (scenario.flags != unregistered && (scenario.flags & RTRCU_QSBR))
        rcu_thread_offline();
    synchronize_rcu();
    rcu_barrier();
    REQUIRE(runs == queued);
    _exit(0);
}

/* ---- the tracer ---- */

/* The distance between interruptions, chosen so that each scenario costs about this many steps in all. */
constexpr long all_steps = 40000;

void trace(const Scenario &scenario)
{
    auto random = test::seeded_random(scenario.name);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        tracee(scenario);
    test::Tracer tracer(pid, &shared->inside);
    if (!tracer.at_the_start()) {
        printf("not traced\n");
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        _exit(3);
    }
    long length = 0;
    for (int round = 0; round < 2; round++) { /* the first round is longer, since symbols are resolved */
        length = tracer.step_into(1000000);
        REQUIRE(length > 0);
        if (round > 0)
            break;
        tracer.go_on(0);
        REQUIRE(tracer.at_the_start());
    }
    long stride = std::min(1 + length * length / 2 / all_steps, 1 + length / 40), interrupted = 0;
    tracer.go_on(0);
    for (long at = static_cast<long>(random() % static_cast<unsigned long>(stride));; at += stride) {
        REQUIRE(tracer.at_the_start());
        if (tracer.step_into(at) < at)
            break;
        REQUIRE(tracer.interrupt());
        tracer.go_on(SIGUSR1);
        interrupted++;
    }
    shared->stop = 1;
    tracer.go_on(0);
    bool well = tracer.ends_well();
    printf("%s: %ld instructions, interrupted at %ld of them\n", scenario.name, length, interrupted);
    fflush(stdout);
    if (!well)
        printf("status %d\n", tracer.status());
    REQUIRE(well);
    REQUIRE(interrupted >= 10);
}

void trace_by_name(const char *name)
{
    shared = test::shared_with_children<Shared>();
    REQUIRE(shared);
    for (const Scenario &scenario : scenarios) {
        if (scenario.name == std::string(name))
            trace(scenario);
    }
    _exit(0);
}

CHILD(trace_first_section)
{
    trace_by_name("first_section");
}

CHILD(trace_asked_section)
{
    trace_by_name("asked_section");
}

CHILD(trace_enqueue)
{
    trace_by_name("enqueue");
}

CHILD(trace_enqueue_deadline)
{
    trace_by_name("enqueue_deadline");
}

CHILD(trace_quiescent_states)
{
    trace_by_name("quiescent_states");
}

class Steps : public testing::TestWithParam<const char *>
{
  protected:
    void expect_holds(const std::vector<std::string> &environment)
    {
        if (TEST_TSAN || TEST_EMULATED)
            GTEST_SKIP() << "the race detector delays signals, the emulator does not step";
        test::ChildResult result = test::run_child(std::string("trace_") + GetParam(), environment);
        if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == 3)
            GTEST_SKIP() << "ptrace() is not allowed here";
        EXPECT_TRUE(exited_well(result));
        EXPECT_NE(result.output.find("interrupted at"), std::string::npos) << result.output;
        fputs(result.output.c_str(), stdout);
    }
};

TEST_P(Steps, HandlerMayReadAtEveryInstruction)
{
    expect_holds({});
}

TEST_P(Steps, HandlerMayReadAtEveryInstructionWithFullFences)
{
    expect_holds({"RTRCU_MEMBARRIER=off"});
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Steps,
                         testing::Values("first_section", "asked_section", "enqueue", "enqueue_deadline",
                                         "quiescent_states"),
                         [](const auto &name) { return std::string(name.param); });

} // namespace
