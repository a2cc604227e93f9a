/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Advancing grace periods: the steps, taken by the driver and by threads that wait; the heavy fence; expedited grace
 * periods; boosting the readers that hold up a grace period.
 *
 * Knows: the machine, threads of the library.  Must not know: the threads that serve callbacks, other tasks of drivers.
 *
 * Locks: each machine's gp lock, held for one step; it guards the state that the next step needs.
 */
#ifndef RTRCU_TURN_TURN_H
#define RTRCU_TURN_TURN_H

#include "work/work.h"

struct serve;
struct turn;

/* The thread that boosts readers now, at most one, and what the nudging worker knows about it.  Under the nudging
 * worker's lock. */
struct turn_boosting {
    struct plat_tid booster; /* PLAT_NOBODY = no thread boosts */
    int32_t priority;        /* atomic: the highest priority lent to readers since the nudger woke */
    int64_t nap_ns;          /* the nudger polls again after this time, 0 = only a wake-up ends its sleep */
    uint32_t cpu;            /* atomic: CPU on which the booster began to wait, for kernels that do not report where
                                it runs */
    const uint32_t *cpu_at;  /* address of the booster's current CPU number, NULL = no thread boosts */
};

/* This room's part of one thread's slot. */
struct turn_slot {
    uint32_t booster;       /* atomic: id of the thread that boosts the owner now, 0 = none */
    uint64_t boosted_gp;    /* atomic: the grace period to which boosted_ns belongs; written by the booster */
    int64_t boosted_ns;     /* atomic: how long the owner was boosted in that grace period; written by the booster */
    int64_t sampled_cpu_ns; /* CPU time that the thread had used at the last sample; under the leaf lock */
    uint32_t boosts_of;     /* atomic: the thread whose boosts are counted below; written by the booster */
    uint32_t boosts;        /* atomic: number of times that thread was boosted; written by the booster */
};

struct turn_leaf {
    struct turn_slot slot[READER_FANOUT];
};

/* Number of times that the owner of @record, the calling thread, was boosted. */
uint64_t turn_boosts_of(const struct reader_record *record);

void turn_leaf_init(struct turn_leaf *part, struct reader_leaf *leaf);

static inline struct turn_slot *turn_slot(const struct reader_record *record)
{
    struct turn_leaf *part = (struct turn_leaf *)reader_part(reader_leaf_of(record), READER_TURN);
    return &part->slot[reader_slot(record)];
}

/* One kind of grace period: its machine, and the threads that wait for its end and advance it. */
struct gp_state {
    struct turn *turn;
    struct gp *gp;
    enum gp_kind kind;
    uint32_t event;        /* atomic: futex: counts wake-ups and releases of the gp lock */
    struct tally sleeping; /* threads that sleep on event or are about to */
    struct counter slept, by_caller, unfenced;
    /* State for the next step; under the gp lock. */
    bool unscanned;          /* begun but not scanned yet; lasts only while no fence is available */
    bool fenced;             /* the scan followed a heavy fence */
    bool requested;          /* the holdouts have been requested to report */
    struct plat_tid poller;  /* the thread that polls once per tick, none = no thread has had to wait */
    int64_t report_ns;       /* age at which the next stall report is due */
    uint32_t tasks_notified; /* gp_tasks_came() at the last notification of the handler */
};

/* Threads that wait for expedited grace periods, indexed by the sequence number at the end, modulo 4. */
struct turn_exp_waiters {
    uint32_t ended[4]; /* atomic: futex: counts ends */
    struct tally waiters[4];
    uint32_t priority[4]; /* atomic: the highest priority among the waiters */
    uint64_t notified;    /* atomic: the worker has been woken for numbers up to this one; see expedited.c */
};

struct turn {
    const struct config *config;
    struct reader_registry *registry;
    struct gp *gp;
    struct watch *watch;
    struct work *work;
    struct serve *serve;         /* constant: passed to turn_options.serve */
    uint32_t gp_lock_releases;   /* atomic: futex: counts releases of the normal gp lock while threads wait for a
                                    release */
    struct tally driver_waiters; /* callers that sleep on gp_lock_releases, or are about to */
    struct gp_state gp_state[GP_KINDS] __attribute__((aligned(BASE_CACHE_LINE)));
    struct turn_exp_waiters exp_waiters;
    struct turn_boosting boosting;
    struct counter boosts, boost_ns, boost_refused, boost_given_up;
    uint64_t boost_ns_max;    /* atomic */
    int64_t boost_limit_ns;   /* constant: limit on the boost of one reader in one grace period */
    uint32_t booster_is_left; /* atomic: a caller was refused the boost worker, and leaves its creation to the driver */
    struct counter fence_refused;
};

