/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Turning a grace period: its steps, by the driver and by threads that wait; the fence; expedited ones; boosting
 * readers that are in its way.
 */
#ifndef RTRCU_DRIVE_TURN_H
#define RTRCU_DRIVE_TURN_H

#include "drive/thread.h"

/* The thread that boosts readers now: one at a time, which the nudger looks after.  Under the nudger's lock. */
struct drive_boosting {
    struct plat_tid booster; /* nobody = nobody boosts */
    int32_t priority;        /* atomic: the highest to which readers were boosted since the nudger awoke */
    int64_t nap_ns;          /* the nudger looks again after so long, 0 = it has to be woken */
    uint32_t cpu;            /* atomic: where the booster began to wait, if the kernel does not tell where it runs */
    const uint32_t *cpu_at;  /* where its CPU number is to be read, NULL = nobody boosts */
};

/* One kind of grace period: its machine, and the threads that wait for its end and turn it meanwhile. */
struct drive_turning {
    struct drive *drive;
    struct gp *gp;
    enum gp_kind kind;
    uint32_t event;        /* atomic: futex: counts wake-ups and releases of the crank */
    struct tally sleeping; /* how many sleep on it or are about to */
    struct counter slept, by_caller, unfenced;
    /* What the next step needs to know; under the crank. */
    bool unscanned;          /* begun, and not scanned yet: for some time where no fence is to be had */
    bool fenced;             /* its scan came behind a heavy fence */
    bool asked;              /* those in the way have been asked to report */
    struct plat_tid watcher; /* the thread that looks once a tick, nobody = nobody has had to wait */
    int64_t report_ns;       /* age at which it is reported next */
    uint32_t tasks_told;     /* arrivals of tasks that the handler was told of */
};

/* The threads that wait for expedited grace periods, by the number of the end modulo 4; numbers.c. */
struct drive_numbers {
    uint32_t ended[4]; /* atomic: futex: counts ends */
    struct tally waiters[4];
    uint32_t priority[4]; /* atomic: the highest that waits */
    uint64_t told;        /* atomic: the worker was woken for the numbers up to this; see expedited.c */
};

/* ---- its machine ---- */

static inline struct lock *drive_crank(struct drive_turning *turning)
{
    return gp_crank(turning->gp, turning->kind);
}
static inline uint64_t drive_seq(const struct drive_turning *turning)
{
    return gp_seq(turning->gp, turning->kind);
}
static inline bool drive_has_reached(const struct drive_turning *turning, uint64_t cookie)
{
    return gp_reached(turning->gp, turning->kind, cookie);
}
static inline bool drive_is_needed(const struct drive_turning *turning)
{
    return gp_is_needed(turning->gp, turning->kind);
}
static inline bool drive_is_running(const struct drive_turning *turning)
{
    return gp_is_running(turning->gp, turning->kind);
}
static inline bool drive_is_clear(const struct drive_turning *turning)
{
    return gp_is_clear(turning->gp, turning->kind);
}
static inline int64_t drive_began_ns(const struct drive_turning *turning)
{
    return gp_began_ns(turning->gp, turning->kind);
}

/* ---- one grace period: turn.c ---- */

void drive_turning_init(struct drive_turning *turning, struct drive *drive, enum gp_kind kind);

/* Wait until the grace period of @cookie has passed; take every step of it that nobody else takes. */
void drive_synchronize(struct drive_turning *turning, uint64_t cookie);
/* How the calling thread waits for readers while it turns. */
struct drive_turn_options {
    bool never_spins;  /* looks once a tick */
    bool never_sleeps; /* asks at once and polls */
    bool by_caller;    /* counted */
    bool serves;       /* between its steps: ready callbacks do not wait for a later grace period */
    bool for_barrier;  /* the one that serves is rcu_barrier(), and turns no longer than it waits */
};
/* The grace period of @cookie, at once, where nobody reads and nobody turns the crank.  False: it has to be turned. */
bool drive_pass_alone(struct drive_turning *turning, uint64_t cookie);
/* Under the crank: begin and watch for a moment, or look again at what is under way.  True if it has ended. */
bool drive_turn_first(struct drive_turning *turning);
/* See what is needed to its end, at most one grace period that is not under way yet. */
void drive_turn_if_needed(struct drive_turning *turning, const struct drive_turn_options *options);
/* Take the crank, whose holder is boosted.  Away meanwhile. */
void drive_take_crank(struct drive_turning *turning);
/* By the holder of a crank that does not go on with the grace period: others may sleep until the crank is free. */
void drive_release_crank(struct drive_turning *turning);
/* One step, if the crank is free: begin a grace period that is needed, or look at the one under way.  Waits for nobody.
 * True if one ended. */
bool drive_step(struct drive_turning *turning);

/* In a fork's child nobody waits, and what was under way begins again. */
void drive_turning_after_fork_child(struct drive_turning *turning);

/* ---- the heavy fence: fence.c ---- */

/* A heavy fence, by whatever still works; false: none does, try again later. */
bool drive_fence(struct drive *drive);

/* ---- expedited grace periods: expedited.c ---- */

/* Wait for the expedited grace period of @cookie: the caller turns its first step, a worker the rest. */
void drive_synchronize_expedited(struct drive *drive, uint64_t cookie);
/* Have it happen; does not wait. */
void drive_start_expedited(struct drive *drive, uint64_t cookie);
/* Is one asked for that nobody turns: there is no worker, or it was not told? */
bool drive_expedited_is_left(struct drive *drive);
/* If so: make the worker and tell it; or turn it here, to its end if the calling thread is the driver. */
void drive_expedited_serve(struct drive *drive);

/* ---- threads that wait for them: numbers.c ---- */

/* One has ended: wake the threads that wait for its number. */
void drive_expedited_done(struct drive *drive);
/* Wait until the grace period of @cookie has ended; another thread turns it. */
void drive_expedited_wait(struct drive *drive, uint64_t cookie);
/* A thread of @priority waits for the number of @cookie. */
void drive_expedited_raise(struct drive *drive, uint64_t cookie, uint32_t priority);
/* In a fork's child no thread waits. */
void drive_numbers_after_fork_child(struct drive *drive);
/* The priority at which expedited grace periods are turned now: the worker's own, or the highest of the threads that
 * wait; 0 = ordinary. */
int drive_expedited_priority(struct drive *drive);

/* ---- boosting: boost.c ---- */

/* Should readers of this grace period be boosted by now? */
bool drive_boost_is_due(struct drive_turning *turning);
/* Have the boost worker boost the readers in the way that stand still, for about a tick.  Does not wait. */
void drive_boost(struct drive_turning *turning);
/* The calling thread, if it is a real-time thread no lower than the worker, boosts them to its own priority, each for a
 * slice at most.  False: it may not, another boosts, or a slice ran out: the worker is needed. */
bool drive_boost_here(struct drive_turning *turning);

#endif
