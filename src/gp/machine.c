/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One grace period, advanced by the holder of the gp lock: begin, scan, poll, end.
 *
 * tested by: test/unit/gp/gp.cc
 */
#include "gp/gp.h"

void gp_init(struct gp *gp, struct reader_registry *registry)
{
    gp->registry = registry;
    gp->level[0] = gp->level0;
    gp->level[1] = gp->level1;
    gp->level[2] = gp->level2;
    gp->level[3] = gp->level3;

    for (int kind = 0; kind < GP_KINDS; kind++) {
        struct gp_machine *machine = &gp->machine[kind];
        machine->seq = machine->needed = SEQ_FIRST;
        lock_init(&machine->gp_lock, LOCK_RANK_GP);
    }
}

/* The smallest level whose first node covers @leaves. */
static uint32_t top_level(uint32_t leaves)
{
    uint32_t level = 0;
    for (uint32_t covered = 1; covered < leaves; covered *= READER_FANOUT)
        level++;
    return level;
}

static uint32_t nodes_at(uint32_t level, uint32_t leaves)
{
    for (; level > 0; level--)
        leaves = (leaves + READER_FANOUT - 1) / READER_FANOUT;
    return leaves;
}

void gp_begin(struct gp *gp, enum gp_kind kind, int64_t now)
{
    struct gp_machine *machine = &gp->machine[kind];
    must_hold(&machine->gp_lock);
    uint64_t seq = seq_started(rtrcu_load_relaxed(&machine->seq));
    invariant("INV-GP1", !gp_is_running(gp, kind) && gp_is_clear(gp, kind));

    machine->began_ns = now;
    machine->idle_scans = 0;

    rtrcu_store_release(&machine->seq, seq); /* [O2]; a release, since a waiter may read this number instead of the one
                                                that gp_end() stored before [O4] */
    rtrcu_fence_full();
    trace3(gp_begin, gp, kind, seq);
}

/* Makes the sequence odd, then checks that no thread reads, so a cookie taken meanwhile names a later grace period.
 * [O2], [O4] as in gp_begin() and gp_end(). */
bool gp_try_immediate(struct gp *gp, enum gp_kind kind)
{
    struct gp_machine *machine = &gp->machine[kind];
    uint64_t idle = rtrcu_load_relaxed(&machine->seq), started = seq_started(idle);

    must_hold(&machine->gp_lock);
    invariant("INV-GP1", !seq_is_running(idle) && gp_is_clear(gp, kind));

    rtrcu_store_release(&machine->seq, started);
    rtrcu_fence_full();
    bool passed = gp_nobody_reads(gp);

    rtrcu_tsan_acquire(rtrcu_read_unlock_slow);
    counter_add_alone(&machine->completed, passed);
    counter_add_alone(&machine->at_once, passed);
    rtrcu_store_release(&machine->seq, passed ? seq_ended(started) : idle);

    if (passed)
        trace3(gp_alone, gp, kind, started);
    return passed;
}

/* Count a scan of the reader.  True if the reader may become idle before the next scan. */
static bool may_become_idle(const struct gp_machine *machine, struct reader_record *record, bool inside)
{
    return machine->idle_scans && reader_count_scan(record, inside, machine->idle_scans) &&
           !(reader_never_idle(reader_leaf_of(record)) & reader_bit(record));
}

/* The readers of a leaf that are inside, as bits; idle threads are not read. */
static uint32_t scan_leaf(struct gp_machine *machine, struct reader_leaf *leaf, uint32_t *quiescent_state_threads)
{
    struct reader_record *record;
    uint32_t inside = 0, scanned = reader_scanned_slots(leaf); /* [O6] */
    reader_prefetch(leaf, scanned);

    for (uint32_t left = scanned; (record = reader_next(leaf, &left));) {
        uint32_t word = reader_inside(record);
        if (word)
            inside |= reader_bit(record);
        machine->idle_possible |= may_become_idle(machine, record, word);
        if (word & RTRCU_QSBR_ONLINE)
            *quiescent_state_threads |= reader_bit(record);
    }

    return inside;
}

/* Promote the tasks of a leaf's threads.  Returns the threads, as bits, whose tasks are not all promoted yet: they
 * count as inside until a poll has promoted the rest. */
static uint32_t promote_leaf(struct gp *gp, struct reader_leaf *leaf)
{
    struct reader_record *record;
    uint32_t unfinished = 0;

    for (uint32_t left = parked_holders(leaf); (record = reader_next(leaf, &left));) {
        if (gp_promote(gp, record))
            parked_holds_nothing(record);
        else
            unfinished |= reader_bit(record);
    }

    return unfinished;
}

