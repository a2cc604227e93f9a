/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Boosting the readers that hold up a grace period.
 *
 * A round samples each holdout's CPU time twice to find those that do not run, prepares their words, issues one heavy
 * fence, and then locks the words in turn.  While a word is locked, the kernel runs its reader at the booster's
 * priority.
 *
 * The boost worker does this, or a real-time caller that would otherwise have to wait for the worker; one thread at a
 * time.  A running reader needs no boost.  A reader that sleeps delays the worker's next reader by one slice, and makes
 * a caller stop boosting.  A reader that never ends its section is boosted up to a limit, in slices with pauses between
 * them, and is then left to the stall report.
 * tested by: test/api/boost.cc
 */
#include "turn/turn.h"

#define SLICE_NS 1000000 /* longest boost of one reader at a time */
#define ROOM_NS 100000   /* gap between the worker's two samples of a reader's CPU time */
#define ROUNDS 10        /* rounds for each request to boost */
#define BOOSTER_MAX 98   /* highest priority of the booster */
#define NUDGE_NS 200000  /* the kernel may spin this long for a running reader that has had its first slice */
#define NET_NS 10000000  /* the same limit for any other reader, whose section usually ends sooner */
#define NETS_IDLE 2      /* idle polls of the nudger before it sleeps */
#define NUDGER_LOOKS 100 /* polls for the nudger's appearance in one round */

bool turn_boost_is_due(struct gp_state *gp_state)
{
    const struct rtrcu_config *config = config_now(gp_state->turn->config);
    if (!config->boost)
        return false;
    if (gp_state->kind == GP_EXPEDITED)
        return true;

    int64_t now = plat_clock_now();
    bool flood = work_is_flooded(gp_state->turn->work, now);
    return flood || now - turn_began_ns(gp_state) >= config->boost_delay_us * 1000;
}

/* The readers of one leaf that the round boosts. */
struct round {
    struct reader_leaf *leaf;
    uint32_t chosen; /* the readers, as bits */
    struct plat_tid owner[READER_FANOUT];
    uint32_t armed[READER_FANOUT]; /* how often each record was armed, for reader_boost_confirmed() */
    int64_t sampled_cpu_ns[READER_FANOUT];
};

/* Iterate over leaves with holdouts: the next after @leaf, the first for NULL; NULL: none. holdouts() returns a leaf's
 * holdouts as bits. */
static struct reader_leaf *next_holdout_leaf(struct gp_state *gp_state, struct reader_leaf *leaf)
{
    return gp_next_holdout_leaf(gp_state->gp, gp_state->kind, leaf);
}

static uint32_t holdouts(const struct gp_state *gp_state, const struct reader_leaf *leaf)
{
    return gp_holdouts(gp_state->gp, gp_state->kind, leaf);
}

/* Has the thread not run since the sample? */
static bool stands_still(struct plat_tid thread, int64_t sampled_cpu_ns)
{
    return plat_clock_of_thread(thread) == sampled_cpu_ns;
}

/* Has this reader used up its boost limit in the grace period of @seq? */
static bool is_at_boost_limit(const struct turn *turn, const struct turn_slot *slot, uint64_t seq)
{
    return rtrcu_load_acquire(&slot->boosted_gp) == seq &&
           rtrcu_load_relaxed(&slot->boosted_ns) >= turn->boost_limit_ns;
}

/* May the calling thread boost @record in this grace period? */
static bool may_boost(struct gp_state *gp_state, struct reader_record *record, uint32_t *armed)
{
    uint64_t seq = turn_seq(gp_state);
    uint32_t nobody = 0;

    if (plat_tid_is(reader_thread_id(record), lock_thread_id()) || !reader_inside(record))
        return false;
    if (!stands_still(reader_thread_id(record), turn_slot(record)->sampled_cpu_ns))
        return false;
    if (gp_state->kind == GP_NORMAL && watch_sees_full(gp_state->turn->watch, record))
        return false; /* the reader itself causes the flood: it needs daemons, not CPU time */

    if (!rtrcu_compare_exchange(&turn_slot(record)->booster, &nobody, lock_thread_number()))
        return false;

    if (rtrcu_load_relaxed(&turn_slot(record)->boosted_gp) != seq) {
        rtrcu_store_relaxed(&turn_slot(record)->boosted_ns, 0);
        rtrcu_store_release(&turn_slot(record)->boosted_gp, seq);
    }

    bool allowed = !is_at_boost_limit(gp_state->turn, turn_slot(record), seq) && reader_boost(record, armed);
    if (!allowed)
        rtrcu_store_release(&turn_slot(record)->booster, 0);
    return allowed;
}

