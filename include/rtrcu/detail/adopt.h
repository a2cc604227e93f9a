/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Adopted flavours: what the libraries that stand in for liburcu's ask of this one.  Not for programs; it changes with
 * them, and both come together.
 *
 * A flavour is a domain of its own.  Its readers' words lie in the program, at places that liburcu's ABI fixes, since
 * programs have the read side compiled in; so the word here is theirs, not the one of <rtrcu/rcu.h>.
 */
#ifndef RTRCU_DETAIL_ADOPT_H
#define RTRCU_DETAIL_ADOPT_H

#include <stdbool.h>
#include <stdint.h>

#include <rtrcu/detail/flavor.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RTRCU_ADOPT_MEMB, RTRCU_ADOPT_MB, RTRCU_ADOPT_QSBR, RTRCU_ADOPT_BP, RTRCU_ADOPT_FLAVOURS };

/* A thread's block, 256 bytes.  What programs know: the word at 0, for qsbr `waiting` at 144, and whether it is
 * registered, at 152 or for qsbr at 160, which debug builds of them look at.  Aligned no further than the C library's
 * own thread-local storage: else a program that runs already could not load its library.  @room urcu */
struct rtrcu_adopted_reader {
    uint64_t word; /* atomic; by the owner alone */
    uint64_t unused[15];
    struct adopt_record *record; /* NULL: not registered; of the owner */
    struct adopt_server *server; /* that this thread chose for its callbacks; of the owner */
    uint32_t waiting;            /* atomic: qsbr: wake who waits */
    uint32_t unused_too;
    uint32_t registered;      /* of the owner */
    uint32_t exit_rounds;     /* of the owner: rounds of destructors that the exit hook has waited */
    uint32_t registered_qsbr; /* of the owner: the same as `registered` */
    uint32_t in_callbacks;    /* of the owner: it is a server's thread */
    uint64_t unused_last[11];
} __attribute__((aligned(64)));

struct adopt_ring; /* a thread's deferred functions */

/* What a flavour's library says of it once.  @room urcu, api */
struct rtrcu_adopt_flavour {
    uint32_t kind;
    const char *name;                             /* in reports */
    uint64_t *generation;                         /* the first member of the program's `struct urcu_gp` */
    uint32_t *futex;                              /* the second */
    uint32_t *light;                              /* not 0: readers rely on membarrier(); NULL: they never do */
    struct rtrcu_adopted_reader *(*self)(void);   /* bp: NULL until the thread has one */
    void (*be)(struct rtrcu_adopted_reader *own); /* bp: this is it from now on; NULL where it is thread-local */
    struct adopt_ring **(*ring)(void);            /* where the calling thread keeps its ring; NULL: no rings */
};

struct rtrcu_adopted; /* a flavour's domain */
struct adopt_server;  /* what programs know as struct call_rcu_data */

/* The domain of @flavour's kind: a new one the first time.  Ends the process if there is no memory for it. */
struct rtrcu_adopted *rtrcu_adopt(const struct rtrcu_adopt_flavour *flavour);

/* The calling thread is a reader from now on; it may be already.  qsbr: and online.  Async-signal-safe, unless the
 * library was loaded into a process that had 32 thread-specific keys: then it may allocate. */
void rtrcu_adopt_register(struct rtrcu_adopted *adopted);
void rtrcu_adopt_unregister(struct rtrcu_adopted *adopted);
/* A reader has left and found somebody asleep. */
void rtrcu_adopt_wake(struct rtrcu_adopted *adopted);
/* qsbr: outside until it says that it is online. */
void rtrcu_adopt_offline(struct rtrcu_adopted *adopted);
void rtrcu_adopt_online(struct rtrcu_adopted *adopted);

void rtrcu_adopt_synchronize(struct rtrcu_adopted *adopted);
uint64_t rtrcu_adopt_start_poll(struct rtrcu_adopted *adopted);
bool rtrcu_adopt_poll_state(struct rtrcu_adopted *adopted, uint64_t cookie);

/* To the server in use; a CPU's only if the caller is in a section. */
void rtrcu_adopt_call(struct rtrcu_adopted *adopted, struct rcu_head *head, rcu_callback_t func);
void rtrcu_adopt_barrier(struct rtrcu_adopted *adopted);
/* At most 4,096 of a thread wait: then the caller waits for a grace period, and runs them. */
void rtrcu_adopt_defer(struct rtrcu_adopted *adopted, void (*func)(void *), void *p);
/* Those that were deferred before have returned: by all threads, by the calling thread. */
void rtrcu_adopt_defer_barrier(struct rtrcu_adopted *adopted);
void rtrcu_adopt_defer_barrier_own(struct rtrcu_adopted *adopted);
/* The same, and the calling thread gives its ring up. */
void rtrcu_adopt_defer_leave(struct rtrcu_adopted *adopted);

/* Servers of callbacks: a thread each.  NULL with errno set: no memory.  @cpu: -1 = any. */
struct adopt_server *rtrcu_adopt_server_create(struct rtrcu_adopted *adopted, unsigned long flags, int cpu);
/* It ends, and what it has left goes to the default one.  Not the default one itself. */
void rtrcu_adopt_server_free(struct rtrcu_adopted *adopted, struct adopt_server *server);
struct adopt_server *rtrcu_adopt_server_default(struct rtrcu_adopted *adopted);
/* Of the calling thread's choice, or its CPU's, or the default.  Inside a section, which a CPU's server outlives. */
struct adopt_server *rtrcu_adopt_server_in_use(struct rtrcu_adopted *adopted);
struct adopt_server *rtrcu_adopt_server_of_cpu(struct rtrcu_adopted *adopted, int cpu);
/* 0; -EINVAL: no such CPU; -EEXIST: it has one.  errno likewise. */
int rtrcu_adopt_server_set_cpu(struct rtrcu_adopted *adopted, int cpu, struct adopt_server *server);
struct adopt_server *rtrcu_adopt_server_of_thread(struct rtrcu_adopted *adopted);
void rtrcu_adopt_server_set_thread(struct rtrcu_adopted *adopted, struct adopt_server *server);
/* Its thread as pthread_t; the caller that asks joins it, and rtrcu_adopt_server_free() does no more. */
unsigned long rtrcu_adopt_server_thread(struct rtrcu_adopted *adopted, struct adopt_server *server);
/* 0; -ENOMEM.  qsbr: where another thread makes them too, the caller may be offline in between. */
int rtrcu_adopt_servers_create_all(struct rtrcu_adopted *adopted, unsigned long flags);
/* Those that CPUs have are gone when it returns, but for those that another thread has begun to free. */
void rtrcu_adopt_servers_free_all(struct rtrcu_adopted *adopted);
/* Not 0: a CPU has a server of its own, so queueing takes a section. */
bool rtrcu_adopt_has_cpu_servers(const struct rtrcu_adopted *adopted);

/* The program's own calls around a fork: no callback is under way between them.  pthread_atfork() does the rest. */
void rtrcu_adopt_before_fork(struct rtrcu_adopted *adopted);
void rtrcu_adopt_after_fork_parent(struct rtrcu_adopted *adopted);
void rtrcu_adopt_after_fork_child(struct rtrcu_adopted *adopted);
void rtrcu_adopt_hooks(struct rtrcu_adopted *adopted, struct rtrcu_fork_hooks *hooks, bool add);

/* One line on standard error, of what this flavour has done. */
void rtrcu_adopt_say(struct rtrcu_adopted *adopted);

#ifdef __cplusplus
}
#endif

#endif