/* Fields that this room shows to other processes, for a struct turn at @at of @type. */
#define TURN_INSPECT(type, at)                                                                                         \
    INSPECT_ARRAY("drive.turning", type, at.gp_state), INSPECT_FIELD("turning.sleeping", struct gp_state, sleeping),   \
        INSPECT_FIELD("turning.slept", struct gp_state, slept),                                                        \
        INSPECT_FIELD("turning.by_caller", struct gp_state, by_caller),                                                \
        INSPECT_FIELD("turning.unfenced", struct gp_state, unfenced), INSPECT_FIELD("drive.boosts", type, at.boosts),  \
        INSPECT_FIELD("drive.boost_ns", type, at.boost_ns),                                                            \
        INSPECT_FIELD("drive.boost_ns_max", type, at.boost_ns_max),                                                    \
        INSPECT_FIELD("drive.boost_refused", type, at.boost_refused),                                                  \
        INSPECT_FIELD("drive.boost_given_up", type, at.boost_given_up),                                                \
        INSPECT_FIELD("drive.fence_refused", type, at.fence_refused),                                                  \
        INSPECT_ARRAY("turn.slot", struct turn_leaf, slot),                                                            \
        INSPECT_FIELD("turn_slot.boosts_of", struct turn_slot, boosts_of),                                             \
        INSPECT_FIELD("turn_slot.boosts", struct turn_slot, boosts)

/* ---- initialisation, fork, counters: init.c ---- */

void turn_init(struct turn *turn, const struct config *config, struct gp *gp, struct watch *watch, struct work *work,
               struct serve *serve);
/* In a fork's child: no thread waits, boosts or is boosted; an unfinished grace period restarts. */
void turn_after_fork_child(struct turn *turn);
/* In a torn child whose thread may be waiting for an expedited grace period: end the wait. */
void turn_end_waits(struct turn *turn);
void turn_stats(const struct turn *turn, struct rtrcu_stats *stats);

static inline struct gp_state *turn_gp_state(struct turn *turn, enum gp_kind kind)
{
    return &turn->gp_state[kind];
}
/* Carry out the actions that a lower room returned.  A deadline thread wakes no thread. */
void turn_perform(struct turn *turn, enum gp_actions actions);

/* ---- the machine ---- */

static inline struct lock *turn_gp_lock_of(struct gp_state *gp_state)
{
    return gp_lock_of(gp_state->gp, gp_state->kind);
}
static inline uint64_t turn_seq(const struct gp_state *gp_state)
{
    return gp_seq(gp_state->gp, gp_state->kind);
}
static inline bool turn_has_reached(const struct gp_state *gp_state, uint64_t cookie)
{
    return gp_reached(gp_state->gp, gp_state->kind, cookie);
}
static inline bool turn_is_needed(const struct gp_state *gp_state)
{
    return gp_is_needed(gp_state->gp, gp_state->kind);
}
static inline bool turn_is_running(const struct gp_state *gp_state)
{
    return gp_is_running(gp_state->gp, gp_state->kind);
}
static inline bool turn_is_clear(const struct gp_state *gp_state)
{
    return gp_is_clear(gp_state->gp, gp_state->kind);
}
static inline int64_t turn_began_ns(const struct gp_state *gp_state)
{
    return gp_began_ns(gp_state->gp, gp_state->kind);
}

/* ---- one grace period: turn.c ---- */

void turn_gp_state_init(struct gp_state *gp_state, struct turn *turn, enum gp_kind kind);

/* Wait until the grace period of @cookie has passed; take each step that no other thread takes. */
void turn_synchronize(struct gp_state *gp_state, uint64_t cookie);
/* Value: how the calling thread waits for readers while it advances a grace period. */
struct turn_options {
    bool never_spins;  /* polls once per tick */
    bool never_sleeps; /* requests reports immediately, then polls */
    bool by_caller;    /* counted as advanced by a caller */
    /* Called once per tick between steps, NULL = nothing to do.  True: stop waiting for the readers. */
    bool (*serve)(struct serve *serve);
};
/* Complete the grace period of @cookie immediately if no reader is inside and the gp lock is free.  False: the grace
 * period must be advanced step by step. */
