/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The native domain, the state shared by the other domains, and the public entry points: the only room with a mutable
 * variable of file scope.
 *
 * Knows: everything below.  Carries out the actions that lower rooms return.
 */
#ifndef RTRCU_API_API_H
#define RTRCU_API_API_H

#include "urcu/urcu.h"
#include "driver/driver.h"
#include "srcu/srcu.h"

/* Layout of a leaf: each room's part, in one piece. */
struct domain_leaf {
    struct reader_leaf reader;
    struct parked_leaf parked;
    struct callback_leaf callback;
    struct serve_leaf serve;
    struct turn_leaf turn;
};

/* State of the rooms that wait, wake and create threads. */
struct domain_drive {
    struct work work;
    struct turn turn;
    struct serve serve;
    struct driver driver;
};

/* Fork hooks requested by liburcu-cds. */
struct domain_hooks {
    struct rtrcu_fork_hooks *hooks; /* atomic: the hooks of the first caller */
    uint32_t count;                 /* atomic: number of hash tables; written under the configuration's lock */
    uint32_t armed;                 /* atomic */
};

struct domain {
    uint32_t initialized;
    int32_t message_error;      /* not 0: there is no message_key, and refusals are printed on standard error alone */
    unsigned int message_key;   /* thread-specific key: the text of the thread's last refusal */
    void (*exit_handler)(void); /* atomic: called for threads that exit inside a section, or NULL */
    struct complaint refused;   /* reports of refused configurations */
    struct complaint unserved_polls; /* reports of polled grace periods that no thread of the library advances */
    uint32_t unblocked;  /* atomic: 1: a caller that could not wait, despite backpressure=block, was reported */
    int32_t fence_error; /* error of the last registration for membarrier; 0: it succeeded, or was not tried */
    struct config config;
    struct lock config_lock; /* held by a thread that changes the configuration */
    struct reader_registry registry;
    struct gp gp;
    struct callback cb;
    struct watch watch;
    struct domain_drive drive;
    struct urcu urcu; /* the domains of other flavours */
    struct srcu srcu; /* state shared by the domains that the program defines */
    struct domain_hooks hooks;
    struct domain_leaf first_leaf;
};

extern struct domain rtrcu_domain;

/* Accessors for higher rooms: the native domain's grace periods, readers and threads. */
static inline struct gp *api_gp(void)
{
    return &rtrcu_domain.gp;
}
static inline struct reader_registry *api_registry(void)
{
    return &rtrcu_domain.registry;
}
static inline struct work *api_work(void)
{
    return &rtrcu_domain.drive.work;
}

/* Initialise the native domain.  Idempotent; runs before main, or earlier if a constructor of the program reads
 * first. */
void api_init(void);

/* ---- the rooms that wait: drive.c ---- */

void api_drive_init(struct domain_drive *drive, const struct config *config, struct gp *gp, struct callback *cb,
                    struct watch *watch);
void api_drive_after_fork_child(struct domain_drive *drive, struct plat_tid old_thread_id);
void api_drive_stats(const struct domain_drive *drive, struct rtrcu_stats *stats);
/* Fields that these rooms show to other processes. */
extern const struct inspect_table api_drive_table;

/* Set the result of rtrcu_config_error() for this thread: @why, NULL = no error. */
void api_message_keep(const struct config_message *why);
/* Unregister the calling thread.  @exiting: the thread is about to exit. */
void api_leave(bool exiting);

/* The public function in progress, and its call site, from which a debugger finds the line. */
#define API_CALL(called) ((struct reader_call){.name = called, .from = (uintptr_t)__builtin_return_address(0) - 1})

/* Begin a call that waits: a quiescent-state thread goes offline meanwhile.  True: it must go online again. */
bool api_wait_begin(struct reader_call call);
void api_wait_end(bool was_online);
/* Like api_wait_begin(), for a call that waits for readers of other domains: sections of the native domain may be
 * open. */
bool api_go_offline(void);
/* May this thread take the library's briefly held locks here?  False in a handler that interrupted the library, and on
 * a deadline thread. */
bool api_may_lock(void);
/* Report that a null function was passed to @call. */
void api_refuse_callback(const char *call);
/* After defer_rcu(): if many callbacks of the calling thread are pending, wait up to 100 ms for fewer. */
void api_bound_deferred(void);

#endif
