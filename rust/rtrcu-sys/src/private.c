/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Additions to the library in this crate's private copy: a handler for threads that exit inside a section, a function
 * that ends a program that leaks too many guards, and the layout of structs for the crate's tests. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rtrcu/srcu.h>
#include <rtrcu/table.h>

_Static_assert(sizeof(struct srcu_struct) == 86 * 8, "adapt the size of srcu_struct in types.rs");

/* Write a line to standard error, unless that would block, and abort.  Rust's eprintln!() panics if the write fails;
 * the caller has changed the count of sections, and must not unwind. */
__attribute__((noreturn)) static void die(const char *line)
{
    struct pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&error, 1, 0) == 1 && error.revents == POLLOUT) {
        ssize_t written = write(STDERR_FILENO, line, strlen(line));
        (void)written; /* the program ends whether or not the message was written */
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

/* The parked task that keeps the sections of leaked guards open, and its name in stall reports. */
struct left_open {
    struct rcu_task task;
    char name[64];
};

/* Exit handler: called when a thread exits inside a section, because it leaked a guard.  References that were loaded
 * under the guard may still be in use, so a parked task that never ends keeps the thread's sections open.  Without
 * memory for the task, end the program. */
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

/* Call rtrcu_read_lock_slow().  Each program that reads refers to this function, so the linker includes this file and
 * its constructor. */
void rtrcu_private_lock_slow(void);
void rtrcu_private_lock_slow(void)
{
    rtrcu_read_lock_slow();
}

#define FIELD(type, field) offsetof(type, field), sizeof(((type *)0)->field)

/* Sizes of structs, and offsets and sizes of fields; the crate's tests compare them with Rust's declarations. */
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
    sizeof(struct rtrcu_hash_node),
    FIELD(struct rtrcu_hash_node, link),
    sizeof(struct rtrcu_hash_line),
    FIELD(struct rtrcu_hash_line, slots),
    FIELD(struct rtrcu_hash_line, link),
    sizeof(struct rtrcu_hash_generation),
    FIELD(struct rtrcu_hash_generation, mask),
    FIELD(struct rtrcu_hash_generation, next),
    FIELD(struct rtrcu_hash, current),
    sizeof(struct rtrcu_hash_config),
    FIELD(struct rtrcu_hash_config, buckets),
    sizeof(struct rtrcu_hash_counters),
    FIELD(struct rtrcu_hash_counters, no_resizer),
    sizeof(struct rtrcu_config),
    offsetof(struct rtrcu_thread, flag),
};
const size_t rtrcu_layout_count = sizeof(rtrcu_layout) / sizeof(rtrcu_layout[0]);
