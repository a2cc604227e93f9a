/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The grace-period machine: sequence, combining tree over the readers' leaves, scan, reports, cookies.  Passive: it
 * takes `now`, and says what is left to do; it never waits, wakes or fences heavily.
 *
 * Knows: records, leaves, parked tasks.  Must not know: callbacks, sections, drivers, threads.
 * Two machines of one kind stand side by side, the normal and the expedited one, over the same leaves.
 *
 * A thread that turns a grace period holds machine.crank for one step, which takes it through one state or more; the
 * next step may be another thread's:
 *
 *  state   entered by    leaves when                               to       then
 *  IDLE    gp_end()      a thread takes the first step             BEGUN    no node owes a report
 *  BEGUN   gp_begin()    the caller has fenced heavily, and scans  SCANNED  the sequence is odd, node words are old
 *  SCANNED gp_scan()     gp_is_clear()                             IDLE     every node carries the sequence
 *
 * A carry upward names its sequence, so a late one of an old grace period changes nothing; one that a preempted
 * reporter left undone is done by the next gp_poll().
 *
 * INV-GP1: while idle, no node word has a mask bit.
 * INV-GP2: the sequence is odd from a begin to its end, but in the child of a handler that forks between them.
 * INV-GP3: a grace period ends only when no node owes a report.
 */
#ifndef RTRCU_GP_GP_H
#define RTRCU_GP_GP_H

#include <rtrcu/config.h>

#include "gp/node.h"

/* A set: what the caller must do once it holds no lock. */
enum gp_actions {
    GP_ACTION_NONE = 0,
    GP_ACTION_WAKE_NORMAL = 1 << GP_NORMAL, /* no reader is in its way: one thread that waits is to look */
    GP_ACTION_WAKE_EXPEDITED = 1 << GP_EXPEDITED,
    GP_ACTION_UNLOCK_PI = 1 << GP_KINDS, /* the calling thread must end its boost */
};

/* The wake-up that is due to @kind. */
static inline enum gp_actions gp_action_wake(enum gp_kind kind)
{
    return (enum gp_actions)(GP_ACTION_WAKE_NORMAL << kind);
}

static_assert(GP_NORMAL == 0 && GP_EXPEDITED == 1, "the placement table numbers the kinds so");

/* Durations are counted in buckets, four to an octave: 0 to 3 ns have one each; number 4 * k + i, with i below 4 and k
 * above 0, begins at (4 + i) << (k - 1) ns and ends where the next one begins.  The last, from half an hour on, has no
 * end. */
#define GP_HISTOGRAM 160

static inline uint32_t gp_histogram_bucket(int64_t ns)
{
    uint64_t value = ns > 0 ? (uint64_t)ns : 0;
    if (value < 8)
        return (uint32_t)value;

    uint32_t shift = 61 - (uint32_t)__builtin_clzll(value); /* two bits stay below the highest one */
    uint32_t bucket = 4 * (shift + 1) + (uint32_t)(value >> shift) - 4;
    return bucket < GP_HISTOGRAM ? bucket : GP_HISTOGRAM - 1;
}

struct gp_machine {
    uint64_t seq;        /* atomic: written by the crank's holder */
    uint64_t needed;     /* atomic: the latest cookie somebody asked for */
    uint32_t tasks_came; /* atomic: counts arrivals of parked tasks that it waits for */
    uint32_t top;        /* atomic: the level whose node 0 covers all leaves of this grace period */
    struct lock gp_lock;
    /* Written by the crank's holder; anybody reads the counters. */
    uint32_t leaves;          /* atomic: how many there were at the scan */
    uint32_t anonymous_busy;  /* groups of readers without a record that have not been seen empty, as bits */
    uint32_t anonymous_phase; /* in which it looked first */
    uint32_t idle_scans; /* found outside in so many, a thread leaves before the next; 0 = this one does not count */
    bool idle_possible;  /* some have been found outside so often */
    bool idle_proposed;  /* some are to leave */
    int64_t began_ns;
    struct counter completed, busy, at_once;
    struct counter ns_sum;                     /* what ns_histogram counts, in all */
    int64_t ns_last, ns_max;                   /* atomic */
    struct counter ns_histogram[GP_HISTOGRAM]; /* durations, but of those that found nobody at once */
} __attribute__((aligned(BASE_CACHE_LINE)));