static void choose(struct gp_state *gp_state, struct round *round)
{
    struct reader_leaf *leaf = round->leaf;
    round->chosen = 0;

    reader_lock(leaf);
    struct reader_record *record;
    uint32_t left = holdouts(gp_state, leaf) & reader_registered(leaf);
    while ((record = reader_next(leaf, &left))) {
        uint32_t slot = reader_slot(record);
        if (!may_boost(gp_state, record, &round->armed[slot]))
            continue;
        round->chosen |= reader_bit(record);
        round->owner[slot] = reader_thread_id(record);
        round->sampled_cpu_ns[slot] = turn_slot(record)->sampled_cpu_ns;
    }
    reader_unlock(leaf);
}

static void end_boost(struct reader_record *record, struct plat_tid owner)
{
    reader_boost_withdraw(record, owner);
    rtrcu_store_release(&turn_slot(record)->booster, 0);
}

/* After a heavy fence: keep the readers that are still inside and will take their slow path.  True if some flags were
 * set again, so that another fence is needed. */
static bool confirm(struct gp_state *gp_state, struct round *round)
{
    struct reader_leaf *leaf = round->leaf;
    bool again = false;

    reader_lock(leaf);
    uint32_t is_holdout = holdouts(gp_state, leaf) & reader_registered(leaf);
    struct reader_record *record;
    for (uint32_t left = round->chosen; (record = reader_next(leaf, &left));) {
        uint32_t slot = reader_slot(record);
        bool same = (is_holdout & reader_bit(record)) && plat_tid_is(reader_thread_id(record), round->owner[slot]);
        if (same && reader_inside(record)) {
            again |= !reader_boost_confirmed(record, &round->armed[slot]);
        } else {
            round->chosen &= ~reader_bit(record);
            end_boost(record, round->owner[slot]);
        }
    }
    reader_unlock(leaf);

    return again;
}

uint64_t turn_boosts_of(const struct reader_record *record)
{
    const struct turn_slot *slot = turn_slot(record);
    bool own = rtrcu_load_relaxed(&slot->boosts_of) == reader_thread_id(record).number;
    return own ? rtrcu_load_relaxed(&slot->boosts) : 0;
}

/* Count a boost of @owner.  If the slot had a different owner before, the count starts at 1. */
static void count_for(struct turn_slot *slot, struct plat_tid owner)
{
    bool same = rtrcu_load_relaxed(&slot->boosts_of) == owner.number;
    rtrcu_store_relaxed(&slot->boosts, same ? rtrcu_load_relaxed(&slot->boosts) + 1 : 1);
    rtrcu_store_relaxed(&slot->boosts_of, owner.number);
}

static void count(struct turn *turn, struct reader_record *record, struct plat_tid owner, int64_t boosted_ns)
{
    int64_t all_ns = rtrcu_load_relaxed(&turn_slot(record)->boosted_ns) + boosted_ns;
    rtrcu_store_relaxed(&turn_slot(record)->boosted_ns, all_ns);
    count_for(turn_slot(record), owner);

    trace3(boost, turn->gp, owner.number, boosted_ns);
    counter_add(&turn->boosts, 1);
    counter_add(&turn->boost_ns, (uint64_t)boosted_ns);
    if ((uint64_t)boosted_ns > rtrcu_load_relaxed(&turn->boost_ns_max))
        rtrcu_store_relaxed(&turn->boost_ns_max, (uint64_t)boosted_ns);
    if (all_ns >= turn->boost_limit_ns)
        counter_add(&turn->boost_given_up, 1);
}

/* The priority of the boost worker: its own or that of the waiters for an expedited grace period, whichever is higher.
 * One level above it is left for the nudger. */
static int booster_priority(void *owner)
{
    struct turn *turn = owner;
    int own = config_now(turn->config)->kthread_prio, waits = own ? turn_expedited_priority(turn) : 0;
    int highest = waits > own ? waits : own;
    return highest < BOOSTER_MAX ? highest : BOOSTER_MAX;
}

/* ---- the nudge ----
 *
 * A thread that locks a priority-inheriting futex whose owner runs on another CPU spins in the kernel until the owner
 * stops running, even past the timeout.  At real-time priority it would hold its CPU for the rest of the section.  The
 * spin ends when a thread of higher priority becomes runnable on that CPU; the booster then goes to sleep.  The nudger
 * is that thread.  There is one nudger, so one thread boosts at a time.
 *
 * The kernel spins for a reader that did not run a moment ago only if the reader began to run within a microsecond, so
 * this is rare.  A wake-up for each boost would cost more than most boosts take, and would preempt readers.  So each
 * boost has a long timeout, and only a reader that did not leave within its first slice has a short one. */

