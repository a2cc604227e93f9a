/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What this crate's private copy has besides the library: a rule for threads that end, and the layout of structs. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rtrcu/rcu.h>

/* A task, and what stall reports call it. */
struct left_open {
    struct rcu_task task;
    char name[64];
};

/* A thread that ends with a guard that was leaked: references that it gave to others live on, so its sections go on as
 * a parked task that never ends.  Without memory for it there is no way to keep them. */
static void leave_open(void)
{
    struct left_open *left = malloc(sizeof(*left));
    if (!left)
        abort();
    snprintf(left->name, sizeof(left->name), "guard leaked by thread %ld", (long)syscall(SYS_gettid));
    rtrcu_task_init(&left->task, left->name);
    rtrcu_task_park(&left->task);
}

__attribute__((constructor)) static void keep_what_is_left_open(void)
{
    rtrcu_set_exit_handler(leave_open);
}

/* As rtrcu_read_lock_slow(); defined here so that who reads is linked with this file. */
void rtrcu_private_lock_slow(void);
void rtrcu_private_lock_slow(void)
{
    rtrcu_read_lock_slow();
}

#define FIELD(type, field) offsetof(type, field), sizeof(((type *)0)->field)

/* Compared by the crate's tests with what Rust declares. */
const size_t rtrcu_layout[] = {
    sizeof(struct rcu_head),
    FIELD(struct rcu_head, func),
    sizeof(struct rcu_task),
    FIELD(struct rcu_task, name),
    FIELD(struct rcu_task, mounted),
    FIELD(struct rcu_task, outer_base),
    sizeof(struct rtrcu_stats),
    FIELD(struct rtrcu_stats, gp_busy),
    FIELD(struct rtrcu_stats, callbacks_backlog),
    FIELD(struct rtrcu_stats, latency_us_log2),
    FIELD(struct rtrcu_stats, callbacks_lost),
    FIELD(struct rtrcu_stats, threads_woken),
    FIELD(struct rtrcu_stats, gp_unfenced),
    FIELD(struct rtrcu_stats, section_longest),
    sizeof(struct rtrcu_config),
    offsetof(struct rtrcu_thread, flag),
};
const size_t rtrcu_layout_count = sizeof(rtrcu_layout) / sizeof(rtrcu_layout[0]);
