/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stall report: a grace period that does not end, who is in its way, and what waits behind it.
 *
 * It goes to the handler that the program set, line by line, or to standard error.
 * tested by: test/api/stall.cc
 */
#include <stdarg.h>
#include <stdio.h>

#include "watch/watch.h"

#define TASKS_NAMED 8
#define READERS_NAMED 32

int64_t watch_next_report(const struct watch *watch, int64_t previous)
{
    if (callback_config(watch->cb)->stall_timeout_ms == 0)
        return INT64_MAX;
    return previous ? previous * 3 : callback_config(watch->cb)->stall_timeout_ms * 1000000;
}

static void __attribute__((format(printf, 2, 3))) say(struct watch *watch, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    void (*handler)(const char *) = rtrcu_load_acquire(&watch->handler);
    if (handler)
        handler(text);
    else
        plat_print("%s", text);
}

/* What is said of one reader; gathered under the leaf lock, said without it. */
struct culprit {
    uint32_t thread_id, inside, lent;
    uintptr_t entered;
};

static const char *state_name(char state)
{
    switch (state) {
    case 'R':
        return "runnable";
    case 'S':
        return "asleep";
    case 'D':
        return "asleep in the kernel";
    case 'T':
        return "stopped by a signal";
    case 't':
        return "stopped by a debugger";
    case 'Z':
    case 'X':
        return "dead";
    default:
        return "in an unknown state";
    }
}

static void say_culprit(struct watch *watch, const struct culprit *culprit)
{
    char name[32], where[160] = "", began[160] = "";
    struct plat_thread_look look;
    bool discipline = culprit->inside & RTRCU_QSBR_ONLINE;
    plat_thread_name((int)culprit->thread_id, name, sizeof(name));
    plat_thread_look((int)culprit->thread_id, &look);
    if (look.address)
        plat_symbol(look.address, where, sizeof(where));
    say(watch, "rtrcu:   thread %u \"%s\": %s, nesting %u, %s%s\n", culprit->thread_id, name,
        discipline ? "quiescent-state discipline, online, has not said rcu_quiescent_state()"
                   : "preemptible, inside a read-side critical section",
        culprit->inside & RTRCU_NESTING_MASK, state_name(look.state), culprit->lent ? ", is lent a priority" : "");
    if (look.call >= 0)
        say(watch, "rtrcu:     in system call %ld at %s%s\n", look.call, where,
            discipline ? ": it went to sleep without rcu_thread_offline()" : "");
    if (culprit->entered) {
        plat_symbol(culprit->entered, began, sizeof(began));
        say(watch, "rtrcu:     its section began at %s\n", began);
    }
}

/* Promote first, so that a task that has only just parked is named as one. */
static void say_leaf(struct watch *watch, enum gp_kind kind, struct reader_leaf *leaf)
{
    struct culprit culprits[READERS_NAMED];
    const char *tasks[TASKS_NAMED];
    uint32_t count = 0, blocked = 0;
    lock_acquire(&leaf->lock);
    uint32_t left = gp_owing(watch->gp, kind, leaf->index) & rtrcu_load_acquire(&leaf->registered);
    for (; left; left &= left - 1) {
        struct reader_record *record = &leaf->records[__builtin_ctz(left)];
        gp_promote(watch->gp, record);
        culprits[count++] = (struct culprit){.thread_id = record->thread_id,
                                             .inside = reader_inside(record),
                                             .lent = rtrcu_load_relaxed(&record->lent),
                                             .entered = rtrcu_load_relaxed(&record->self->entered)};
    }
    struct rcu_task *task = leaf->boundary[kind];
    for (; task; task = blocked_next(leaf, task)) { /* as many as are parked here */
        if (blocked < TASKS_NAMED)
            tasks[blocked] = task->name;
        blocked++;
    }
    lock_release(&leaf->lock);
    for (uint32_t i = 0; i < count; i++)
        say_culprit(watch, &culprits[i]);
    for (uint32_t i = 0; i < blocked && i < TASKS_NAMED; i++)
        say(watch, "rtrcu:   task \"%s\": parked inside a read-side critical section\n", tasks[i] ? tasks[i] : "");
    if (blocked > TASKS_NAMED)
        say(watch, "rtrcu:   and %u parked tasks more\n", blocked - TASKS_NAMED);
}

void watch_stall_report(struct watch *watch, enum gp_kind kind, int64_t now)
{
    const struct gp_machine *machine = &watch->gp->machine[kind];
    struct rtrcu_stats stats = {.size = sizeof(stats)};
    rtrcu_fetch_add(&watch->stall_reports, 1);
    say(watch, "rtrcu: %s grace period %llu has not ended for %lld ms (thread %u turns the crank); in its way:\n",
        kind == GP_NORMAL ? "normal" : "expedited", (unsigned long long)(machine->seq / SEQ_STEP),
        (long long)((now - machine->began_ns) / 1000000), lock_thread_id());
    for (uint32_t i = 0; i < machine->leaves; i++) {
        struct reader_leaf *leaf = reader_leaf_at(watch->gp->registry, i);
        if (leaf && gp_leaf_owes(watch->gp, kind, i))
            say_leaf(watch, kind, leaf);
    }
    if (machine->anonymous_busy)
        say(watch, "rtrcu:   %u threads without a record (exiting, or no memory) inside sections\n",
            rtrcu_load_relaxed(&watch->gp->registry->anonymous));
    watch_stats(watch, &stats);
    say(watch, "rtrcu:   callbacks queued behind it: %llu\n", (unsigned long long)stats.callbacks_backlog);
}

void watch_fence_report(struct watch *watch, int error)
{
    rtrcu_fetch_add(&watch->stall_reports, 1);
    say(watch,
        "rtrcu: grace periods stand still: the kernel refuses membarrier() (error %d) and no other fence reaches all"
        " threads yet; set RTRCU_MEMBARRIER=off at start where a sandbox forbids it\n",
        -error);
}