static struct work_worker *nudger_of(const struct turn *turn)
{
    return work_worker(turn->work, WORK_WORKER_NUDGE);
}

static struct work_worker *booster_of(const struct turn *turn)
{
    return work_worker(turn->work, WORK_WORKER_BOOST);
}

/* The priority of the nudger: one above the thread that boosts, or that has boosted since the nudger woke.  Exact under
 * the nudger's lock; without it, a lower bound. */
static int nudger_priority(void *owner)
{
    struct turn *turn = owner;
    int own = booster_priority(turn), boosts = rtrcu_load_relaxed(&turn->boosting.priority);
    return (boosts > own ? boosts : own) + 1;
}

static void end_boosting(struct turn *turn)
{
    lock_acquire(work_worker_lock(nudger_of(turn)));
    turn->boosting.booster = PLAT_NOBODY;
    turn->boosting.cpu_at = NULL; /* the word may disappear when the calling thread exits */
    lock_release(work_worker_lock(nudger_of(turn)));
}

/* Make the calling thread, of @priority, the booster.  False: another thread boosts. */
static bool claim_boosting(struct turn *turn, int priority)
{
    struct turn_boosting *boosting = &turn->boosting;

    lock_acquire(work_worker_lock(nudger_of(turn)));
    bool free = plat_tid_is_nobody(boosting->booster);
    if (free) {
        boosting->booster = lock_thread_id();
        if (priority > rtrcu_load_relaxed(&boosting->priority))
            rtrcu_store_relaxed(&boosting->priority, priority);
        boosting->cpu_at = plat_cpu_address() ? plat_cpu_address() : &boosting->cpu;
    }
    lock_release(work_worker_lock(nudger_of(turn)));

    return free;
}

/* Begin to boost at @priority, the caller's own.  False: another thread boosts, or no nudger with a higher priority
 * exists. The nudger does not drop below the claimed priority, so it is raised after the claim. */
static bool begin_boosting(struct turn *turn, int priority)
{
    const struct work_worker *nudger = nudger_of(turn);
    if (!claim_boosting(turn, priority))
        return false;

    work_worker_lift(nudger_of(turn), priority + 1);
    if (work_worker_has_appeared(nudger) && work_worker_priority(nudger) > priority)
        return true;

    end_boosting(turn);
    return false;
}

/* Shorten the nudger's interval to the one that the next boost needs.  Called by the booster before it waits for a
 * reader.  @tightly: the reader has had its first slice. */
static void have_nudged(struct turn *turn, bool tightly)
{
    struct turn_boosting *boosting = &turn->boosting;
    int64_t nap_ns = tightly ? NUDGE_NS : NET_NS;

    lock_acquire(work_worker_lock(nudger_of(turn)));
    bool too_late = boosting->nap_ns == 0 || boosting->nap_ns > nap_ns;
    if (too_late)
        boosting->nap_ns = nap_ns;
    rtrcu_store_relaxed(&boosting->cpu, (uint32_t)plat_cpu_current());
    lock_release(work_worker_lock(nudger_of(turn)));

    if (too_late)
        work_worker_wake(nudger_of(turn));
}

/* One poll by the nudger: the CPU on which the booster runs, UINT32_MAX = no thread boosts; and the time until the next
 * poll.  If that is PLAT_FOREVER, the next booster has to wake the nudger. */
static uint32_t check_booster(struct turn *turn, uint32_t *idle, int64_t *nap_ns)
{
    struct turn_boosting *boosting = &turn->boosting;
    uint32_t cpu = UINT32_MAX;

    lock_acquire(work_worker_lock(nudger_of(turn)));
    if (!plat_tid_is_nobody(boosting->booster)) {
        cpu = rtrcu_load_relaxed(boosting->cpu_at);
        *idle = 0;
    } else if (boosting->nap_ns != 0) {
        boosting->nap_ns = *idle < NETS_IDLE ? NET_NS : 0;
        ++*idle;
    }

    if (boosting->nap_ns == 0)
        rtrcu_store_relaxed(&boosting->priority, 0);
    *nap_ns = boosting->nap_ns ? boosting->nap_ns : PLAT_FOREVER;
    lock_release(work_worker_lock(nudger_of(turn)));

    return cpu;
}

