/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Domains that programs define: sums of sections, grace periods of two drains, waiters, callbacks.
 *
 * Knows: threads of the library, callback queues.  Must not know: the native domain's readers.
 *
 * A grace period waits until the sections that began before it have ended, whichever index they have: it drains the
 * index that new sections do not use, flips, so that new sections use this index, and drains the other index.  If no
 * section is open, it needs neither drain.
 *
 *  before   transition      after
 *  IDLE     advance()       FIRST    a gp is wanted
 *  FIRST    advance()       IDLE     neither index has a section: the gp ends
 *  FIRST    advance()       SECOND   the index not in use is drained; flipped
 *  SECOND   advance()       IDLE     the other index is drained too: the gp ends
 *
 * A callback is in the inbox, then in the chain that waits for one gp, then ready.  One thread at a time, the runner,
 * runs ready callbacks of a domain: the worker, which serves all domains, or, if there is no worker, a caller of
 * srcu_barrier().
 *
 * Locks: srcu.lock guards the list of domains, inner.lock the phase, the chains and the runner of one domain.  They are
 * held for steps, never for a wait.
 *
 * INV-SR1: a gp ends only after both indexes were found drained since it began, together or one after the other.
 * INV-SR2: a section is counted as begun before it is counted as ended, in every order of sums. An unlock touches no
 * memory of the domain after its addition.
 */
#ifndef RTRCU_SRCU_SRCU_H
#define RTRCU_SRCU_SRCU_H

#include <rtrcu/srcu.h>

#include "base/base.h"
#include "callback/callback.h"
#include "work/work.h"

#define SRCU_STRIPES_MASK ((uintptr_t)RTRCU_SRCU_STRIPES_MAX - 1)
#define SRCU_SLOTS 64
/* The longest sleep of a waiter: a deadline thread wakes no thread. */
#define SRCU_REST_NS 10000000

enum srcu_phase { SRCU_IDLE, SRCU_FIRST, SRCU_SECOND };

/* The part of a domain that readers do not use. */
struct srcu_inner {
    struct lock lock;
    uint32_t phase;          /* under the lock: enum srcu_phase */
    uint32_t stage;          /* atomic for others: counts transitions; written under the lock */
    uint64_t seq;            /* atomic for others: sequence number of the gp; written under the lock */
    uint64_t wanted;         /* atomic: the latest cookie that was requested */
    int64_t began_ns;        /* atomic for others: when the gp began, 0 = none; written under the lock */
    int64_t report_ns;       /* atomic: age of the gp at which the next report is due */
    struct tally callers;    /* number of callers that wait for a gp */
    uint64_t fences;         /* atomic for others: full fences between sums; written under the lock */
    int64_t inbox_ns;        /* atomic: when the inbox ceased to be empty; a hint */
    int64_t waiting_ns;      /* atomic for others: as inbox_ns, for the waiting segment, 0 = empty; under the lock */
    int64_t ready_ns;        /* atomic for others: as inbox_ns, for the ready segment, 0 = empty; under the lock */
    struct cb_queue queue;   /* inbox, and number of callbacks queued */
    struct cb_chain waiting; /* callbacks that wait for the gp of @cookie */
    uint64_t cookie;         /* cookie for which @waiting waits */
    struct cb_chain ready;   /* callbacks whose gp has ended; owned by the runner while there is one */
    struct plat_tid runner;  /* the thread that runs callbacks of the domain; none: no thread does */
    uint32_t pass;           /* under the list's lock: number of the last pass that served the domain */
    uint64_t invoked;        /* atomic for others: callbacks that have returned; written by the runner */
};
static_assert(sizeof(struct srcu_inner) + BASE_CACHE_LINE <= sizeof(((struct srcu_struct *)0)->inner),
              "room of the library");
static_assert(sizeof(struct srcu_struct) <= 1024, "docs/domains.md");

/* A futex on which waiters announce themselves, shared by the domains whose numbers have the same remainder.  Never
 * freed, since an unlock may read it after its domain has been freed.  It is 0, or the key of the domain and the index
 * for which the thread that announced last waits. */
struct srcu_slot {
    uint32_t word; /* atomic: futex */
} __attribute__((aligned(BASE_CACHE_LINE)));

/* An open section of code built with RTRCU_DEBUG. */
struct srcu_note {
    struct srcu_struct *domain; /* atomic: the section's domain; NULL = the note is unused */
    int32_t index;              /* atomic */
    uint32_t thread;            /* atomic: id of the thread that must end the section, 0 = any */
    uintptr_t place;            /* atomic: address at which the section began */
};
#define SRCU_NOTES 128

