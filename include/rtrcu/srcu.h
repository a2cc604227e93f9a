/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sleepable RCU: domains that a program defines, whose readers may sleep and delay only their own domain.
 *
 * Names and meanings are the Linux kernel's if it has them.  A section is counted on a cache line chosen by CPU number:
 * no registration, no thread-local state, no interrupt of other CPUs.
 */
#include <rtrcu/rcu.h> /* first, since it may define this header's guard */

#ifndef RTRCU_SRCU_H
#define RTRCU_SRCU_H

#include <rtrcu/detail/cpu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counters of one CPU, by index.  A section may end on a different stripe than it began on, so only sums are
 * meaningful.  @room srcu */
struct rtrcu_srcu_stripe {
    uint64_t locks[2];   /* atomic: sections begun */
    uint64_t unlocks[2]; /* atomic: sections ended */
} __attribute__((aligned(64)));

#define RTRCU_SRCU_STRIPES_MAX 64
/* srcu_read_lock() checks for contention when these low bits of a stripe's count are all set. */
#ifdef RTRCU_DEBUG
#define RTRCU_SRCU_SAMPLE UINT64_C(1)
#else
#define RTRCU_SRCU_SAMPLE UINT64_C(1023)
#endif

/* A domain; DEFINE_SRCU() or init_srcu_struct() initialises it.  @room srcu */
struct srcu_struct {
    uintptr_t stripes; /* atomic: address of the stripes + number of stripes - 1; changes once, to an array */
    uint32_t *slot;    /* constant: word in the library in which waiters of this domain store @key and an index */
    uint32_t
        current; /* atomic: bit 0: index for sections that begin; bits above: number of forks; written under the lock */
    uint32_t key; /* constant: the domain's number, shifted by one; with an index, the value that waiters announce */
    uint32_t sampled;         /* atomic: 1 + the CPU of the first contended reader, 0 = none yet */
    const char *name;         /* constant */
    struct srcu_struct *next; /* next on the list of domains; under the lock of that list */
    uint64_t first[16];       /* contains the first stripe, on a cache line of its own */
    uint64_t inner[64];       /* memory of the library's struct srcu_inner */
};

void rtrcu_srcu_define(struct srcu_struct *domain, const char *name);
void rtrcu_srcu_forget(struct srcu_struct *domain);
int rtrcu_srcu_init(struct srcu_struct *domain, const char *name);
int rtrcu_srcu_cleanup(struct srcu_struct *domain);
void rtrcu_srcu_sample(struct srcu_struct *domain);
void rtrcu_srcu_must_have_begun(const struct srcu_struct *domain, const char *call);
void rtrcu_srcu_note_lock(struct srcu_struct *domain, int index, bool stays);
void rtrcu_srcu_note_unlock(struct srcu_struct *domain, int index);
void rtrcu_srcu_stale(const struct srcu_struct *domain, int index);
void rtrcu_srcu_wake(uint32_t *slot, uint32_t announced);
void rtrcu_srcu_synchronize(struct srcu_struct *domain);
uint64_t rtrcu_srcu_get_state(struct srcu_struct *domain);
uint64_t rtrcu_srcu_start_poll(struct srcu_struct *domain);
bool rtrcu_srcu_poll_state(struct srcu_struct *domain, uint64_t cookie);
void rtrcu_srcu_call(struct srcu_struct *domain, struct rcu_head *head, rcu_callback_t func);
void rtrcu_srcu_barrier(struct srcu_struct *domain);
/* Number of callbacks that have not returned; for the destruction of domains in other languages. */
uint64_t rtrcu_srcu_pending(const struct srcu_struct *domain);
/* Out-of-line versions of the inline functions below, for languages without C's inline functions. */
int rtrcu_srcu_read_lock(struct srcu_struct *domain);
void rtrcu_srcu_read_unlock(struct srcu_struct *domain, int index);

/* ---- domains ----------------------------------------------------------------------------------------------------- */

/*
 * init_srcu_struct - initialise a domain, whose memory must not move.
 * Context:  any thread, not in signal handlers.
 * Blocks:   briefly, for a lock.  The first call creates the worker, a thread that serves all domains.
 * Ordering: none; the program publishes the domain.
 * Returns:  0; -EBUSY: the domain is initialised already, which is reported, and nothing is changed.  Where no thread
 *           can be created, callers of srcu_barrier() run the callbacks.
 */
#define init_srcu_struct(domain) rtrcu_srcu_init((domain), #domain)

/*
 * cleanup_srcu_struct - destroy a domain; the program may use its memory again.
 * Context:  any thread, not in signal handlers, once no section, callback or call uses the domain.
 * Blocks:   briefly, for a lock.
 * Ordering: as synchronize_srcu() for the sections that have ended.
 * Returns:  0; -EBUSY: the domain is in use; -EINVAL: it is not initialised, or has been destroyed.  Both are reported,
 *           and change nothing.
 */