static void *nudge_body(void *argument)
{
    struct work_worker *worker = argument;
    struct turn *turn = work_worker_owner(worker);
    uint32_t here = UINT32_MAX, idle = 0;
    int64_t nap_ns;

    while (work_goes_on(turn->work)) {
        uint32_t event = work_worker_event(worker);
        work_worker_settle(worker, nudger_priority);
        work_worker_appears(worker);

        uint32_t there = check_booster(turn, &idle, &nap_ns);
        if (there != UINT32_MAX && there != here && plat_cpu_bind((int)there) == 0)
            here = there;
        work_worker_sleep(worker, event, nap_ns);
    }
    return NULL;
}

/* Called by the boost worker: wait until the nudger runs, since it might be kept from starting once the worker
 * boosts.  False: it does not run. */
static bool nudger_comes(struct turn *turn)
{
    for (int sample_cpu_time = 0; !work_worker_has_appeared(nudger_of(turn)); sample_cpu_time++) {
        /* The nudger's creation may have been refused, so request it each time; after a failure, the next round tries
         * again. */
        if (sample_cpu_time == NUDGER_LOOKS || work_worker_start(nudger_of(turn)) != 0)
            return false;
        plat_clock_sleep(ROOM_NS);
    }
    return true;
}

/* ---- the boost of one reader ---- */

/* Sleep on the reader's word: the kernel boosts the reader until it unlocks.  True if the slice ran out. */
static bool boost_one(struct turn *turn, struct reader_record *record, struct plat_tid owner)
{
    have_nudged(turn, rtrcu_load_relaxed(&turn_slot(record)->boosted_ns) > 0);

    int64_t began = plat_clock_now();
    int error = plat_futex_lock_pi(reader_boost_word(record), SLICE_NS);

    if (error == 0) {
        uint32_t mine = lock_thread_number();
        if (!rtrcu_compare_exchange(reader_boost_word(record), &mine, 0))
            (void)plat_futex_unlock_pi(reader_boost_word(record));
    } else if (error != -ETIMEDOUT && error != -ESRCH && error != -EAGAIN) {
        counter_add(&turn->boost_refused, 1);
    }

    if (error == 0 || error == -ETIMEDOUT)
        count(turn, record, owner, plat_clock_now() - began);
    end_boost(record, owner);
    return error == -ETIMEDOUT;
}

/* Boost the readers of one leaf.  True if a slice ran out; with @goes_on, the other readers are boosted in any case. */
static bool boost_leaf(struct gp_state *gp_state, struct reader_leaf *leaf, bool goes_on)
{
    struct round round = {.leaf = leaf};
    bool slow = false;

    choose(gp_state, &round);
    bool fenced = round.chosen != 0;
    while (round.chosen && (fenced = turn_fence(gp_state->turn)) && confirm(gp_state, &round))
        ; /* fence again: a reader's concurrent update had overwritten its flag, and confirm() set it again */

    struct reader_record *record;
    for (uint32_t left = round.chosen; (record = reader_next(leaf, &left));) {
        uint32_t slot = reader_slot(record);
        bool is_holdout = holdouts(gp_state, leaf) & reader_bit(record);
        if (fenced && is_holdout && (goes_on || !slow) && stands_still(round.owner[slot], round.sampled_cpu_ns[slot]))
            slow |= boost_one(gp_state->turn, record, round.owner[slot]);
        else
            end_boost(record, round.owner[slot]);
    }

    return slow;
}

/* First sample: the CPU time that each holdout has used. */
static void sample_cpu_time(struct gp_state *gp_state)
{
    for (struct reader_leaf *leaf = NULL; (leaf = next_holdout_leaf(gp_state, leaf));) {
        reader_lock(leaf);
        struct reader_record *record;
        for (uint32_t left = holdouts(gp_state, leaf) & reader_registered(leaf); (record = reader_next(leaf, &left));)
            turn_slot(record)->sampled_cpu_ns = plat_clock_of_thread(reader_thread_id(record));
        reader_unlock(leaf);
    }
}

/* Is a holdout a thread, not a parked task, and below its boost limit? */
static bool may_help(struct gp_state *gp_state)
{
    uint64_t seq = turn_seq(gp_state);

    for (struct reader_leaf *leaf = NULL; (leaf = next_holdout_leaf(gp_state, leaf));) {
        struct reader_record *record;
        for (uint32_t left = holdouts(gp_state, leaf); (record = reader_next(leaf, &left));) {
            if (!is_at_boost_limit(gp_state->turn, turn_slot(record), seq))
                return true;
        }
    }

    return false;
}

/* One round after the first sample.  True if a slice ran out. */
static bool boost_round(struct gp_state *gp_state, bool goes_on)
{
    bool slow = false;
    for (struct reader_leaf *leaf = NULL; (goes_on || !slow) && (leaf = next_holdout_leaf(gp_state, leaf));)
        slow |= boost_leaf(gp_state, leaf, goes_on);
    return slow;
}