/* Scan a leaf, publish its word, and request reports from online quiescent-state threads. */
static void scan_and_publish(struct gp *gp, enum gp_kind kind, struct reader_leaf *leaf)
{
    struct gp_stamp stamp = gp_stamp_of(rtrcu_load_relaxed(&gp->machine[kind].seq));
    struct gp_node *node = gp_leaf_node(gp, leaf);
    uint32_t quiescent_state_threads = 0, inside = 0;
    struct reader_record *record;
    bool parked = false;

    if (reader_scanned_slots(leaf) == 0 && parked_on_leaf(leaf) == 0) { /* [O6] */
        gp_node_begin(node, kind, stamp, 0, false);
    } else {
        reader_lock(leaf);
        inside = scan_leaf(&gp->machine[kind], leaf, &quiescent_state_threads);
        inside |= promote_leaf(gp, leaf); /* [O14] after the words, so tasks that parked before are on the list */
        parked = parked_begin(leaf, kind);
        gp_node_begin(node, kind, stamp, inside, parked);

        /* The flags are set after the leaf's word: a report before it would find no bit to clear. */
        while ((record = reader_next(leaf, &quiescent_state_threads)))
            reader_arm(record);
        reader_unlock(leaf);
    }

    if (parked)
        rtrcu_fetch_add(&gp->machine[kind].tasks_came, 1);
    if (!inside && !parked)
        gp_carry(gp, kind, 0, reader_leaf_index(leaf), stamp);
}

/* Scan the leaves below a node.  The node gets a bit for each child that must be scanned, before the children are
 * scanned; a child without holdouts then carries. */
static void scan_below(struct gp *gp, enum gp_kind kind, uint32_t level, uint32_t index)
{
    const struct gp_machine *machine = &gp->machine[kind];
    struct gp_stamp stamp = gp_stamp_of(rtrcu_load_relaxed(&machine->seq));

    if (level == 0) {
        scan_and_publish(gp, kind, reader_leaf_at(gp->registry, index));
        return;
    }

    uint32_t below = reader_scan_below(gp->registry, level, index, rtrcu_load_relaxed(&machine->leaves));
    gp_node_begin(gp_node_at(gp, level, index), kind, stamp, below, false);
    if (!below)
        gp_carry(gp, kind, level, index, stamp);

    for (; below; below &= below - 1)
        scan_below(gp, kind, level - 1, index * READER_FANOUT + (uint32_t)__builtin_ctz(below));
}

static uint32_t phase_bit(uint32_t phase)
{
    return UINT32_C(1) << (phase & 1);
}

/* [O6] Scan half of registration: the leaves' registered and scanned bits are read after the heavy fence; see
 * reader_publish(). */
bool gp_scan(struct gp *gp, enum gp_kind kind)
{
    struct gp_machine *machine = &gp->machine[kind];
    must_hold(&machine->gp_lock);

    uint32_t leaves = reader_leaf_count(gp->registry), top = top_level(leaves);
    rtrcu_store_relaxed(&machine->leaves, leaves);
    rtrcu_store_relaxed(&machine->top, top);
    scan_below(gp, kind, top, 0);

    machine->anonymous_phase = reader_anonymous_phase(gp->registry); /* [O25] */
    machine->anonymous_busy = reader_anonymous_phases(gp->registry);

    bool busy = !gp_is_clear(gp, kind);
    if (busy)
        counter_add_alone(&machine->busy, 1);
    trace4(gp_scan, gp, kind, rtrcu_load_relaxed(&machine->seq), busy);
    return busy;
}

/* Value: the result of one poll of all holdouts. */
struct poll {
    bool arm;
    uint32_t requested;      /* readers whose flag the poll has set */
    enum gp_actions actions; /* actions that the caller must carry out for the other kind */
};

/* Set the reader's flag.  True if it was clear. */
static bool request_report(struct gp *gp, enum gp_kind kind, struct reader_record *record)
{
    bool requested = reader_arm(record);
    if (requested)
        trace3(gp_ask, gp, kind, reader_thread_id(record).number);
    return requested;
}

/* Report for the readers that are outside by now; request reports from the others.  True if tasks are left to be
 * promoted. */
static bool poll_leaf(struct gp *gp, enum gp_kind kind, struct reader_leaf *leaf, struct poll *poll)
{
    struct reader_record *record;
    bool unfinished = false;

    reader_lock(leaf);
    for (uint32_t left = gp_holdouts(gp, kind, leaf) & reader_registered(leaf); (record = reader_next(leaf, &left));) {
        uint32_t inside = reader_inside(record);
        if (inside)
            poll->requested += (poll->arm || (inside & RTRCU_QSBR_ONLINE)) && request_report(gp, kind, record);
        else if (gp_promote(gp, record))
            poll->actions |= gp_report(gp, record);
        else
            unfinished = true;
    }
    reader_unlock(leaf);

    return unfinished;
}

