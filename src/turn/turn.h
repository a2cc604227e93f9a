/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Turning a grace period: its steps, by the driver and by threads that wait; the fence; expedited ones; boosting
 * readers that are in its way.
 *
 * Knows: the machine, threads of the library.  Must not know: who serves callbacks, and what drivers do beside it.
 *
 * Locks: a machine's crank, held for a step; it guards what the next step needs to know.
 */
#ifndef RTRCU_TURN_TURN_H
#define RTRCU_TURN_TURN_H

#include "work/work.h"

struct serve;
struct turn;

/* The thread that boosts readers now: one at a time, which the nudger looks after.  Under the nudger's lock. */
struct turn_boosting {
    struct plat_tid booster; /* nobody = nobody boosts */
    int32_t priority;        /* atomic: the highest to which readers were boosted since the nudger awoke */
    int64_t nap_ns;          /* the nudger looks again after so long, 0 = it has to be woken */
    uint32_t cpu;            /* atomic: where the booster began to wait, if the kernel does not tell where it runs */
    const uint32_t *cpu_at;  /* where its CPU number is to be read, NULL = nobody boosts */
};

/* What this room keeps of one thread. */
struct turn_slot {
    uint32_t booster;       /* atomic: thread id of the one thread that boosts its owner now, 0 = nobody */
    uint64_t boosted_gp;    /* atomic: grace period that boosted_ns belongs to; written by the booster */
    int64_t boosted_ns;     /* atomic: for how long it was boosted in it; likewise */
    int64_t sampled_cpu_ns; /* CPU time that the thread had used at the last first look; under the leaf lock */
};

struct turn_leaf {
    struct turn_slot slot[READER_FANOUT];
};

void turn_leaf_init(struct turn_leaf *part, struct reader_leaf *leaf);

static inline struct turn_slot *turn_slot(const struct reader_record *record)
{
    struct turn_leaf *part = (struct turn_leaf *)reader_part(reader_leaf_of(record), READER_TURN);
    return &part->slot[reader_slot(record)];
}

/* One kind of grace period: its machine, and the threads that wait for its end and turn it meanwhile. */
struct gp_state {
    struct turn *turn;
    struct gp *gp;
    enum gp_kind kind;
    uint32_t event;        /* atomic: futex: counts wake-ups and releases of the crank */
    struct tally sleeping; /* how many sleep on it or are about to */
    struct counter slept, by_caller, unfenced;
    /* What the next step needs to know; under the crank. */
    bool unscanned;          /* begun, and not scanned yet: for some time where no fence is to be had */
    bool fenced;             /* its scan came behind a heavy fence */
    bool requested;          /* those in the way have been asked to report */
    struct plat_tid poller;  /* the thread that looks once a tick, nobody = nobody has had to wait */
    int64_t report_ns;       /* age at which it is reported next */
    uint32_t tasks_notified; /* arrivals of tasks that the handler was told of */
};

/* The threads that wait for expedited grace periods, by the number of the end modulo 4; exp_waiters.c. */
struct turn_exp_waiters {
    uint32_t ended[4]; /* atomic: futex: counts ends */
    struct tally waiters[4];
    uint32_t priority[4]; /* atomic: the highest that waits */
    uint64_t notified;    /* atomic: the worker was woken for the numbers up to this; see expedited.c */
};

struct turn {
    const struct config *config;
    struct reader_registry *registry;
    struct gp *gp;
    struct watch *watch;
    struct work *work;
    struct serve *serve;         /* constant: for turn_options.serve */
    uint32_t gp_lock_releases;   /* atomic: futex: counts releases of the normal crank while some wait for it */
    struct tally driver_waiters; /* callers that leave it to the driver */
    struct gp_state gp_state[GP_KINDS] __attribute__((aligned(BASE_CACHE_LINE)));
    struct turn_exp_waiters exp_waiters;
    struct turn_boosting boosting;
    struct counter boosts, boost_ns, boost_refused, boost_given_up;
    uint64_t boost_ns_max;  /* atomic */
    int64_t boost_limit_ns; /* constant: at most so long one reader is boosted in one grace period */
    struct counter fence_refused;
};

/* What this room tells other processes, where it lies in @type as @at. */
#define TURN_INSPECT(type, at)                                                                                         \
    INSPECT_ARRAY("drive.turning", type, at.gp_state), INSPECT_FIELD("turning.sleeping", struct gp_state, sleeping),   \
        INSPECT_FIELD("turning.slept", struct gp_state, slept),                                                        \
        INSPECT_FIELD("turning.by_caller", struct gp_state, by_caller),                                                \
        INSPECT_FIELD("turning.unfenced", struct gp_state, unfenced), INSPECT_FIELD("drive.boosts", type, at.boosts),  \
        INSPECT_FIELD("drive.boost_ns", type, at.boost_ns),                                                            \
        INSPECT_FIELD("drive.boost_ns_max", type, at.boost_ns_max),                                                    \
        INSPECT_FIELD("drive.boost_refused", type, at.boost_refused),                                                  \
        INSPECT_FIELD("drive.boost_given_up", type, at.boost_given_up),                                                \
        INSPECT_FIELD("drive.fence_refused", type, at.fence_refused)

