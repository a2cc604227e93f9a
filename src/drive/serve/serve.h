/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Serving callbacks: to whom ready ones go, the daemons that run them, and who waits for them.
 *
 * INV-DR1: a record is on at most one daemon's list (its `listed` word is the claim).
 */
#ifndef RTRCU_DRIVE_SERVE_H
#define RTRCU_DRIVE_SERVE_H

#include "drive/thread.h"

struct krcud {
    struct lock lock;
    struct reader_record *first; /* atomic: queues to serve; written under the lock */
    struct reader_record *last;  /* under the lock */
    uint32_t serving;            /* invokers at work; under the lock */
    int64_t held_off_ns;         /* since when forks keep it from its next batch, 0 = they do not; under the lock */
    struct drive_thread thread;
    uint32_t cpu;
    struct reader_record *served;        /* of its thread: the queue that has its turn, NULL = none */
    uint32_t generation;                 /* of its thread: in which that turn began */
    bool lifted;                         /* of its thread */
    const struct rtrcu_config *settings; /* that its thread was made by */
    struct drive *drive;
};

/* Value: what a thread may run of callbacks that are a daemon's, where no daemon may be or can be had. */
struct drive_share {
    int64_t ns;       /* for so long; 0 = nothing, PLAT_FOREVER = a whole turn of each queue */
    int64_t spent_ns; /* it took so long; not counted where there is no limit */
    bool left;        /* there is more */
};

/* ---- ready callbacks: dispatch.c ---- */

/* Hand ready callbacks to daemons, or run them here where no daemon may be.  True if some wait for their owner. */
bool drive_dispatch(struct drive *drive);
/* The same, and no more is run here than @share allows. */
bool drive_dispatch_within(struct drive *drive, struct drive_share *share);
/* The CPU whose daemon serves @record: where its owner runs, if the library's threads may run there.  Under the leaf
 * lock, or by the owner. */
uint32_t drive_cpu_of(const struct drive *drive, const struct reader_record *record);

/* ---- daemons: krcud.c ---- */

/* The thread of @record is gone: its slot is let go, once nothing of it is queued or served. */
void drive_let_go(struct reader_record *record);
/* One turn of @record's queue in the calling thread. */
void drive_krcud_serve_here(struct drive *drive, struct reader_record *record, struct drive_share *share);
/* Put @record on the list of @cpu's daemon, in front if @urgent; makes the daemon, or takes another that runs.  False:
 * there is none, and none can be made now. */
bool drive_krcud_give(struct drive *drive, struct reader_record *record, uint32_t cpu, bool urgent);
/* Make the daemons of all CPUs where the library's threads may run.  0 or -errno. */
int drive_krcud_start_all(struct drive *drive, const struct rtrcu_config *settings, const struct plat_home *home);

/* ---- waiting for callbacks: barrier.c ---- */

void drive_barrier(struct drive *drive);
/* backpressure=block: wait until @record's backlog is below qmax, or has not moved for 100 ms; not where the calling
 * thread may be waited for itself.  Runs no callback.  False: it is not below. */
bool drive_wait_below_qmax(struct drive *drive, struct reader_record *record);
/* Wait until fewer than @limit of @record's callbacks are pending, 100 ms at most; as above. */
void drive_wait_for_backlog(struct drive *drive, const struct reader_record *record, uint64_t limit);

/* ---- batches that have been invoked: progress.c ---- */

/* A batch has been invoked: wake the threads that wait for one. */
void drive_progress(struct drive *drive);
/* Wait for a batch, unless @reached; at most a tick, and @longest_ns. */
void drive_progress_wait(struct drive *drive, bool (*reached)(struct drive *, void *), void *argument,
                         int64_t longest_ns);

#endif
