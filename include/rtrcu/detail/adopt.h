/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Adopted flavours: the interface for the libraries that replace liburcu's.  Not for programs: these libraries and this
 * one change together, and are installed together.
 *
 * A flavour is a domain of its own.  Its readers' words are in the program, at offsets that liburcu's ABI fixes, since
 * programs have the read side compiled in.  So a flavour's word has liburcu's layout, not that of <rtrcu/rcu.h>.
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

/* A thread's block, 256 bytes.  Programs access the word at 0 and, for qsbr, `waiting` at 144; their debug builds read
 * `registered` at 152, or for qsbr `registered_qsbr` at 160.  Aligned no further than the C library's own thread-local
 * storage: otherwise a running program could not load its library.  @room urcu */
struct rtrcu_adopted_reader {
    uint64_t word; /* atomic; written by the owner alone */
    uint64_t unused[15];
    struct adopt_record *record; /* NULL: not registered; written by the owner */
    struct adopt_server *server; /* the callback server that this thread chose; written by the owner */
    uint32_t waiting;            /* atomic: qsbr: not 0: a waiter may sleep until this thread's quiescent state */
    uint32_t unused_too;
    uint32_t registered;      /* written by the owner */
    uint32_t exit_rounds;     /* written by the owner: rounds of destructors that the exit hook has let pass */
    uint32_t registered_qsbr; /* written by the owner: equals `registered` */
    uint32_t in_callbacks;    /* written by the owner: not 0: the thread belongs to a server */
    uint64_t unused_last[11];
} __attribute__((aligned(64)));

struct adopt_ring; /* ring buffer of a thread's deferred functions */

/* Description of a flavour, passed once by its library.  @room urcu, api */
struct rtrcu_adopt_flavour {
    uint32_t kind;
    const char *name;     /* in reports */
    uint64_t *generation; /* the first member of the program's `struct urcu_gp` */
    uint32_t *futex;      /* the second member of that struct */
    uint32_t *light;      /* *light is not 0 while readers rely on membarrier(); NULL: they never do */
    struct rtrcu_adopted_reader *(*self)(void);   /* the calling thread's block; bp: NULL until the thread has a
                                                     block */
    void (*be)(struct rtrcu_adopted_reader *own); /* bp: sets the thread's block; NULL if blocks are thread-local */
    struct adopt_ring **(*ring)(void);            /* address of the calling thread's ring pointer; NULL: no rings */
};

struct rtrcu_adopted; /* a flavour's domain */
struct adopt_server;  /* programs know it as struct call_rcu_data */

/* The domain of @flavour's kind, created at the first call.  Ends the process if there is no memory for it. */
struct rtrcu_adopted *rtrcu_adopt(const struct rtrcu_adopt_flavour *flavour);

/* Make the calling thread a reader, if it is not a reader yet; with qsbr, an online reader.  Async-signal-safe, except
 * in a process that had 32 thread-specific keys when the library was loaded: there it may allocate. */
void rtrcu_adopt_register(struct rtrcu_adopted *adopted);
void rtrcu_adopt_unregister(struct rtrcu_adopted *adopted);
/* Wake the sleeping waiter that a reader has found at the end of its section. */
void rtrcu_adopt_wake(struct rtrcu_adopted *adopted);
/* qsbr: the calling thread is outside until it comes online again. */
void rtrcu_adopt_offline(struct rtrcu_adopted *adopted);
void rtrcu_adopt_online(struct rtrcu_adopted *adopted);

void rtrcu_adopt_synchronize(struct rtrcu_adopted *adopted);
uint64_t rtrcu_adopt_start_poll(struct rtrcu_adopted *adopted);
bool rtrcu_adopt_poll_state(struct rtrcu_adopted *adopted, uint64_t cookie);

/* Queue @head on the server that rtrcu_adopt_server_in_use() returns.  A CPU's server is used only if the caller is in
 * a section. */