/* Poll the leaves below a node, along the nodes with bits.  A reporter may have been preempted between clearing its bit
 * and the carry, or between two carries. */
static void poll_below(struct gp *gp, enum gp_kind kind, uint32_t level, uint32_t index, struct poll *poll)
{
    const struct gp_node *node = gp_node_at(gp, level, index);
    struct reader_leaf *leaf = level == 0 ? reader_leaf_at(gp->registry, index) : NULL;
    uint32_t below = leaf ? 0 : gp_word_children(gp_node_word(node, kind));

    while (leaf && gp_holdouts(gp, kind, leaf) && poll_leaf(gp, kind, leaf, poll))
        ; /* ends: threads that are waited for park on the leaf's list, so their own lists get shorter */

    for (; below; below &= below - 1)
        poll_below(gp, kind, level - 1, index * READER_FANOUT + (uint32_t)__builtin_ctz(below), poll);

    /* A reporter that was preempted before its carry may not have run since: the poll carries in its place. */
    if (!gp_word_is_pending(gp_node_word(node, kind)))
        gp_carry(gp, kind, level, index, gp_stamp_of(rtrcu_load_relaxed(&gp->machine[kind].seq)));
}

/* Check again which phases of readers without a record are empty, or have been empty.  While a grace period waits for
 * one phase, new readers enter the other phase as soon as that phase is empty, so each phase empties in turn, with any
 * number of successive readers.
 * [O25] Checking half; the reader's half is reader_anonymous_enter(), the half of a concurrent check is
 * reader_anonymous_flip().
 *  - The reader's count first:  a check of the reader's phase after our fence finds the count;
 *  - A check first:  the reader, in whichever phase it is counted, loads pointers after that check and finds new ones.
 * A flip has read the counter of the next phase as empty.  The first flip after our first check may have read that
 * counter before the check.  The second flip proves that the phase of that check has been empty since, the third flip
 * proves the same of the other phase.
 * Forbidden: each phase was seen empty, AND a section that is counted in either phase reads an old pointer. */
static void poll_anonymous(struct gp *gp, enum gp_kind kind)
{
    struct gp_machine *machine = &gp->machine[kind];

    if (!machine->anonymous_busy)
        return;

    uint32_t phase = reader_anonymous_phase(gp->registry), passed = phase - machine->anonymous_phase;
    uint32_t seen_empty = passed >= 2 ? phase_bit(machine->anonymous_phase) : 0;
    seen_empty |= passed >= 3 ? phase_bit(machine->anonymous_phase + 1) : 0;

    machine->anonymous_busy &= reader_anonymous_phases(gp->registry) & ~seen_empty;
    if (machine->anonymous_busy & phase_bit(phase))
        reader_anonymous_flip(gp->registry, phase);
}

uint32_t gp_poll(struct gp *gp, enum gp_kind kind, bool arm, enum gp_actions *actions)
{
    struct gp_machine *machine = &gp->machine[kind];
    struct poll poll = {.arm = arm};
    must_hold(&machine->gp_lock);

    poll_below(gp, kind, rtrcu_load_relaxed(&machine->top), 0, &poll);
    poll_anonymous(gp, kind);

    *actions |= poll.actions & ~gp_action_wake(kind); /* the caller itself advances @kind: no wake-up for it */
    return poll.requested;
}

static enum gp_holdouts_where holdouts_where_in_leaf(struct gp *gp, enum gp_kind kind, struct reader_leaf *leaf,
                                                     uint32_t cpu)
{
    struct reader_record *record;
    enum gp_holdouts_where where = GP_HOLDOUTS_NOWHERE;

    reader_lock(leaf);
    for (uint32_t left = gp_holdouts(gp, kind, leaf) & reader_registered(leaf); (record = reader_next(leaf, &left));)
        where |= reader_cpu(record) == cpu ? GP_HOLDOUTS_HERE : GP_HOLDOUTS_ELSEWHERE;
    reader_unlock(leaf);

    return where;
}

enum gp_holdouts_where gp_holdouts_where(struct gp *gp, enum gp_kind kind, uint32_t cpu)
{
    enum gp_holdouts_where where = GP_HOLDOUTS_NOWHERE;
    struct reader_leaf *leaf = NULL;

    while (where != (GP_HOLDOUTS_HERE | GP_HOLDOUTS_ELSEWHERE) && (leaf = gp_next_holdout_leaf(gp, kind, leaf)))
        where |= holdouts_where_in_leaf(gp, kind, leaf, cpu);

    return where;
}