static inline int cleanup_srcu_struct(struct srcu_struct *domain)
{
    return rtrcu_srcu_cleanup(domain);
}

/* Define a domain at file scope, for the whole program or for one file.  It is initialised before ordinary constructors
 * of the object that contains it.  Before that object is unloaded, no section, callback or call may use the domain. */
#define DEFINE_SRCU(name) RTRCU_SRCU_DEFINE(, name)
#define DEFINE_STATIC_SRCU(name) RTRCU_SRCU_DEFINE(static, name)
#define RTRCU_SRCU_DEFINE(scope, name)                                                                                 \
    scope struct srcu_struct name;                                                                                     \
    static __attribute__((constructor(102))) void name##_srcu_begin(void)                                              \
    {                                                                                                                  \
        rtrcu_srcu_define(&(name), #name);                                                                             \
    }                                                                                                                  \
    static __attribute__((destructor(102))) void name##_srcu_end(void)                                                 \
    {                                                                                                                  \
        rtrcu_srcu_forget(&(name));                                                                                    \
    }                                                                                                                  \
    enum { name##_srcu_is_defined }

/* ---- sections ---------------------------------------------------------------------------------------------------- */

/* The counters that the caller uses.
 * [O35] Reader's half; the growing half is srcu_grow(). */
static inline struct rtrcu_srcu_stripe *rtrcu_srcu_own_stripe(const struct srcu_struct *domain)
{
    uintptr_t stripes = rtrcu_load_acquire(&domain->stripes), last = RTRCU_SRCU_STRIPES_MAX - 1;
    return (struct rtrcu_srcu_stripe *)(stripes & ~last) + (rtrcu_cpu_hint() & stripes & last);
}

/* Count a section as begun; rtrcu_srcu_leave() counts it as ended. */
static inline __attribute__((always_inline)) int rtrcu_srcu_enter(struct srcu_struct *domain)
{
    uint32_t current = rtrcu_load_relaxed(&domain->current);
    /* [O32] Reader's half; the other half is sums_are_equal(). */
    uint64_t before = rtrcu_fetch_add(&rtrcu_srcu_own_stripe(domain)->locks[current & 1], 1);
    if (__builtin_expect((before & RTRCU_SRCU_SAMPLE) == RTRCU_SRCU_SAMPLE, 0))
        rtrcu_srcu_sample(domain);
    return (int)current;
}
static inline __attribute__((always_inline)) void rtrcu_srcu_leave(struct srcu_struct *domain, int index)
{
    uint32_t *slot = domain->slot, announced = domain->key | ((uint32_t)index & 1);
    if (__builtin_expect(((uint32_t)index ^ rtrcu_load_relaxed(&domain->current)) > 1, 0)) {
        rtrcu_srcu_stale(domain, index);
        return;
    }

    rtrcu_fetch_add(&rtrcu_srcu_own_stripe(domain)->unlocks[index & 1], 1); /* [O33] sums_are_equal() */
    if (__builtin_expect(rtrcu_load_relaxed(slot) == announced, 0))         /* [O34] sleep_until_over() */
        rtrcu_srcu_wake(slot, announced);
}

#ifdef RTRCU_DEBUG
#define RTRCU_SRCU_CHECK(domain, call) rtrcu_srcu_must_have_begun(domain, call)
#else
#define RTRCU_SRCU_CHECK(domain, call) ((void)0)
#endif

/*
 * srcu_read_lock - begin a section of @domain, which may sleep and may last.
 * Context:  any thread, registered or not; signal handlers.  Sections nest, overlap, and end in any order.
 * Blocks:   never.  Wait-free; one atomic addition.  The first contended reader of a domain maps a page.
 * Ordering: a full fence; a section that begins after a gp began sees everything published before that gp began. [O32]
 * Returns:  the index to be passed to srcu_read_unlock().
 */
static inline __attribute__((always_inline)) int srcu_read_lock(struct srcu_struct *domain)
{
    int index;
    RTRCU_SRCU_CHECK(domain, "srcu_read_lock");
    index = rtrcu_srcu_enter(domain);
#ifdef RTRCU_DEBUG
    rtrcu_srcu_note_lock(domain, index, true);
#endif
    return index;
}

/*
 * srcu_read_unlock - end a section of @domain.
 * Context:  any thread to which the index was passed with synchronization; signal handlers.
 * Blocks:   never.  One atomic addition; wakes a thread that waits for the section.  Once the section has ended, memory
 *           of the domain is not touched.  errno is kept.
 * Ordering: a full fence; every access of the section happens before the end of a gp that waited for it. [O33]
 * Returns:  nothing.  The index of a section that began before fork() has no effect in the child.  A wrong index is
 *           reported; with RTRCU_DEBUG an unlock that ends no section ends the program.
 */
static inline __attribute__((always_inline)) void srcu_read_unlock(struct srcu_struct *domain, int index)
{
#ifdef RTRCU_DEBUG
    rtrcu_srcu_note_unlock(domain, index);
#endif
    rtrcu_srcu_leave(domain, index);
}

/* Like srcu_read_lock() and srcu_read_unlock(), for a section that another thread may end.  The thread that began the
 * section may wait for the section's end. */
static inline __attribute__((always_inline)) int srcu_down_read(struct srcu_struct *domain)
{
    int index;
    RTRCU_SRCU_CHECK(domain, "srcu_down_read");
    index = rtrcu_srcu_enter(domain);
#ifdef RTRCU_DEBUG
    rtrcu_srcu_note_lock(domain, index, false);
#endif
    return index;
}
static inline __attribute__((always_inline)) void srcu_up_read(struct srcu_struct *domain, int index)
{
    srcu_read_unlock(domain, index);
}

/* rcu_dereference() for a pointer that @domain protects. */
#define srcu_dereference(p, domain) ((void)(domain), rcu_dereference(p))

/* ---- waiting for a grace period ---------------------------------------------------------------------------------- */

/*
 * synchronize_srcu - wait until every section of @domain that began before the call has ended.
 * Context:  any thread outside sections of @domain; not in signal handlers.  A quiescent-state thread is offline while
 *           it waits.
 * Blocks:   as long as those sections last; sections of other domains do not matter.
 * Ordering: full fence before and after; a gp's usual guarantee. [O32][O33]
 * Returns:  nothing; cannot fail.  Inside a section of @domain it never returns, and the stall report names the domain;
 *           checked builds end the program if the section's code was built with RTRCU_DEBUG.
 */
static inline void synchronize_srcu(struct srcu_struct *domain)
{
    rtrcu_srcu_synchronize(domain);
}
/* The same as synchronize_srcu(), whose gp begins immediately anyway. */
static inline void synchronize_srcu_expedited(struct srcu_struct *domain)
{
    rtrcu_srcu_synchronize(domain);
}

/* Both functions return a cookie for "a full gp of @domain from now"; lock-free.  start_poll_synchronize_srcu() also
 * requests that gp, and may create the worker. */
static inline unsigned long get_state_synchronize_srcu(struct srcu_struct *domain)
{
    return rtrcu_srcu_get_state(domain);
}
static inline unsigned long start_poll_synchronize_srcu(struct srcu_struct *domain)
{
    return rtrcu_srcu_start_poll(domain);
}
/* Has the gp of @cookie ended?  Never waits.  True orders like the return of synchronize_srcu(). */
static inline bool poll_state_synchronize_srcu(struct srcu_struct *domain, unsigned long cookie)
{
    return rtrcu_srcu_poll_state(domain, cookie);
}

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

/*
 * call_srcu - run @func(@head) after a grace period of @domain, on the worker.
 * Context:  any thread, inside a section or not; in a signal handler only after init_srcu_struct(), or a call_srcu()
 *           outside of handlers, has created the worker.
 * Blocks:   never; wait-free, without lock or allocation.  A deadline thread makes no system call if there is a worker.
 * Ordering: stores before the call are visible to @func; @func runs after every section that began before it. [O5]
 * Returns:  nothing; cannot fail.  @head belongs to the library until @func starts; checked builds end the program if
 *           it is queued already.  A null @func is refused with a message, and nothing is queued.  @func must not throw
 *           nor end its thread, and delays callbacks of all domains while it runs.
 */
static inline void call_srcu(struct srcu_struct *domain, struct rcu_head *head, rcu_callback_t func)
{
    rtrcu_srcu_call(domain, head, func);
}

/*
 * srcu_barrier - wait until every callback of @domain that was queued before the call, by any thread, has returned.
 * Context:  any thread outside sections and callbacks of @domain; not in signal handlers.  Inside such a callback the
 *           call would wait for itself, so it ends the program with a message.
 * Blocks:   yes.  Callbacks queued meanwhile do not prolong it.
 * Ordering: the effects of those callbacks are visible to the caller. [O5]
 * Returns:  nothing; cannot fail.  If no other call uses the domain, cleanup_srcu_struct() may follow.
 */
static inline void srcu_barrier(struct srcu_struct *domain)
{
    rtrcu_srcu_barrier(domain);
}

#ifdef __cplusplus
}
#endif

#endif