/* State shared by all domains. */
struct srcu {
    const struct config *config;
    struct callback *cb; /* used only for its set of queued heads */
    struct watch *watch;
    struct work *work;
    uint32_t stripes; /* constant: number of stripes of a domain with contended readers; a power of 2 */
    struct reader_registry *registry;
    struct lock lock;          /* guards the list of domains */
    struct srcu_struct *first; /* the list of domains, newest first */
    uint32_t numbers;          /* under the list's lock: number of domains initialised so far */
    uint32_t pass;             /* under the list's lock: number of passes over the list */
    uint32_t forks;            /* number of forks; written in a fork's child before it has a second thread */
    struct work_thread thread; /* the worker */
    uint32_t batches;          /* atomic: futex: counts batches that contained the marker of a barrier */
    uint32_t worker_missed;    /* atomic: not 0: the missing worker has been reported */
    struct complaint misuse;   /* reports of wrong indexes and of domains in use */
    struct srcu_slot slots[SRCU_SLOTS];
    uint32_t noted; /* atomic: number of @notes used so far */
    struct srcu_note notes[SRCU_NOTES];
};

/* @place, rounded up to a cache line.  A domain may be in memory of malloc(), whose alignment is less. */
static inline uintptr_t srcu_aligned(const void *place)
{
    return ((uintptr_t)place + BASE_CACHE_LINE - 1) & ~(uintptr_t)(BASE_CACHE_LINE - 1);
}
/* Fields that this room shows to other processes, for a struct srcu at @at of @type. */
#define SRCU_INSPECT(type, at)                                                                                         \
    INSPECT_FIELD("domain.srcu", type, at), INSPECT_FIELD("srcu.first", struct srcu, first),                           \
        INSPECT_FIELD("srcu.next", struct srcu_struct, next), INSPECT_FIELD("srcu.name", struct srcu_struct, name),    \
        INSPECT_FIELD("srcu.stripes", struct srcu_struct, stripes),                                                    \
        INSPECT_FIELD("srcu.stripe", struct srcu_struct, first),                                                       \
        INSPECT_FIELD("srcu.inner", struct srcu_struct, inner),                                                        \
        INSPECT_ARRAY("stripe.locks", struct rtrcu_srcu_stripe, locks),                                                \
        INSPECT_ARRAY("stripe.unlocks", struct rtrcu_srcu_stripe, unlocks),                                            \
        INSPECT_FIELD("inner.seq", struct srcu_inner, seq),                                                            \
        INSPECT_FIELD("inner.began_ns", struct srcu_inner, began_ns),                                                  \
        INSPECT_FIELD("inner.callers", struct srcu_inner, callers),                                                    \
        INSPECT_FIELD("inner.queue", struct srcu_inner, queue),                                                        \
        INSPECT_FIELD("inner.inbox_ns", struct srcu_inner, inbox_ns),                                                  \
        INSPECT_FIELD("inner.waiting_ns", struct srcu_inner, waiting_ns),                                              \
        INSPECT_FIELD("inner.ready_ns", struct srcu_inner, ready_ns),                                                  \
        INSPECT_FIELD("inner.invoked", struct srcu_inner, invoked)

static inline struct srcu_inner *srcu_inner(struct srcu_struct *domain)
{
    return (struct srcu_inner *)srcu_aligned(domain->inner);
}
static inline const struct srcu_inner *srcu_inner_const(const struct srcu_struct *domain)
{
    return (const struct srcu_inner *)srcu_aligned(domain->inner);
}
/* The first stripe, which is in the domain's own memory. */
static inline struct rtrcu_srcu_stripe *srcu_first(const struct srcu_struct *domain)
{
    return (struct rtrcu_srcu_stripe *)srcu_aligned(domain->first);
}

/* ---- domains: domain.c ---- */

void srcu_init(struct srcu *all, const struct config *config, struct callback *cb, struct watch *watch,
               struct work *work);
/* Initialise a domain.  Returns 0; -EBUSY: it is initialised already, and unchanged. */
int srcu_domain_init(struct srcu *all, struct srcu_struct *domain, const char *name);
/* End the program if @domain, which is listed, has been overwritten. */
static inline void srcu_must_be_intact(const struct srcu *all, const struct srcu_struct *domain)
{
    if (domain->slot != &all->slots[(domain->key >> 1) % SRCU_SLOTS].word)
        plat_die("rtrcu: the domain at %p has been overwritten: its memory was freed or used for something else before"
                 " cleanup_srcu_struct()\n",
                 (const void *)domain);
}
/* End the program if @domain is not initialised, has been destroyed, or was copied. */
void srcu_must_be_initialised(const struct srcu_struct *domain, const char *call);
/* Destroy a domain.  Returns 0; -EBUSY: it is in use, and unchanged; -EINVAL: it is not listed. */
int srcu_domain_destroy(struct srcu *all, struct srcu_struct *domain);
/* Remove @domain from the list, whatever its state: the object that contains it is unloaded, or the process ends. */
void srcu_domain_forget(struct srcu *all, struct srcu_struct *domain);
void srcu_before_fork(struct srcu *all);
void srcu_after_fork_parent(struct srcu *all);
/* In a fork's child: no section, grace period or callback of the parent survives. */
void srcu_after_fork_child(struct srcu *all, struct plat_tid old_thread_id);
/* Called by an unlock whose index no section of this process can have: it is from before a fork, or it is wrong, which
 * is reported. */
