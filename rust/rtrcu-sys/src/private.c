/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What this crate's private copy has besides the library: a rule for threads that end, the end of a program that leaks
 * too many guards, and the layout of structs. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rtrcu/rcu.h>

/* Write a line to standard error if that neither fails nor waits, and abort.  Not by Rust's eprintln!(), which panics
 * where the write fails: the caller has changed the count of sections, and must not unwind. */
__attribute__((noreturn)) static void die(const char *line)
{
    struct pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&error, 1, 0) == 1 && error.revents == POLLOUT) {
        ssize_t written = write(STDERR_FILENO, line, strlen(line));
        (void)written; /* the program ends with or without its message */
    }
    abort();
}

__attribute__((noreturn)) void rtrcu_private_too_many_sections(uint32_t limit);
void rtrcu_private_too_many_sections(uint32_t limit)
{
    char line[160];
    snprintf(line, sizeof(line),
             "rtrcu: %u read-side critical sections are open on one thread; guards are leaked, and the count would "
             "overflow\n",
             limit);
    die(line);
}

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
        die("rtrcu: no memory to keep the section of a leaked guard open after its thread's end\n");
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
    FIELD(struct rtrcu_stats, threads_woken),
    FIELD(struct rtrcu_stats, gp_unfenced),
    FIELD(struct rtrcu_stats, section_longest),
    FIELD(struct rtrcu_stats, exp_by_caller),
    sizeof(struct rtrcu_config),
    offsetof(struct rtrcu_thread, flag),
};
const size_t rtrcu_layout_count = sizeof(rtrcu_layout) / sizeof(rtrcu_layout[0]);
