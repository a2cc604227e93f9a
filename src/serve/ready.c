/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The descriptor by which a thread that sleeps in an event loop learns that its callbacks are ready.
 *
 * The program closes the number that it has received.  The library sets and clears its own duplicate, so it never
 * touches a number that the program has closed and the kernel has assigned again.
 * tested by: test/api/ready.cc
 */
#include "serve/serve.h"

static struct serve_ready *ready_of(const struct reader_record *record)
{
    return &serve_slot(record)->ready;
}

/* The number of the library's duplicate of the descriptor, -1 = the thread has no ready descriptor. */
static int number_of(const struct serve_ready *ready)
{
    return rtrcu_load_relaxed(&ready->number) - 1;
}

/* QUIET -> SETTING.  False: the event is set already, or another thread sets it. */
static bool begin_setting(struct serve_ready *ready)
{
    uint32_t before = SERVE_READY_QUIET;
    return rtrcu_compare_exchange(&ready->state, &before, SERVE_READY_SETTING);
}

/* SETTING -> SET, and true.  TAKEN -> QUIET, and false: the owner has run callbacks since the setter began.  An
 * edge-triggered loop may have received its edge before the owner ran them, so the setter clears the event: callbacks
 * that are ready now need another edge. */
static bool end_setting(struct serve_ready *ready)
{
    uint32_t before = SERVE_READY_SETTING;
    if (rtrcu_compare_exchange(&ready->state, &before, SERVE_READY_SET))
        return true;

    plat_event_clear(number_of(ready));
    rtrcu_exchange(&ready->state, SERVE_READY_QUIET); /* [O28] */
    return false;
}

/* SETTING -> TAKEN, SET -> QUIET, with the event cleared.  True: the caller checks again for ready callbacks.  False:
 * the setter checks, or nothing was set.  The owner clears the event even while a setter runs, since a setter that
 * this thread has preempted may not run before the loop sleeps.  The round repeats if a setter has continued since the
 * state was read: this thread may have cleared that setter's new event. */
static bool take(struct serve_ready *ready)
{
    for (;;) { /* each further round needs another step of a setter */
        uint32_t before = SERVE_READY_SETTING;
        if (rtrcu_compare_exchange(&ready->state, &before, SERVE_READY_TAKEN))
            before = SERVE_READY_TAKEN;
        if (before == SERVE_READY_QUIET)
            return false;

        plat_event_clear(number_of(ready)); /* before the state changes: an event that is set after QUIET stays set */
        if (before == SERVE_READY_SET) {
            rtrcu_exchange(&ready->state, SERVE_READY_QUIET); /* [O28] */
            return true;
        }
        if (rtrcu_load_acquire(&ready->state) == SERVE_READY_TAKEN)
            return false;
    }
}

/* Set the event, unless it is set.  The loop ends, since each further round needs another call of the owner. */
static void set(struct serve_ready *ready, const struct reader_record *record)
{
    while (begin_setting(ready)) {
        plat_event_set(number_of(ready));
        if (end_setting(ready) || !callback_has_ready(record))
            return;
    }
}

/* [O28] Setter half: callback_advance() has stored that callbacks are ready, then we fence and read the state.  The
 * owner's half is serve_ready_settle(), by take().
 *  - The store of callback_advance() first:  the owner stores QUIET, then looks again, and finds the ready callbacks;
 *  - The owner's QUIET first:  we find the state QUIET, and set the event.
 * Forbidden: the setter finds the event set AND the owner, which then clears the event, finds no ready callback. */
void serve_ready_notify(struct reader_leaf *leaf, uint32_t owners)
{
    struct reader_record *record;
    if (!owners)
        return;

    rtrcu_fence_full();
    while ((record = reader_next(leaf, &owners))) {
        struct serve_ready *ready = ready_of(record);
        bool served = rtrcu_load_relaxed(&serve_slot(record)->listed); /* a daemon runs its ready callbacks */
        if (number_of(ready) < 0 || served || rtrcu_load_relaxed(&ready->state) != SERVE_READY_QUIET)
            continue;

        lock_acquire(&ready->lock);
        if (number_of(ready) >= 0)
            set(ready, record);
        lock_release(&ready->lock);
    }
}

/* If callbacks remain, the event stays set, and is set once more: an edge-triggered loop needs another edge.  If the
 * owner could run none (a daemon runs them, the deadline is near, the policy pauses), the event is cleared, so that an
 * event loop does not spin; the driver's next tick sets the event again. */
void serve_ready_settle(struct reader_record *record, bool stuck)
{
    struct serve_ready *ready = ready_of(record);
    if (number_of(ready) < 0)
        return;

    bool left = callback_has_ready(record) && !stuck;
    if (left && rtrcu_load_acquire(&ready->state) == SERVE_READY_SET) {
        plat_event_set(number_of(ready));
        return;
    }

    bool cleared = take(ready);
    if (left || (cleared && !stuck && callback_has_ready(record))) /* [O28] */
        set(ready, record);
}

static void show(struct serve_ready *ready, int32_t number)
{
    lock_acquire(&ready->lock);
    rtrcu_store_relaxed(&ready->number, number);
    rtrcu_store_relaxed(&ready->state, SERVE_READY_QUIET);
    lock_release(&ready->lock);
}

int serve_ready_open(struct reader_record *record)
{
    struct serve_ready *ready = ready_of(record);
    if (number_of(ready) >= 0)
        return plat_event_duplicate(number_of(ready), false);

    int number = plat_event_make();
    if (number < 0)
        return number;

    int own = plat_event_duplicate(number, true);
    if (own < 0) {
        plat_event_close(number);
        return own;
    }

    show(ready, own + 1);
    rtrcu_fence_full();
    if (callback_has_ready(record)) /* [O28] a setter that found no descriptor has stored its ready callbacks before */
        set(ready, record);
    return number;
}

void serve_ready_close(struct reader_record *record)
{
    struct serve_ready *ready = ready_of(record);
    int own = number_of(ready);
    if (own < 0)
        return;

    show(ready, 0);
    plat_event_close(own);
}

void serve_ready_after_fork(struct reader_record *record)
{
    struct serve_ready *ready = ready_of(record);
    int own = number_of(ready);

    lock_reset(&ready->lock);
    ready->number = 0;
    ready->state = SERVE_READY_QUIET;
    if (own >= 0)
        plat_event_close(own);
}