bool turn_try_immediate(struct gp_state *gp_state, uint64_t cookie);
/* Under the gp lock: begin and spin for a moment, or poll the grace period in progress.  True if it has ended. */
bool turn_first(struct gp_state *gp_state);
/* Complete the needed grace periods, beginning at most one. */
void turn_if_needed(struct gp_state *gp_state, const struct turn_options *options);
/* Take the gp lock and boost its holder meanwhile.  The caller counts as asleep in the library. */
void turn_gp_lock(struct gp_state *gp_state);
/* Release the gp lock, and wake the threads that sleep until it is free. */
void turn_gp_unlock(struct gp_state *gp_state);
/* Take one step if the gp lock is free: begin a needed grace period, or poll the one in progress.  Never waits. True if
 * a grace period ended. */
bool turn_step(struct gp_state *gp_state);

/* In a fork's child: no thread waits; an unfinished grace period restarts. */
void turn_gp_state_after_fork_child(struct gp_state *gp_state);

/* ---- the heavy fence: fence.c ---- */

/* Issue a heavy fence by any means that still works.  False: none works now; try again later. */
bool turn_fence(struct turn *turn);

/* ---- expedited grace periods: expedited.c ---- */

/* Wait for the expedited grace period of @cookie: the caller takes the first step, the worker the others. */
void turn_synchronize_expedited(struct turn *turn, uint64_t cookie);
/* turn_expedited_prepare() creates the worker and the threads that boost, so that the first wait need not create them;
 * called by a real-time thread.  turn_start_expedited() requests the grace period of @cookie and does not wait. */
void turn_expedited_prepare(struct turn *turn);
void turn_start_expedited(struct turn *turn, uint64_t cookie);
/* Is an expedited grace period requested that no thread will advance, since no worker exists or the worker was not
 * woken? */
bool turn_expedited_is_left(struct turn *turn);
/* If turn_expedited_is_left(): start the worker and wake it.  If no worker can be created, the calling thread advances
 * instead: the driver to the end, any other thread by one step; @serve as in turn_options. */
void turn_expedited_serve(struct turn *turn, bool (*serve)(struct serve *serve));

/* ---- threads that wait for expedited grace periods: exp_waiters.c ---- */

/* An expedited grace period has ended: wake the threads that wait for its number. */
void turn_expedited_done(struct turn *turn);
/* Wait until another thread has completed the grace period of @cookie. */
void turn_expedited_wait(struct turn *turn, uint64_t cookie);
/* Record that a thread of @priority waits for the grace period of @cookie. */
void turn_expedited_raise(struct turn *turn, uint64_t cookie, uint32_t priority);
/* At initialisation and in a fork's child: no thread waits. */
void turn_exp_waiters_init(struct turn *turn);
/* The priority at which expedited grace periods must be advanced now: the worker's own, or the highest among the
 * waiters; 0 = ordinary. */
int turn_expedited_priority(struct turn *turn);
extern const struct work_job turn_job_expedited;

/* ---- boosting: boost.c ---- */

/* Is this grace period old enough to boost its holdouts? */
bool turn_boost_is_due(struct gp_state *gp_state);
/* Have the boost worker boost the holdouts that do not run, for about a tick.  Does not wait. */
void turn_boost(struct gp_state *gp_state);
/* By the driver, in each pass: create the boost worker for a caller that was refused it. */
void turn_boost_serve(struct turn *turn);
/* turn_helper_priority() is the initial priority of a helper of expedited grace periods whose creator has priority
 * @creator. turn_boost_here(): if the calling thread is real-time and no lower than the boost worker, boost the
 * holdouts to its own priority, each for at most one slice.  False: not permitted, another thread boosts, or a slice
 * ran out, so the worker is needed. */
int turn_helper_priority(const struct rtrcu_config *config, int creator);
bool turn_boost_here(struct gp_state *gp_state);
extern const struct work_job turn_job_boost, turn_job_nudge;

#endif
