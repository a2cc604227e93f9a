/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The grace-period machine: sequence, combining tree over the readers' leaves, scan, reports, cookies.  Passive: it
 * takes `now`, and returns the actions left to its caller; it never waits, wakes or fences heavily.
 *
 * Knows: records, leaves, parked tasks.  Must not know: callbacks, sections, drivers, threads.
 * There are two machines of one type, the normal and the expedited one, over the same leaves.
 *
 * A thread that advances a grace period holds machine.gp_lock for one step, which takes it through one state or more;
 * another thread may take the next step:
 *
 *  state   entered by    leaves when                               to       then
 *  IDLE    gp_end()      a thread takes the first step             BEGUN    no node has holdouts
 *  BEGUN   gp_begin()    the caller has fenced heavily, and scans  SCANNED  the sequence is odd, node words are old
 *  SCANNED gp_scan()     gp_is_clear()                             IDLE     every node carries the sequence
 *
 * A carry names its sequence, so a late carry of an old grace period changes nothing.  If a preempted reporter has not
 * carried yet, the next gp_poll() carries in its place.
 *
 * INV-GP1: while idle, no node word has a mask bit.
 * INV-GP2: the sequence is odd from a begin to its end, but in the child of a handler that forks between them.
 * INV-GP3: a grace period ends only when no node has holdouts.
 */
#ifndef RTRCU_GP_GP_H
#define RTRCU_GP_GP_H

#include <rtrcu/config.h>

#include "gp/node.h"

/* A set of actions for the caller to carry out once it holds no lock. */
enum gp_actions {
    GP_ACTION_NONE = 0,
    GP_ACTION_WAKE_NORMAL = 1 << GP_NORMAL, /* no holdouts are left: wake one of the waiters */
    GP_ACTION_WAKE_EXPEDITED = 1 << GP_EXPEDITED,
    GP_ACTION_UNLOCK_PI = 1 << GP_KINDS, /* the calling thread must end its boost */
};

/* The action that wakes a waiter of @kind. */
static inline enum gp_actions gp_action_wake(enum gp_kind kind)
{
    return (enum gp_actions)(GP_ACTION_WAKE_NORMAL << kind);
}

static_assert(GP_NORMAL == 0 && GP_EXPEDITED == 1, "the placement table uses these numbers for the kinds");

/* Durations are counted in buckets, four per octave: 0 to 3 ns have one each; bucket 4 * k + i, with i below 4 and k
 * above 0, begins at (4 + i) << (k - 1) ns and ends where the next one begins.  The last bucket begins at half an hour
 * and has no end. */
#define GP_HISTOGRAM 160

static inline uint32_t gp_histogram_bucket(int64_t ns)
{
    uint64_t value = ns > 0 ? (uint64_t)ns : 0;
    if (value < 8)
        return (uint32_t)value;

    uint32_t shift =
        61 - (uint32_t)__builtin_clzll(value); /* a bucket is chosen by the highest bit and the two bits below it */
    uint32_t bucket = 4 * (shift + 1) + (uint32_t)(value >> shift) - 4;
    return bucket < GP_HISTOGRAM ? bucket : GP_HISTOGRAM - 1;
}

struct gp_machine {
    uint64_t seq;        /* atomic: written by the holder of gp_lock */
    uint64_t needed;     /* atomic: the latest requested cookie */
    uint32_t tasks_came; /* atomic: counts arrivals of parked tasks that the grace period waits for */
    uint32_t top;        /* atomic: the level whose node 0 covers all leaves of this grace period */
    struct lock gp_lock;
    /* Written by the holder of gp_lock; any thread may read the counters. */
    uint32_t leaves;          /* atomic: number of leaves at the scan */
    uint32_t anonymous_busy;  /* phases of readers without a record that have not been seen empty, as bits */
    uint32_t anonymous_phase; /* phase number at the first check */
    uint32_t idle_scans;      /* a thread outside in this many scans becomes a candidate for idle; 0 = do not count this
                            scan */
    bool idle_possible;       /* some threads have been outside in idle_scans scans */
    bool idle_proposed;       /* candidates for idle exist */
    int64_t began_ns;
    struct counter completed, busy, at_once;
    struct counter ns_sum;                     /* sum over ns_histogram */
    int64_t ns_last, ns_max;                   /* atomic */
    struct counter ns_histogram[GP_HISTOGRAM]; /* durations, except those of grace periods completed immediately */
} __attribute__((aligned(BASE_CACHE_LINE)));

