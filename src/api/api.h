/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The native domain, the list of the others, and the public entry points: the only room with a mutable variable of
 * file scope.
 *
 * Knows: everything below.  Performs the actions that lower rooms return.
 */
#ifndef RTRCU_API_API_H
#define RTRCU_API_API_H

#include "urcu/urcu.h"
#include "driver/driver.h"

/* How a leaf is laid out: what each room keeps of it, in one piece. */
struct domain_leaf {
    struct reader_leaf reader;
    struct parked_leaf parked;
    struct callback_leaf callback;
    struct serve_leaf serve;
    struct turn_leaf turn;
};

/* The rooms that wait, wake and make threads, side by side. */
struct domain_drive {
    struct work work;
    struct turn turn;
    struct serve serve;
    struct driver driver;
};

/* What liburcu-cds asks for around forks. */
struct domain_hooks {
    struct rtrcu_fork_hooks *hooks; /* atomic: of the first that asked */
    uint32_t count;                 /* atomic: of hash tables; written under the configuration's lock */
    uint32_t armed;                 /* atomic */
};

struct domain {
    uint32_t initialized;
    int32_t message_error;      /* not 0: there is no key for it, and refusals are explained on standard error alone */
    unsigned int message_key;   /* of each thread's last config_message */
    void (*exit_handler)(void); /* atomic: of threads that end inside a section, or NULL */
    struct complaint refused;   /* configurations */
    struct complaint unserved_polls; /* polls that no thread of the library serves */
    int32_t fence_error; /* why membarrier was refused when fences were chosen last, 0 = it was not, or not asked */
    struct config config;
    struct lock config_lock; /* changing it */
    struct reader_registry registry;
    struct gp gp;
    struct callback cb;
    struct watch watch;
    struct domain_drive drive;
    struct urcu urcu; /* the domains of other flavours */
    struct domain_hooks hooks;
    struct domain_leaf first_leaf;
};

extern struct domain rtrcu_domain;

/* Idempotent; runs before main, or earlier if a constructor of the program reads first. */
void api_init(void);

/* ---- the rooms that wait: drive.c ---- */

void api_drive_init(struct domain_drive *drive, const struct config *config, struct gp *gp, struct callback *cb,
                    struct watch *watch);
void api_drive_after_fork_child(struct domain_drive *drive, struct plat_tid old_thread_id);
void api_drive_stats(const struct domain_drive *drive, struct rtrcu_stats *stats);
/* What these rooms tell other processes. */
extern const struct inspect_table api_drive_table;

/* What rtrcu_config_error() says from now on in this thread: @why, NULL = nothing. */
void api_message_keep(const struct config_message *why);
/* The calling thread leaves the registry; @exiting: it ends. */
void api_leave(bool exiting);

/* The public function that is running, and the address in its call, by which a debugger finds the line. */
#define API_CALL(called) ((struct reader_call){.name = called, .from = (uintptr_t)__builtin_return_address(0) - 1})

/* A call that waits: quiescent-state threads are offline meanwhile.  Returns whether to come back online. */
bool api_wait_begin(struct reader_call call);
void api_wait_end(bool was_online);
/* After defer_rcu(): where many callbacks of the calling thread are pending, wait up to 100 ms for fewer. */
void api_bound_deferred(void);

#endif