uint32_t gp_holdouts_anonymous(const struct gp *gp, enum gp_kind kind)
{
    return gp->machine[kind].anonymous_busy ? reader_anonymous(gp->registry) : 0;
}

bool gp_is_clear(const struct gp *gp, enum gp_kind kind)
{
    const struct gp_machine *machine = &gp->machine[kind];
    const struct gp_node *top = gp_node_at(gp, rtrcu_load_relaxed(&machine->top), 0);
    return !gp_word_is_pending(gp_node_word(top, kind)) && !machine->anonymous_busy; /* [O4] */
}

void gp_end(struct gp *gp, enum gp_kind kind, int64_t now)
{
    struct gp_machine *machine = &gp->machine[kind];
    uint64_t seq = rtrcu_load_relaxed(&machine->seq);
    must_hold(&machine->gp_lock);

    invariant("INV-GP3", gp_is_clear(gp, kind));
    rtrcu_tsan_acquire(rtrcu_read_unlock_slow);
    counter_add_alone(&machine->completed, 1);

    int64_t ns = now - machine->began_ns;
    trace4(gp_end, gp, kind, seq, ns);
    rtrcu_store_relaxed(&machine->ns_last, ns);
    counter_add_alone(&machine->ns_sum, (uint64_t)ns);
    counter_add_alone(&machine->ns_histogram[gp_histogram_bucket(ns)], 1);
    if (ns > rtrcu_load_relaxed(&machine->ns_max))
        rtrcu_store_relaxed(&machine->ns_max, ns);

    rtrcu_store_release(&machine->seq, seq_ended(seq)); /* [O4] */
}

void gp_stats(const struct gp *gp, struct rtrcu_stats *stats)
{
    const struct gp_machine *normal = &gp->machine[GP_NORMAL];
    stats->gp_completed = counter_read(&normal->completed);
    stats->gp_busy = counter_read(&normal->busy);
    stats->gp_at_once = counter_read(&normal->at_once);
    stats->gp_ns_last = (uint64_t)rtrcu_load_relaxed(&normal->ns_last);
    stats->gp_ns_max = (uint64_t)rtrcu_load_relaxed(&normal->ns_max);
    stats->exp_completed = counter_read(&gp->machine[GP_EXPEDITED].completed);
}

/* Undo the begin of the grace period in progress, if any.  Its cookie has not been reached, so a later step begins it
 * again. */
static void begin_again(struct gp *gp, enum gp_kind kind)
{
    struct gp_machine *machine = &gp->machine[kind];
    rtrcu_store_relaxed(&machine->seq, rtrcu_load_relaxed(&machine->seq) & ~SEQ_STATE_MASK);
    machine->anonymous_busy = 0;
    rtrcu_store_relaxed(&machine->top, 0);

    for (uint32_t level = 0; level < GP_LEVELS; level++) {
        for (uint32_t i = 0; i < nodes_at(level, reader_leaf_count(gp->registry)); i++)
            gp_node_forget(gp_node_at(gp, level, i), kind, gp_stamp_of(rtrcu_load_relaxed(&machine->seq)));
    }
}

void gp_after_fork_child(struct gp *gp)
{
    for (int kind = 0; kind < GP_KINDS; kind++) {
        struct gp_machine *machine = &gp->machine[kind];
        lock_reset(&machine->gp_lock);
        machine->idle_proposed = false;
        begin_again(gp, kind);
    }
}

static const struct inspect_field fields[] = {
    INSPECT_ARRAY("gp.machine", struct gp, machine),
    INSPECT_FAR_ARRAY("gp.leaf_node", struct gp, level[0]),
    INSPECT_FIELD("machine.seq", struct gp_machine, seq),
    INSPECT_FIELD("machine.needed", struct gp_machine, needed),
    INSPECT_FIELD("machine.anonymous", struct gp_machine, anonymous_busy),
    INSPECT_FIELD("machine.began_ns", struct gp_machine, began_ns),
    INSPECT_FIELD("machine.completed", struct gp_machine, completed),
    INSPECT_FIELD("machine.busy", struct gp_machine, busy),
    INSPECT_FIELD("machine.at_once", struct gp_machine, at_once),
    INSPECT_FIELD("machine.ns_sum", struct gp_machine, ns_sum),
    INSPECT_FIELD("machine.ns_last", struct gp_machine, ns_last),
    INSPECT_FIELD("machine.ns_max", struct gp_machine, ns_max),
    INSPECT_ARRAY("machine.ns_histogram", struct gp_machine, ns_histogram),
    INSPECT_ARRAY("node.word", struct gp_node, word),
};

const struct inspect_table gp_inspect_table = INSPECT_TABLE(fields);
