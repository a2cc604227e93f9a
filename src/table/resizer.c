/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The resizer, one thread for all tables, and its fork handlers.
 *
 * Between two steps it holds no lock, so a fork finds every table between two moves.
 * tested by: test/unit/table/resize.cc
 */
#include "table/table.h"

/* Intervals at which the resizer polls for requests of deadline threads, which wake no thread: while one is online; and
 * while none is, since one may come online. */
#define DEADLINE_POLL_NS 10000000
#define IDLE_POLL_NS 1000000000

static void die_if_interrupted(void)
{
    if (lock_any_held(UINT32_C(1) << LOCK_RANK_RESIZER | UINT32_C(1) << LOCK_RANK_STRIPE))
        plat_die("rtrcu: thread %u: fork() inside an update of a hash table; use _Fork() in signal handlers\n",
                 lock_thread_number());
}

static void on_fork_prepare(void)
{
    die_if_interrupted();
    lock_acquire(&rtrcu_resizer.lock);
}

static void on_fork_parent(void)
{
    lock_release(&rtrcu_resizer.lock);
}

static bool any_stripe_held(const struct table *table)
{
    for (uint64_t i = 0; i <= table->stripe_mask; i++) {
        if (lock_is_held(&table->stripes[i].lock))
            return true;
    }
    return false;
}

/* Marks as torn each table with a stripe that a thread of the parent held: the child's resizer would wait for that
 * stripe for ever. */
static void on_fork_child(void)
{
    lock_reset(&rtrcu_resizer.lock);
    for (struct table *table = rtrcu_resizer.tables; table; table = table->next)
        table->torn |= any_stripe_held(table);
    (void)work_thread_after_fork(api_work(), &rtrcu_resizer.thread, PLAT_NOBODY);
}

void resizer_lock(void)
{
    lock_acquire(&rtrcu_resizer.lock);
    if (!rtrcu_resizer.hooked)
        rtrcu_resizer.hooked = plat_fork_hooks(on_fork_prepare, on_fork_parent, on_fork_child) == 0;
}

void resizer_unlock(void)
{
    lock_release(&rtrcu_resizer.lock);
}

/* Serve all tables once.  Returns nanoseconds until the next pass is due.  The gp is polled without the lock, since a
 * poll may advance the gp if no thread of the library can. */
static int64_t pass(struct resizer *resizer)
{
    resizer_lock();
    int64_t due = generation_free_retired(resizer);
    for (struct table *table = resizer->tables; table; table = table->next) {
        int64_t step = table_step(table);
        due = step < due ? step : due;
    }
    bool is_waiting = resizer->retired != NULL;
    uint64_t cookie = is_waiting ? resizer->retired->cookie : 0;
    resizer_unlock();

    if (is_waiting)
        (void)rtrcu_poll_state(cookie);
    return due;
}

/* The resizer's thread: alternately make a pass over all tables and sleep.  The event is read before the requests, so a
 * request after the pass ends the sleep. */
static void *body(void *argument)
{
    struct resizer *resizer = argument;
    struct work *work = api_work();
    while (work_goes_on(work)) {
        uint32_t event = work_thread_event(&resizer->thread);
        int64_t due = pass(resizer);
        int64_t poll = reader_deadline_is_online(api_registry()) ? DEADLINE_POLL_NS : IDLE_POLL_NS;
        if (due)
            work_thread_sleep(work, &resizer->thread, event, due < poll ? due : poll);
    }
    return NULL;
}

int resizer_start(void)
{
    struct work *work = api_work();
    struct work_thread_spec spec = {.name = "rtrcu-resize", .body = body, .argument = &rtrcu_resizer};
    sigset_t saved;
    int claimed = work_thread_claim(work, &rtrcu_resizer.thread, &saved);
    return claimed > 0 ? work_thread_make(work, &rtrcu_resizer.thread, &spec, &saved) : claimed;
}

bool resizer_notify(void)
{
    if (reader_self_is(READER_STATE_DEADLINE))
        return true;
    if (!work_thread_exists(&rtrcu_resizer.thread) && resizer_start() != 0)
        return false;
    work_thread_wake(&rtrcu_resizer.thread);
    return true;
}

/* [O31] Update's half; the resizer's half is count_and_begin().  The exchange is a full fence: the resizer, which finds
 * the request, sums the counts that the update stored before.  The wake-up is counted after the request is stored. */
void table_request(struct table *table)
{
    uint32_t asks = reader_self_is(READER_STATE_DEADLINE) ? TABLE_ASKED : TABLE_ASKED_AND_WOKEN;
    if (rtrcu_load_relaxed(&table->asked) >= asks && work_thread_exists(&rtrcu_resizer.thread))
        return;
    (void)rtrcu_exchange(&table->asked, asks);
    if (!resizer_notify())
        rtrcu_fetch_add(&table->no_resizer, 1);
}