#define GP_LEVELS 4

static_assert(READER_LEAVES == READER_FANOUT * READER_FANOUT * READER_FANOUT,
              "three levels above the leaves are enough");

struct gp {
    struct reader_registry *registry;
    struct gp_machine machine[GP_KINDS];
    struct gp_node *level[GP_LEVELS]; /* constant: first node of each level */
    struct gp_node level0[READER_LEAVES];
    struct gp_node level1[READER_LEAVES / READER_FANOUT];
    struct gp_node level2[READER_LEAVES / READER_FANOUT / READER_FANOUT];
    struct gp_node level3[1];
};

void gp_init(struct gp *gp, struct reader_registry *registry);
static inline struct reader_registry *gp_registry(const struct gp *gp)
{
    return gp->registry;
}
/* In a fork's child: no node has holdouts, and no thread holds a gp lock; cookies remain valid. */
void gp_after_fork_child(struct gp *gp);

/* ---- cookies: cookie.c; lock-free, any thread ---- */

/* The cookie of a full grace period from now.  A full fence. */
uint64_t gp_snap(const struct gp *gp, enum gp_kind kind);
/* Has the grace period of @cookie passed?  If so, an acquire of everything before its end, and a full fence. */
bool gp_reached(const struct gp *gp, enum gp_kind kind, uint64_t cookie);
/* Request the grace period of @cookie.  True if no thread had requested it: the driver must be woken. */
bool gp_request(struct gp *gp, enum gp_kind kind, uint64_t cookie);
/* Is a grace period requested that has not passed? */
bool gp_is_needed(const struct gp *gp, enum gp_kind kind);
/* Is a grace period requested that has not passed?  *@cookie is the latest requested cookie, or the cookie of a full
 * grace period from now if that is earlier. */
bool gp_next_needed(const struct gp *gp, enum gp_kind kind, uint64_t *cookie);

static inline uint64_t gp_seq(const struct gp *gp, enum gp_kind kind)
{
    return rtrcu_load_acquire(&gp->machine[kind].seq);
}
/* The latest requested cookie. */
static inline uint64_t gp_needed(const struct gp *gp, enum gp_kind kind)
{
    return rtrcu_load_acquire(&gp->machine[kind].needed);
}
/* Number of arrivals of parked tasks that the grace period waits for. */
static inline uint32_t gp_tasks_came(const struct gp *gp, enum gp_kind kind)
{
    return rtrcu_load_acquire(&gp->machine[kind].tasks_came);
}
/* Fields that this room shows to other processes. */
extern const struct inspect_table gp_inspect_table;
/* Fill in the counters of this room. */
void gp_stats(const struct gp *gp, struct rtrcu_stats *stats);

/* ---- advancing: machine.c; under machine.gp_lock ---- */

static inline struct lock *gp_lock_of(struct gp *gp, enum gp_kind kind)
{
    return &gp->machine[kind].gp_lock;
}
/* Is a grace period in progress?  Called by the holder of the gp lock. */
static inline bool gp_is_running(const struct gp *gp, enum gp_kind kind)
{
    return seq_is_running(rtrcu_load_relaxed(&gp->machine[kind].seq));
}
/* When the grace period in progress, or the last one, began. */
static inline int64_t gp_began_ns(const struct gp *gp, enum gp_kind kind)
{
    return gp->machine[kind].began_ns;
}
/* Number of readers without a record that are inside, if the grace period waits for them. */
uint32_t gp_holdouts_anonymous(const struct gp *gp, enum gp_kind kind);

void gp_begin(struct gp *gp, enum gp_kind kind, int64_t now);
/* While idle: complete a whole grace period immediately if no thread reads.  False: a thread may read, and no grace
 * period took place. */
bool gp_try_immediate(struct gp *gp, enum gp_kind kind);
/* After a heavy fence: find the readers inside.  True if there are any. */
bool gp_scan(struct gp *gp, enum gp_kind kind);
/* Poll the holdouts: report for those that are outside now; with @arm, set the flags of the others.  Returns the number
 * of flags set.  A report counts for the other kind too, whose waiters may all be asleep: the caller must carry out
 * @actions for that kind. */
uint32_t gp_poll(struct gp *gp, enum gp_kind kind, bool arm, enum gp_actions *actions);
/* Are there no holdouts left?  An acquire: synchronizes with their reports. */
bool gp_is_clear(const struct gp *gp, enum gp_kind kind);
/* End the grace period.  Does not check that a grace period is in progress: in a torn child (base/call.h) there is
 * none. */
