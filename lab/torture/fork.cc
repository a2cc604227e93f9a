// SPDX-License-Identifier: MIT OR Apache-2.0
// Forks: a child with one thread and the inherited callbacks checks itself and ends; the parent continues.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "measure/clock.h"
#include "torture/actors.h"
#include "torture/section.h"

namespace lab::torture
{
namespace
{

// The child loses a callback that a thread has counted but not yet queued at the fork.  Number of threads, in addition
// to threads_peak, that may be between these two steps.
constexpr uint64_t uncounted_threads = 8;

struct rtrcu_stats read_stats()
{
    struct rtrcu_stats stats {
    };
    stats.size = sizeof(stats);
    rtrcu_stats(&stats);
    return stats;
}

struct ChildCallback {
    TracedHead traced;
    uint32_t ran;
};

using ChildCallbacks = std::array<ChildCallback, 4>;

void check_own_callbacks(Context &context, ChildCallbacks &own)
{
    for (ChildCallback &callback : own) {
        queue_traced(context, callback.traced, Way::call, [](TracedHead *traced) {
            reinterpret_cast<ChildCallback *>(traced)->ran++;
            return After::idle;
        });
    }
    context.flavour.barrier(); // callbacks of the parent that queue themselves again still do so
    for (const ChildCallback &callback : own) {
        if (callback.ran != 1)
            context.findings.report(Check::barrier,
                                    "in a forked child: a callback that the child queued ran {} times, not once",
                                    callback.ran);
    }
}

// Checks that callbacks queued in the parent run in the child too.  `stopping` keeps them from queueing new callbacks.
void check_inherited_callbacks(Context &context, uint64_t threads_before)
{
    context.stopping.store(true);
    for (std::size_t i = 0; i < pipe_length + 2; i++)
        context.flavour.barrier();
    const uint64_t outstanding = context.callbacks_queued.load() - context.callbacks_invoked.load();
    const uint64_t lost = read_stats().callbacks_lost_at_fork;
    if (outstanding > threads_before + uncounted_threads + lost)
        context.findings.report(Check::lost,
                                "in a forked child: {} callbacks have not run, although the parent had at most {} "
                                "threads and {} callbacks are counted as lost",
                                outstanding, threads_before, lost);
}

// Runs all checks in the child.  Uses no stdio and no lock that another thread may have held at the fork; SIGALRM ends
// a child that hangs.
void check_child(Context &context, uint64_t threads_before)
{
    const Flavour &flavour = context.flavour;
    rcu_read_lock();
    if (!Heap::is_sound(*context.heap.read(threads_before)))
        context.findings.report(Check::canary, "in a forked child");
    rcu_read_unlock();
    check_table_of_child(context);
    const unsigned long cookie = flavour.get_state();
    flavour.synchronize();
    if (!context.kinds_are_mixed && !flavour.poll(cookie))
        context.findings.report(Check::cookie, "in a forked child: a cookie is not complete after synchronize_rcu()");
    static ChildCallbacks own, of_a_new_thread;
    check_own_callbacks(context, own);
    std::thread([&] {
        check_own_callbacks(context, of_a_new_thread);
    }).join(); // the new thread uses a slot that is free or that a thread of the parent had
    check_inherited_callbacks(context, threads_before);
}

[[noreturn]] void run_child(Context &context, bool inside, uint64_t threads_before)
{
    context.forked = true;
    signal(SIGALRM, SIG_DFL);
    alarm(static_cast<unsigned int>(context.patience_ns / 1'000'000'000) + 1);
    if (inside)
        rcu_read_unlock();
    check_child(context, threads_before);
    _exit(0);
}

void await(Actor &actor, pid_t child)
{
    int status = 0;
    {
        While waiting(actor, Doing::waiting_for_child);
        pid_t ended = 0;
        // Wait for three times the patience, which is longer than the child's own alarm.
        for (int turn = 0; turn < 3 && ended == 0; turn++)
            wait_until(actor, [&] { return (ended = waitpid(child, &status, WNOHANG)) != 0; });
        if (ended == 0)
            kill(child, SIGKILL);
    }
    if (WIFSIGNALED(status))
        actor.context.findings.report(Check::fork, "child {} was killed by signal {}{}", child, WTERMSIG(status),
                                      WTERMSIG(status) == SIGALRM ? ": it hung until its alarm" : "");
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        actor.context.findings.report(Check::fork, "child {} ended with status {:#x}", child, status);
}

// ThreadSanitizer allows no threads in the forked child of a process with threads.
#if defined(__SANITIZE_THREAD__)
constexpr bool sanitizer_stands_forks = false;
#else
constexpr bool sanitizer_stands_forks = true;
#endif

void fork_often(Actor &actor)
{
    Context &context = actor.context;
    if (!sanitizer_stands_forks) {
        context.shared.skipped.store(1);
        Findings::say("torture: forks were not tested: ThreadSanitizer does not support forks with threads\n");
        return;
    }
    while (actor.keep_going()) {
        const uint64_t threads = read_stats().threads_peak;
        const bool inside = actor.random.one_in(3);
        if (inside)
            rcu_read_lock();
        actor.set(Doing::forking);
        const pid_t child = fork();
        if (child == 0)
            run_child(context, inside, threads);
        if (inside)
            rcu_read_unlock();
        if (child > 0)
            await(actor, child);
        context.shared.forks.fetch_add(1);
        actor.rest(2000 * context.scenario.fork_ms);
    }
}

} // namespace

void add_forker(Cast &cast, const Scenario &scenario)
{
    if (scenario.fork_ms > 0)
        cast.add("fork", 0, fork_often);
}

} // namespace lab::torture
