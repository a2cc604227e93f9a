/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Creation of library threads on first need, by one thread at a time; a refused creation is tried again later.
 *
 * tested by: test/unit/work/thread_state.cc, test/api/threads.cc, test/api/ending.cc
 */
#include <stdlib.h>

#include "work/work.h"

/* Interval between checks whether the process still has program threads. */
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
        ; /* at most twice: the state may become NEEDED */
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
    while (seen != WORK_RUNNING) { /* each iteration saw another state */
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
    call_begin(); /* a child that a handler forks from here on must end */
    void *result = thread->body(thread->argument);
    if (work_thread_is_me(thread)) /* false if the body has called work_thread_ended() itself */
        work_thread_ended(thread->work, thread);
    return result;
}

/* ---- shutting down ---- */

#define END_POLL_NS 50000

/* End one thread.  Wake it repeatedly until its body has returned, so that no check of the flag can miss the
 * wake-up.  Then wait until the kernel's thread has exited: its stack and its thread-local storage are free
 * afterwards. */
static void end(struct work_thread *thread)
{
    struct plat_thread_snapshot seen;
    struct plat_tid tid = plat_thread_tid(&thread->plat);
    if (!thread->body) /* driver=sched counts as running, without a thread */
        rtrcu_exchange(&thread->state, WORK_NONE);
    while (work_thread_exists(thread)) {
        if (plat_tid_is_nobody(tid))
            tid = plat_thread_tid(&thread->plat);
        work_thread_wake(thread);
        plat_clock_sleep(END_POLL_NS);
    }
    if (plat_tid_is_nobody(tid))
        return;
    for (plat_thread_snapshot(tid, &seen); seen.state != '?'; plat_thread_snapshot(tid, &seen)) /* '?': exited */
        plat_clock_sleep(END_POLL_NS);
}

void work_thread_end_all(struct work *work)
{
    rtrcu_exchange(&work->is_shut_down, 1);
    do { /* repeats only if a thread is created meanwhile */
        for (struct work_thread *thread = rtrcu_load_acquire(&work->made); thread;
             thread = rtrcu_load_relaxed(&thread->older))
            end(thread);
    } while ((uint32_t)rtrcu_load_acquire(&work->threads) != 0);
    rtrcu_store_release(&work->is_shut_down, 0);
}

/* ---- the end of the process ----
 *
 * A process whose main thread has called pthread_exit() ends with its last thread, so the library's threads would keep
 * it alive for ever.  Therefore one of them checks regularly whether any other thread is left, and ends the process as
 * the last thread would have: by exit(0), with the signals blocked that the process blocked when it began.  Pending
 * callbacks are lost, as at every end of a process; a running callback is waited for, since it is the program's
 * code.
 */

static bool invokes(const struct work *work)
{
    for (int room = 0; room < WORK_INVOKERS; room++) {
        const struct work_invokers *invokers = &work->invokers[room];
        if (invokers->any && invokers->any(invokers->owner))
            return true;
    }
    return false;
}

/* Are all threads of the process the library's?  The library's number is read before the kernel's, so no program thread
 * is mistaken for a library thread created meanwhile.  If it has changed afterwards, the answer is no: a program thread
 * could be mistaken for a library thread that has exited. */
static bool only_ours_are_left(struct work *work)
{
    uint64_t ours = rtrcu_load_acquire(&work->threads);
    int left = plat_threads_left();
    if (left < 0 || (uint32_t)ours != (uint32_t)left || invokes(work))
        return false;

    rtrcu_fence_full();
    return rtrcu_load_relaxed(&work->threads) == ours;
}

static void *end_body(void *argument)
{
    struct work *work = argument;
    uint32_t never = 0;
    while (!only_ours_are_left(work)) { /* ends with the program's last thread */
        if (!work_goes_on(work))
            return NULL;
        work_sleep(work, &never, 0, LOOK_NS);
    }
    plat_signals_initial(rtrcu_load_acquire(&work->attr));
    reader_self_clear(READER_STATE_OURS); /* functions called by exit() may block signals, and fork */
    call_end();
    exit(0);
}

/* If the main thread has ended, create the thread that ends the process.  If that is refused, the next creation of a
 * library thread tries again. */
static void start_end_thread(struct work *work)
{
    struct work_thread_spec start = {.name = "rtrcu-end", .body = end_body, .argument = work};
    sigset_t saved;
    if (rtrcu_load_relaxed(&work->main_ended) && work_thread_claim(work, &work->end, &saved) > 0)
        (void)work_thread_make(work, &work->end, &start, &saved);
}

/* Stores that the main thread has ended, then reads the number of library threads; work_thread_make() counts its
 * thread, then reads main_ended.  Both stores are atomic updates, so one of the two creates the thread that ends the
 * process. */
void work_main_ends(struct work *work)
{
    rtrcu_exchange(&work->main_ended, 1);
    if ((uint32_t)rtrcu_load_relaxed(&work->threads) != 0)
        start_end_thread(work);
}

/* ---- creating ---- */

/* Add @thread to work->made when it is first created.  Called by its creator; a thread has one creator at a time. */
static void note_made(struct work *work, struct work_thread *thread)
{
    if (thread->work)
        return;
    thread->work = work;
    struct work_thread *newest = rtrcu_load_relaxed(&work->made);
    do /* each further round means that another thread has been added */
        rtrcu_store_relaxed(&thread->older, newest);
    while (!rtrcu_compare_exchange(&work->made, &newest, thread));
}

/* Creates the thread, then counts it; work_thread_ended() uncounts it before its exit.  So the library never counts
 * more threads than the kernel. */
int work_thread_make(struct work *work, struct work_thread *thread, const struct work_thread_spec *start,
                     const sigset_t *saved)
{
    plat_thread_prepare(&thread->plat, start->name, begin_as_ours, thread, start->priority);
    thread->body = start->body;
    thread->argument = start->argument;
    thread->attr = start->attr ? start->attr : work_attr(work);
    note_made(work, thread);

    int error = start->body ? plat_thread_create(&thread->plat, thread->attr) : 0;
    if (error) {
        rtrcu_store_relaxed(&work->refused_ns, plat_clock_now());
        counter_add(&work->threads_refused, 1);
    } else if (start->body) {
        rtrcu_fetch_add(&work->threads, WORK_THREADS_CHANGE + 1);
    }

    uint32_t seen = WORK_STARTING;
    while ((seen & WORK_STARTING) && /* unless it has ended already; the second attempt finds it NEEDED */
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
    lock_acquire(&work->rt.lock); /* so no thread changes a priority by this id, which the kernel may reuse */
    plat_thread_renumber(&thread->plat, PLAT_NOBODY);
    lock_release(&work->rt.lock);
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