/* ---- the beginning, fork, counters: init.c ---- */

void turn_init(struct turn *turn, const struct config *config, struct gp *gp, struct watch *watch, struct work *work,
               struct serve *serve);
/* In a fork's child nobody waits, boosts or is boosted, and what was under way begins again. */
void turn_after_fork_child(struct turn *turn);
/* In a torn child, whose thread may wait: its wait ends. */
void turn_end_waits(struct turn *turn);
void turn_stats(const struct turn *turn, struct rtrcu_stats *stats);

static inline struct gp_state *turn_gp_state(struct turn *turn, enum gp_kind kind)
{
    return &turn->gp_state[kind];
}
/* Do what a call of a lower room returned.  A deadline thread wakes nobody. */
void turn_perform(struct turn *turn, enum gp_actions actions);

/* ---- its machine ---- */

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

/* Wait until the grace period of @cookie has passed; take every step of it that nobody else takes. */
void turn_synchronize(struct gp_state *gp_state, uint64_t cookie);
/* Value: how the calling thread waits for readers while it turns. */
struct turn_options {
    bool never_spins;  /* looks once a tick */
    bool never_sleeps; /* asks at once and polls */
    bool by_caller;    /* counted */
    /* What it does once a tick between its steps, NULL = nothing.  True: it need not wait for the readers any more. */
    bool (*serve)(struct serve *serve);
};
/* The grace period of @cookie, at once, where nobody reads and nobody turns the crank.  False: it has to be turned. */
bool turn_try_immediate(struct gp_state *gp_state, uint64_t cookie);
/* Under the crank: begin and watch for a moment, or look again at what is under way.  True if it has ended. */
bool turn_first(struct gp_state *gp_state);
/* See what is needed to its end, at most one grace period that is not under way yet. */
void turn_if_needed(struct gp_state *gp_state, const struct turn_options *options);
/* Take the crank, whose holder is boosted.  Away meanwhile. */
void turn_gp_lock(struct gp_state *gp_state);
/* By the holder of a crank that does not go on with the grace period: others may sleep until the crank is free. */
void turn_gp_unlock(struct gp_state *gp_state);
/* One step, if the crank is free: begin a grace period that is needed, or look at the one under way.  Waits for nobody.
 * True if one ended. */
bool turn_step(struct gp_state *gp_state);

/* In a fork's child nobody waits, and what was under way begins again. */
void turn_gp_state_after_fork_child(struct gp_state *gp_state);

/* ---- the heavy fence: fence.c ---- */

/* A heavy fence, by whatever still works; false: none does, try again later. */
bool turn_fence(struct turn *turn);

/* ---- expedited grace periods: expedited.c ---- */

/* Wait for the expedited grace period of @cookie: the caller turns its first step, a worker the rest. */
void turn_synchronize_expedited(struct turn *turn, uint64_t cookie);
/* Have it happen; does not wait. */
void turn_start_expedited(struct turn *turn, uint64_t cookie);
/* Is one asked for that nobody turns: there is no worker, or it was not told? */
bool turn_expedited_is_left(struct turn *turn);
/* If so: make the worker and tell it; or turn it here, to its end if the calling thread is the driver, with @serve as
 * in its options. */
void turn_expedited_serve(struct turn *turn, bool (*serve)(struct serve *serve));

/* ---- threads that wait for them: exp_waiters.c ---- */

/* One has ended: wake the threads that wait for its number. */
void turn_expedited_done(struct turn *turn);
/* Wait until the grace period of @cookie has ended; another thread turns it. */
void turn_expedited_wait(struct turn *turn, uint64_t cookie);
/* A thread of @priority waits for the number of @cookie. */
void turn_expedited_raise(struct turn *turn, uint64_t cookie, uint32_t priority);
/* At the start, and in a fork's child: no thread waits. */
void turn_exp_waiters_init(struct turn *turn);
/* The priority at which expedited grace periods are turned now: the worker's own, or the highest of the threads that
 * wait; 0 = ordinary. */
int turn_expedited_priority(struct turn *turn);
extern const struct work_job turn_job_expedited;

/* ---- boosting: boost.c ---- */

/* Should readers of this grace period be boosted by now? */
bool turn_boost_is_due(struct gp_state *gp_state);
/* Have the boost worker boost the readers in the way that stand still, for about a tick.  Does not wait. */
void turn_boost(struct gp_state *gp_state);
/* The calling thread, if it is a real-time thread no lower than the worker, boosts them to its own priority, each for a
 * slice at most.  False: it may not, another boosts, or a slice ran out: the worker is needed. */
bool turn_boost_here(struct gp_state *gp_state);
extern const struct work_job turn_job_boost, turn_job_nudge;

#endif