void srcu_stale(struct srcu *all, const struct srcu_struct *domain, int index);

/* ---- counts: count.c ---- */

/* Both indexes, as bits. */
#define SRCU_BOTH 3u
/* Number of open sections; approximate while sections begin and end. */
uint64_t srcu_inside(const struct srcu_struct *domain);
/* Have all sections of @indexes ended, as far as unfenced sums show? */
bool srcu_looks_drained(const struct srcu_struct *domain, uint32_t indexes);
/* Have all sections of @indexes ended that began before the call?  Under the lock. */
bool srcu_is_drained(struct srcu_struct *domain, uint32_t indexes);
/* Called by a contended reader on @cpu.  If such a reader was seen on a different CPU before, give the domain an array
 * of stripes. */
void srcu_sample(const struct srcu *all, struct srcu_struct *domain, uint32_t cpu);

/* ---- grace periods: period.c ---- */

/* Value: the stage of a domain after a step, and the index that it waits for. */
struct srcu_look {
    uint32_t stage;
    uint32_t index;
};

uint64_t srcu_snap(const struct srcu_struct *domain);
bool srcu_reached(const struct srcu_struct *domain, uint64_t cookie);
/* Request the gp of @cookie. */
void srcu_want(struct srcu_struct *domain, uint64_t cookie);
/* Advance the gp as far as readers permit, and wake waiters after a transition.  Never waits for readers. */
struct srcu_look srcu_step(struct srcu_struct *domain);

/* Wake the waiters, for an unlock that has found its own key in the slot.  Async-signal-safe. */
void srcu_wake(uint32_t *slot, uint32_t announced);

/* ---- waiters: wait.c ---- */

/* Wait until the gp of @cookie has ended. */
void srcu_wait(struct srcu *all, struct srcu_struct *domain, uint64_t cookie);
/* Report the gp if it is too old. */
void srcu_report_if_old(struct srcu *all, struct srcu_struct *domain);

/* ---- code built with RTRCU_DEBUG: note.c ---- */

/* Record a section that has begun at @place; @stays: its thread must end it. */
void srcu_note_lock(struct srcu *all, struct srcu_struct *domain, int index, uintptr_t place, bool stays);
/* Remove the record of a section; ends the program if no such section is open. */
void srcu_note_unlock(struct srcu *all, struct srcu_struct *domain, int index, uintptr_t place);
/* Checked builds end the program if the calling thread is in a section of @domain, for which @call waits. */
void srcu_note_wait(struct srcu *all, const struct srcu_struct *domain, const char *call);
/* Print the sections of @domain. */
void srcu_note_report(struct srcu *all, const struct srcu_struct *domain);

/* ---- callbacks: callback.c ---- */

/* Queue @head with its function.  Wait-free.  True: the worker must be notified. */
bool srcu_call(struct srcu *all, struct srcu_struct *domain, struct rcu_head *head);
/* Number of callbacks that have not returned. */
uint64_t srcu_pending(const struct srcu_struct *domain);
/* Make callbacks whose gp has ended ready, and collect the inbox.  True: the caller is now the runner, and must call
 * srcu_run(). */
bool srcu_collect(struct srcu_struct *domain);
/* Run a batch of ready callbacks, with no lock held.  False: no callback ran, since the producer of the first callback
 * has not finished its link. */
bool srcu_run(struct srcu *all, struct srcu_struct *domain);

/* A callback that srcu_barrier() queues and waits for; it is on the caller's stack. */
struct srcu_marker {
    struct rcu_head head;
    uint32_t is_done; /* atomic: stored by the runner as its last access to the marker */
};
void srcu_marker_queue(struct srcu_struct *domain, struct srcu_marker *marker);
static inline bool srcu_marker_is_done(const struct srcu_marker *marker)
{
    return rtrcu_load_acquire(&marker->is_done);
}
/* Is a thread inside a callback of a domain? */
bool srcu_is_invoking(void *all);
/* Does the calling thread run callbacks of @domain? */
bool srcu_runner_is_me(struct srcu_struct *domain);

/* ---- the worker: worker.c ---- */

/* Make the worker look for work; create it if it does not exist.  False: no thread can be created now. */
bool srcu_notify(struct srcu *all);
/* Wake the worker, if it runs; a deadline thread may call this too. */
static inline void srcu_wake_worker(struct srcu *all)
{
    if (work_thread_runs(&all->thread))
        work_thread_wake(&all->thread);
}
/* Report once that no thread runs callbacks of domains. */
void srcu_report_no_worker(struct srcu *all);
/* Wait until every callback that was queued to @domain before the call has returned. */
void srcu_wait_for_callbacks(struct srcu *all, struct srcu_struct *domain);

#endif