void rtrcu_adopt_call(struct rtrcu_adopted *adopted, struct rcu_head *head, rcu_callback_t func);
void rtrcu_adopt_barrier(struct rtrcu_adopted *adopted);
/* Call @func(@p) after a grace period.  If 4,096 functions of the thread are pending, the call waits for a grace period
 * and runs them. */
void rtrcu_adopt_defer(struct rtrcu_adopted *adopted, void (*func)(void *), void *p);
/* Wait until all functions that any thread deferred before the call have returned; _own(): all that the calling thread
 * deferred. */
void rtrcu_adopt_defer_barrier(struct rtrcu_adopted *adopted);
void rtrcu_adopt_defer_barrier_own(struct rtrcu_adopted *adopted);
/* Like rtrcu_adopt_defer_barrier_own(), and then release the calling thread's ring. */
void rtrcu_adopt_defer_leave(struct rtrcu_adopted *adopted);

/* Create a server of callbacks, which has one thread.  NULL with errno set: no memory.  @cpu: -1 = any. */
struct adopt_server *rtrcu_adopt_server_create(struct rtrcu_adopted *adopted, unsigned long flags, int cpu);
/* Free @server, after its remaining callbacks have been moved to the default server.  Does nothing for the default
 * server. */
void rtrcu_adopt_server_free(struct rtrcu_adopted *adopted, struct adopt_server *server);
struct adopt_server *rtrcu_adopt_server_default(struct rtrcu_adopted *adopted);
/* The server that the calling thread chose, else its CPU's, else the default.  Called inside a section, which keeps a
 * CPU's server from being freed. */
struct adopt_server *rtrcu_adopt_server_in_use(struct rtrcu_adopted *adopted);
struct adopt_server *rtrcu_adopt_server_of_cpu(struct rtrcu_adopted *adopted, int cpu);
/* Set the server of @cpu; @server NULL: remove it.  Returns 0; -EINVAL: no such CPU; -EEXIST: the CPU has a
 * server.  Sets errno on failure. */
int rtrcu_adopt_server_set_cpu(struct rtrcu_adopted *adopted, int cpu, struct adopt_server *server);
struct adopt_server *rtrcu_adopt_server_of_thread(struct rtrcu_adopted *adopted);
void rtrcu_adopt_server_set_thread(struct rtrcu_adopted *adopted, struct adopt_server *server);
/* The server's thread as pthread_t.  The caller must join it, since rtrcu_adopt_server_free() then does not. */
unsigned long rtrcu_adopt_server_thread(struct rtrcu_adopted *adopted, struct adopt_server *server);
/* Create a server for each CPU that has none.  Returns 0 or -ENOMEM.  qsbr: the caller may go offline meanwhile if
 * another thread creates servers too. */
int rtrcu_adopt_servers_create_all(struct rtrcu_adopted *adopted, unsigned long flags);
/* Free the servers of all CPUs, except those that another thread has begun to free. */
void rtrcu_adopt_servers_free_all(struct rtrcu_adopted *adopted);
/* Does a CPU have a server of its own, so that queueing needs a section? */
bool rtrcu_adopt_has_cpu_servers(const struct rtrcu_adopted *adopted);

/* The program calls these around a fork, so that no callback runs during it.  The library's pthread_atfork() handlers
 * do the rest. */
void rtrcu_adopt_before_fork(struct rtrcu_adopted *adopted);
void rtrcu_adopt_after_fork_parent(struct rtrcu_adopted *adopted);
void rtrcu_adopt_after_fork_child(struct rtrcu_adopted *adopted);
void rtrcu_adopt_hooks(struct rtrcu_adopted *adopted, struct rtrcu_fork_hooks *hooks, bool add);

/* Print one line of this flavour's statistics on standard error. */
void rtrcu_adopt_say(struct rtrcu_adopted *adopted);

#ifdef __cplusplus
}
#endif

#endif