void gp_end(struct gp *gp, enum gp_kind kind, int64_t now);
/* A set: the CPUs on which registered holdouts last ran, @cpu or others; an unknown CPU counts as elsewhere. */
enum gp_holdouts_where { GP_HOLDOUTS_NOWHERE = 0, GP_HOLDOUTS_HERE = 1 << 0, GP_HOLDOUTS_ELSEWHERE = 1 << 1 };
enum gp_holdouts_where gp_holdouts_where(struct gp *gp, enum gp_kind kind, uint32_t cpu);

/* ---- threads that do not read: idle.c; under the normal machine's gp lock ---- */

/* Between begin and a heavy fence: make threads that were outside in the last @scans scans candidates for idle; the
 * scan that follows is counted.  @scans 0: propose none, and do not count that scan. */
void gp_idle_propose(struct gp *gp, uint32_t scans);
/* Between fence and scan: each candidate becomes idle or stays scanned.  @fenced: a fence took place.  If readers use
 * light fences now, that was a heavy fence, since no switch back to light fences can happen between fence and scan. */
void gp_idle_settle(struct gp *gp, bool fenced);

/* ---- reports: report.c; lock-free, any thread ---- */

/* The reader of @record is outside, or has been since the last request: clear its bits. */
enum gp_actions gp_report(struct gp *gp, const struct reader_record *record);
/* A reader without a record leaves its section.  Returns wake-ups if it was the last reader of @phase, or of both
 * phases. */
enum gp_actions gp_report_anonymous(struct gp *gp, enum reader_phase phase);
/* Holdouts of @leaf, as bits of its slots. */
uint32_t gp_holdouts(const struct gp *gp, enum gp_kind kind, const struct reader_leaf *leaf);

/* Iterate over leaves with holdouts, guided by the nodes above: the next after @leaf, the first for NULL; NULL:
 * none. */
struct reader_leaf *gp_next_holdout_leaf(const struct gp *gp, enum gp_kind kind, const struct reader_leaf *leaf);

/* ---- questions about all readers: readers.c ---- */

/* Is the calling thread outside, and can no other thread be a reader?  A hint; after a full fence, no reader can hold
 * an object that was unlinked before. */
bool gp_nobody_reads(const struct gp *gp);
/* Must the next scan issue a heavy fence: is there a reader, besides the calling thread, whose sections are visible
 * only after a heavy fence?  Called after the full fence of gp_begin(). */
bool gp_needs_fence(struct gp *gp);

/* ---- parked tasks: tasks.c; under the leaf lock ---- */

/* The kinds of grace period that wait for the thread of @record now.  May also be called without the leaf lock: then
 * the result is only a hint. */
struct reader_kinds gp_waits_for_thread(const struct gp *gp, const struct reader_record *record);
/* Put @task, which parks on @record's thread, on the leaf's list. */
void gp_park(struct gp *gp, struct reader_record *record, struct rcu_task *task);
/* Put @task after @older, which is on the list of @leaf and whose section @task takes over. */
void gp_follow(struct gp *gp, struct reader_leaf *leaf, struct rcu_task *older, struct rcu_task *task);
/* Slow path of gp_promote(). */
bool gp_promote_parked(struct gp *gp, struct reader_record *record);
/* Move tasks that parked on @record's thread to the leaf's list, before the thread's bit is cleared, and in a scan.
 * False: some are left, and its bit must stay. */
static inline bool gp_promote(struct gp *gp, struct reader_record *record)
{
    return parked_on_thread(record) == 0 || gp_promote_parked(gp, record); /* [O14] most threads have no parked task */
}
/* Remove @task, which has ended its section, from the leaf's list; report if no task is waited for any more. */
enum gp_actions gp_unpark(struct gp *gp, struct reader_leaf *leaf, struct rcu_task *task);

/* Used only inside the room. */
static inline struct gp_node *gp_node_at(const struct gp *gp, uint32_t level, uint32_t index)
{
    return &gp->level[level][index];
}
static inline struct gp_node *gp_leaf_node(struct gp *gp, const struct reader_leaf *leaf)
{
    return &gp->level0[reader_leaf_index(leaf)];
}
enum gp_actions gp_carry(struct gp *gp, enum gp_kind kind, uint32_t level, uint32_t index, struct gp_stamp stamp);

#endif
