/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of the library: made when first needed, by one maker at a time; one that is refused is tried again.
 *
 * tested by: test/unit/work/thread_state.cc, test/api/threads.cc, test/api/ending.cc
 */
#include <stdlib.h>

#include "work/work.h"

/* How often it is looked whether the process has threads of its own. */
#define LOOK_NS 50000000

bool work_thread_hold(struct work_thread *thread)
{
    uint32_t none = WORK_NONE;
    return rtrcu_compare_exchange(&thread->state, &none, WORK_STARTING);
}

bool work_thread_release(struct work_thread *thread)
{
    uint32_t seen = WORK_STARTING;
    while ((seen & WORK_STARTING) && !rtrcu_compare_exchange(&thread->state, &seen, WORK_NONE))
        ; /* a second turn finds it ASKED for */
    return seen & WORK_NEEDED;
}

static bool was_refused(const struct work *work)
{
    int64_t refused = rtrcu_load_relaxed(&work->refused_ns);
    return refused && plat_clock_now() - refused < work_tick_ns(work);
}

int work_thread_claim(struct work *work, struct work_thread *thread, sigset_t *saved)
{
    uint32_t seen = rtrcu_load_acquire(&thread->state);
    if (seen == WORK_NONE && was_refused(work))
        return -EAGAIN;
    if (seen == WORK_RUNNING)
        return 0;

    plat_signals_block(saved);
    while (seen != WORK_RUNNING) { /* each turn saw another state */
        uint32_t next = seen == WORK_NONE ? WORK_STARTING : WORK_STARTING | WORK_NEEDED;
        if (!rtrcu_compare_exchange(&thread->state, &seen, next))
            continue;
        if (seen == WORK_NONE)
            return 1;
        break;
    }

    plat_signals_restore(saved);
    return 0;
}

static void *begin_as_ours(void *argument)
{
    struct work_thread *thread = argument;
    reader_self_set(READER_STATE_OURS);
    call_begin(); /* a handler that forks here leaves a child without this thread's other half */
    return thread->body(thread->argument);
}

/* ---- the end of the process ----
 *
 * The C library ends a process whose main thread has called pthread_exit() with its last thread, and would wait for
 * ours for ever.  So a thread of ours looks now and then whether any other is left, and ends the process as the last
 * one would have: by exit(0), with the signals blocked that the process blocked at its beginning.  Callbacks that wait
 * are lost, as at every end of a process; one that runs is waited for, since it is the program's.
 */

/* The number is read before the kernel's: so nobody else's thread is taken for one of ours that was made meanwhile; and
 * it must not have changed behind that, lest one is taken for one of ours that has gone. */
static bool only_ours_are_left(struct work *work)
{
    uint64_t ours = rtrcu_load_acquire(&work->threads);
    int left = plat_threads_left();
    if (left < 0 || (uint32_t)ours != (uint32_t)left || work->anybody_serves(work->serve))
        return false;

    rtrcu_fence_full();
    return rtrcu_load_relaxed(&work->threads) == ours;
}

static void *end_body(void *argument)
{
    struct work *work = argument;
    uint32_t never = 0;
    while (!only_ours_are_left(work)) /* ends with the program's last thread */
        work_sleep(work, &never, 0, LOOK_NS);
    plat_signals_initial(rtrcu_load_acquire(&work->attr));
    reader_self_clear(READER_STATE_OURS); /* what exit() calls may block signals, and fork */
    call_end();
    exit(0);
}

/* Where it is refused, the next thread of ours that is made tries again. */
static void start_end_thread(struct work *work)
{
    struct work_thread_spec start = {.name = "rtrcu-end", .body = end_body, .argument = work};
    sigset_t saved;
    if (rtrcu_load_relaxed(&work->main_ended) && work_thread_claim(work, &work->end, &saved) > 0)
        (void)work_thread_make(work, &work->end, &start, &saved);
}

/* The flag is stored, then the number is read; the maker of a thread counts it, then reads the flag: both by updates.
 * */
void work_main_ends(struct work *work)
{
    rtrcu_exchange(&work->main_ended, 1);
    if ((uint32_t)rtrcu_load_relaxed(&work->threads) != 0)
        start_end_thread(work);
}

/* ---- making it ---- */

/* It is counted once it is there, and no longer before it goes: so the kernel counts no fewer. */
int work_thread_make(struct work *work, struct work_thread *thread, const struct work_thread_spec *start,
                     const sigset_t *saved)
{
    plat_thread_prepare(&thread->plat, start->name, begin_as_ours, thread, start->priority);
    thread->body = start->body;
    thread->argument = start->argument;
    thread->attr = start->attr ? start->attr : work_attr(work);

    int error = start->body ? plat_thread_create(&thread->plat, thread->attr) : 0;
    if (error) {
        rtrcu_store_relaxed(&work->refused_ns, plat_clock_now());
        counter_add(&work->threads_refused, 1);
    } else if (start->body) {
        rtrcu_fetch_add(&work->threads, WORK_THREADS_CHANGE + 1);
    }

    uint32_t seen = WORK_STARTING;
    while ((seen & WORK_STARTING) && /* unless it has ended already; a second turn finds it ASKED for */
           !rtrcu_compare_exchange(&thread->state, &seen, error ? WORK_NONE : WORK_RUNNING))
        ;

    plat_signals_restore(saved);
    if (!error)
        start_end_thread(work);
    return error;
}

bool work_thread_is_me(const struct work_thread *thread)
{
    return plat_tid_is(plat_thread_tid(&thread->plat), lock_thread_id());
}

void work_thread_ended(struct work *work, struct work_thread *thread)
{
    rtrcu_fetch_add(&work->threads, WORK_THREADS_CHANGE - 1);
    plat_thread_renumber(&thread->plat, PLAT_NOBODY); /* the number may be another thread's next */
    uint32_t before = rtrcu_exchange(&thread->state, WORK_NONE);
    invariant("INV-DR2", before != WORK_NONE);
    (void)before;
}

/* ---- sleeping and waking ---- */

void work_thread_wake(struct work_thread *thread)
{
    rtrcu_fetch_add(&thread->event, 1);
    plat_futex_wake(&thread->event, 1);
}

void work_thread_sleep(struct work *work, struct work_thread *thread, uint32_t event, int64_t timeout_ns)
{
    work_sleep(work, &thread->event, event, timeout_ns);
}

void work_thread_prepare_sleep(struct work_thread *thread, enum work_sleep how)
{
    uint32_t before = rtrcu_exchange(&thread->sleeping, how);
    invariant("INV-DR3", before == WORK_AWAKE);
    (void)before;
}

void work_thread_set_ticking(struct work_thread *thread)
{
    invariant("INV-DR3", work_thread_sleeps(thread) == WORK_ASLEEP);
    rtrcu_store_relaxed(&thread->sleeping, WORK_TICKING);
}

void work_thread_finish_sleep(struct work_thread *thread)
{
    rtrcu_store_release(&thread->sleeping, WORK_AWAKE);
}

bool work_thread_after_fork(struct work *work, struct work_thread *thread, struct plat_tid old_thread_id)
{
    bool survives = !plat_tid_is_nobody(old_thread_id) && plat_tid_is(plat_thread_tid(&thread->plat), old_thread_id);
    thread->state = survives ? WORK_RUNNING : WORK_NONE;
    plat_thread_renumber(&thread->plat, survives ? lock_thread_id() : PLAT_NOBODY);
    thread->event = 0;
    thread->sleeping = WORK_AWAKE;
    if (survives)
        rtrcu_store_relaxed(&work->threads, 1);
    return survives;
}