/* Sample, wait for the gap, sample again, boost the readers that did not run. */
static void boost(struct gp_state *gp_state)
{
    struct turn *turn = gp_state->turn;
    for (int round = 0; round < ROUNDS && may_help(gp_state); round++) {
        sample_cpu_time(gp_state);
        plat_clock_sleep(ROOM_NS);

        if (!begin_boosting(turn, work_worker_priority(booster_of(turn))))
            continue; /* a real-time caller is boosting readers at this moment */

        bool slow = boost_round(gp_state, true);
        end_boosting(turn);
        if (slow) /* pause for as long as a slice, so that the rest of the program runs */
            plat_clock_sleep(SLICE_NS);
    }
}

/* Boosts in the calling thread.  A reader that this thread preempted runs only while this thread sleeps, that is,
 * during a boost.  So this thread takes both samples without a gap between them; they show which readers run on another
 * CPU. */
bool turn_boost_here(struct gp_state *gp_state)
{
    struct turn *turn = gp_state->turn;
    int own = plat_sched_rt_priority();
    if (own == 0 || own > BOOSTER_MAX || config_now(turn->config)->kthread_prio == 0 || own < booster_priority(turn))
        return false;

    if (!turn_boost_is_due(gp_state) || !begin_boosting(turn, own))
        return false;

    sample_cpu_time(gp_state);
    bool slow = boost_round(gp_state, false);
    end_boosting(turn);
    return !slow;
}

static bool start_booster(struct turn *turn)
{
    if (work_worker_start(booster_of(turn)) != 0)
        return false;

    work_worker_lift(nudger_of(turn), nudger_priority(turn));
    work_worker_lift(booster_of(turn), booster_priority(turn));
    work_worker_wake(booster_of(turn));
    return true;
}

/* A caller of class SCHED_DEADLINE cannot create threads: the driver tries, once for each refusal of a caller. */
void turn_boost(struct gp_state *gp_state)
{
    struct turn *turn = gp_state->turn;
    if (!may_help(gp_state))
        return;

    work_worker_want(booster_of(turn), 1u << gp_state->kind);
    if (start_booster(turn) || work_driver_is_me(turn->work))
        return; /* a driver that was refused the worker tries again at the next poll */
    if (!work_driver_has_thread(turn->work) || !work_driver_runs(turn->work))
        return;

    rtrcu_store_relaxed(&turn->booster_is_left, 1);
    work_driver_wake(turn->work, false);
}

void turn_boost_serve(struct turn *turn)
{
    if (!rtrcu_load_relaxed(&turn->booster_is_left) || !work_driver_is_me(turn->work))
        return;
    rtrcu_store_relaxed(&turn->booster_is_left, 0);
    work_retry(turn->work); /* the system may permit the driver the thread that it refused the caller */
    (void)start_booster(turn);
}

/* Can the worker boost?  Only with a real-time priority, and with a nudger of higher priority. */
static bool is_able(struct turn *turn)
{
    int own = work_worker_priority(booster_of(turn));
    return plat_sched_rt_priority() > 0 && nudger_comes(turn) && work_worker_priority(nudger_of(turn)) > own;
}

static void *boost_body(void *argument)
{
    struct work_worker *worker = argument;
    struct turn *turn = work_worker_owner(worker);
    work_worker_appears(worker);

    while (work_goes_on(turn->work)) {
        uint32_t event = work_worker_event(worker);
        work_worker_settle(worker, booster_priority);
        uint32_t wanted = work_worker_take_wanted(worker);

        bool able = is_able(turn);
        for (enum gp_kind kind = GP_NORMAL; kind < GP_KINDS && able; kind++) {
            if (wanted & 1u << kind)
                boost(turn_gp_state(turn, kind));
        }

        if (!able && wanted)
            counter_add(&turn->boost_refused, 1);
        work_worker_sleep(worker, event, PLAT_FOREVER);
    }
    return NULL;
}

int turn_helper_priority(const struct rtrcu_config *config, int creator)
{
    int own = config->kthread_prio, wanted = own < creator ? creator : own;
    if (own == 0)
        return 0;
    return wanted < BOOSTER_MAX ? wanted : BOOSTER_MAX;
}

static int first_nudger_priority(const struct rtrcu_config *config, int creator)
{
    int booster = turn_helper_priority(config, creator);
    return booster ? booster + 1 : 0;
}

const struct work_job turn_job_boost = {"rtrcu-boost", boost_body, turn_helper_priority, NULL};
const struct work_job turn_job_nudge = {"rtrcu-nudge", nudge_body, first_nudger_priority, NULL};