#define GP_LEVELS 4

static_assert(READER_LEAVES == READER_FANOUT * READER_FANOUT * READER_FANOUT,
              "three levels above the leaves are enough");

struct gp {
    struct reader_registry *registry;
    struct gp_machine machine[GP_KINDS];
    struct gp_node *level[GP_LEVELS]; /* constant: where the nodes of each level begin */
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
/* In a fork's child: no node owes a report, and no thread holds a crank; cookies keep their meaning. */
void gp_after_fork_child(struct gp *gp);

/* ---- cookies: cookie.c; lock-free, any thread ---- */

/* The cookie of a full grace period from now.  A full fence. */
uint64_t gp_snap(const struct gp *gp, enum gp_kind kind);
/* Has the grace period of @cookie passed?  If so, an acquire of everything before its end, and a full fence. */
bool gp_reached(const struct gp *gp, enum gp_kind kind, uint64_t cookie);
/* Ask for the grace period of @cookie.  True if nobody had asked for it: the driver must be woken. */
bool gp_request(struct gp *gp, enum gp_kind kind, uint64_t cookie);
/* Has anybody asked for a grace period that has not passed? */
bool gp_is_needed(const struct gp *gp, enum gp_kind kind);
/* If so, the cookie of the latest that was asked for, or of a full grace period from now if that is earlier. */
bool gp_next_needed(const struct gp *gp, enum gp_kind kind, uint64_t *cookie);

static inline uint64_t gp_seq(const struct gp *gp, enum gp_kind kind)
{
    return rtrcu_load_acquire(&gp->machine[kind].seq);
}
/* The latest cookie that anybody has asked for. */
static inline uint64_t gp_needed(const struct gp *gp, enum gp_kind kind)
{
    return rtrcu_load_acquire(&gp->machine[kind].needed);
}
/* How many times have parked tasks come that it waits for? */
static inline uint32_t gp_tasks_came(const struct gp *gp, enum gp_kind kind)
{
    return rtrcu_load_acquire(&gp->machine[kind].tasks_came);
}
/* What this room tells other processes. */
extern const struct inspect_table gp_inspect_table;
/* Fill in what this room counts. */
void gp_stats(const struct gp *gp, struct rtrcu_stats *stats);

/* ---- the crank: machine.c; under machine.crank ---- */

static inline struct lock *gp_lock_of(struct gp *gp, enum gp_kind kind)
{
    return &gp->machine[kind].gp_lock;
}
/* Is a grace period under way?  For the crank's holder. */
static inline bool gp_is_running(const struct gp *gp, enum gp_kind kind)
{
    return seq_is_running(rtrcu_load_relaxed(&gp->machine[kind].seq));
}
/* When the grace period under way, or the last one, began. */
static inline int64_t gp_began_ns(const struct gp *gp, enum gp_kind kind)
{
    return gp->machine[kind].began_ns;
}
/* How many readers without a record are inside, if it waits for them. */
uint32_t gp_holdouts_anonymous(const struct gp *gp, enum gp_kind kind);

void gp_begin(struct gp *gp, enum gp_kind kind, int64_t now);
/* While idle: a whole grace period at once, if nobody reads.  False: somebody may, and none has been. */
bool gp_try_immediate(struct gp *gp, enum gp_kind kind);
/* After a heavy fence: find who is inside.  True if anybody is. */
bool gp_scan(struct gp *gp, enum gp_kind kind);
/* Look again at the readers that were inside; with @arm ask them to report.  Returns how many were asked for the first
 * time.  A reader that is outside by now is outside for the other kind too, for which all who wait may sleep: @actions
 * is what the caller must do for that kind. */
uint32_t gp_poll(struct gp *gp, enum gp_kind kind, bool arm, enum gp_actions *actions);
/* Does nobody owe a report any more?  An acquire of what the reporters did. */
bool gp_is_clear(const struct gp *gp, enum gp_kind kind);
/* In the child of a handler that has forked meanwhile nothing is under way, and nothing ends. */
void gp_end(struct gp *gp, enum gp_kind kind, int64_t now);
/* A set: where were registered readers that owe a report last seen?  On @cpu, or elsewhere; unknown is elsewhere. */
enum gp_holdouts_where { GP_HOLDOUTS_NOWHERE = 0, GP_HOLDOUTS_HERE = 1 << 0, GP_HOLDOUTS_ELSEWHERE = 1 << 1 };
enum gp_holdouts_where gp_holdouts_where(struct gp *gp, enum gp_kind kind, uint32_t cpu);

/* ---- threads that do not read: idle.c; under the normal machine's crank ---- */

/* Between begin and a heavy fence: the scan that follows counts, and a thread that the last @scans of them found
 * outside is to leave those who are awake.  0: none is. */
void gp_idle_propose(struct gp *gp, uint32_t scans);
/* Between fence and scan: each thread that was to leave is asleep now, or stays awake.  @fenced: there was a fence, and
 * it was the kernel's unless readers use full fences by now, since nobody goes back to light ones between the two. */
void gp_idle_settle(struct gp *gp, bool fenced);

/* ---- reports: report.c; lock-free, any thread ---- */

/* The reader of @record is or was outside since it last was asked: clear its bits. */
enum gp_actions gp_report(struct gp *gp, const struct reader_record *record);
/* A reader without a record has left. */
enum gp_actions gp_report_anonymous(struct gp *gp, enum reader_phase phase);
/* Records of @leaf that still owe a report. */
uint32_t gp_holdouts(const struct gp *gp, enum gp_kind kind, const struct reader_leaf *leaf);

/* The way through the leaves that owe, by the nodes above: the next behind @leaf, the first behind NULL; NULL: none. */
struct reader_leaf *gp_next_holdout_leaf(const struct gp *gp, enum gp_kind kind, const struct reader_leaf *leaf);

/* ---- questions about all readers: readers.c ---- */

/* Is nobody a reader but the calling thread, which is outside?  A hint; behind a full fence, what was unlinked before
 * is no reader's any more. */
bool gp_nobody_reads(const struct gp *gp);
/* Is there a reader, besides the calling thread, whose sections are hidden without a heavy fence?  Behind the full
 * fence of gp_begin(), by the next scan. */
bool gp_needs_fence(struct gp *gp);

/* ---- parked tasks: tasks.c; under the leaf lock ---- */

/* Bits of the placement table: which kinds wait for the thread of @record now.  A hint without the lock. */
struct reader_kinds gp_waits_for_thread(const struct gp *gp, const struct reader_record *record);
/* Put @task, which parks on @record's thread, on the leaf's list. */
void gp_park(struct gp *gp, struct reader_record *record, struct rcu_task *task);
/* Put it behind @older, which is on the list of @leaf: its section was that task's. */
void gp_follow(struct gp *gp, struct reader_leaf *leaf, struct rcu_task *older, struct rcu_task *task);
bool gp_promote_parked(struct gp *gp, struct reader_record *record);
/* Move tasks that parked on @record's thread to the leaf's list: before its bit is cleared, and at a begin.  False:
 * some are left, and its bit must stay. */
static inline bool gp_promote(struct gp *gp, struct reader_record *record)
{
    return parked_on_thread(record) == 0 || gp_promote_parked(gp, record); /* [O14] most threads have none */
}
/* @task, on the leaf's list, has ended its section. */
enum gp_actions gp_unpark(struct gp *gp, struct reader_leaf *leaf, struct rcu_task *task);

/* Inside the room. */
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
