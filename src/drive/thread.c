/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of the library: made when first needed, by one maker at a time; one that is refused is tried again.
 *
 * tested by: test/unit/drive/thread_state.cc, test/api/threads.cc, test/api/ending.cc
 */
#include <stdlib.h>
#include <string.h>

#include "drive/drive.h"

/* How often it is looked whether the process has threads of its own. */
#define LOOK_NS 50000000

static bool is_same_home(const struct plat_home *one, const struct plat_home *other)
{
    return one->stack_bytes == other->stack_bytes && memcmp(&one->cpus, &other->cpus, sizeof(one->cpus)) == 0;
}

const struct plat_home *drive_home_on(struct drive *drive, const struct rtrcu_config *settings)
{
    struct plat_home wanted = drive->process;
    struct plat_cpus cpus;
    if (settings->cpus[0] && plat_cpus_parse(settings->cpus, &cpus) == 0) { /* the list was checked */
        plat_cpus_cut(&cpus);
        wanted.cpus = cpus;
    }
    plat_home_stack(&wanted, (size_t)settings->stack_kb * 1024);

    if (is_same_home(&wanted, &drive->process))
        return &drive->process;
    for (struct drive_home *home = drive->homes; home; home = home->older) {
        if (is_same_home(&wanted, &home->home))
            return &home->home;
    }

    struct drive_home *home = plat_mem_pages(sizeof(*home));
    if (!home)
        return NULL;

    home->home = wanted;
    home->older = drive->homes;
    drive->homes = home;
    return &home->home;
}

bool drive_thread_hold(struct drive_thread *thread)
{
    uint32_t none = DRIVE_NONE;
    return rtrcu_compare_exchange(&thread->state, &none, DRIVE_STARTING);
}

bool drive_thread_let(struct drive_thread *thread)
{
    uint32_t seen = DRIVE_STARTING;
    while ((seen & DRIVE_STARTING) && !rtrcu_compare_exchange(&thread->state, &seen, DRIVE_NONE))
        ; /* a second turn finds it ASKED for */
    return seen & DRIVE_ASKED;
}

int drive_thread_claim(struct drive *drive, struct drive_thread *thread)
{
    uint32_t seen = rtrcu_load_acquire(&thread->state);

    if (seen == DRIVE_NONE) {
        int64_t refused = rtrcu_load_relaxed(&drive->refused_ns);
        if (refused && plat_clock_now() - refused < drive_tick_ns(drive))
            return -EAGAIN;
    }

    while (seen != DRIVE_RUNNING) { /* each turn saw another state */
        uint32_t next = seen == DRIVE_NONE ? DRIVE_STARTING : DRIVE_STARTING | DRIVE_ASKED;
        if (rtrcu_compare_exchange(&thread->state, &seen, next))
            return seen == DRIVE_NONE;
    }
    return 0;
}

/* Counted once it is there, and no longer before it goes: so the kernel counts no fewer. */
static int create(struct drive *drive, struct drive_thread *thread)
{
    const struct plat_home *home = thread->home ? thread->home : rtrcu_load_acquire(&drive->home);
    int error = plat_thread_create(&thread->plat, home);
    if (!error)
        rtrcu_fetch_add(&drive->threads, DRIVE_THREADS_CHANGE + 1);
    return error;
}

static void *begin_as_ours(void *argument)
{
    struct drive_thread *thread = argument;
    reader_self_set(READER_STATE_OURS);
    call_begin(); /* a handler that forks here leaves a child without this thread's other half */
    return thread->body(thread->argument);
}

static int make(struct drive *drive, struct drive_thread *thread, const struct drive_thread_spec *start)
{
    plat_thread_prepare(&thread->plat, start->name, begin_as_ours, thread, start->priority);
    thread->body = start->body;
    thread->argument = start->argument;
    thread->home = start->home;

    int error = start->body ? create(drive, thread) : 0;
    if (error) {
        rtrcu_store_relaxed(&drive->refused_ns, plat_clock_now());
        counter_add(&drive->threads_refused, 1);
    }

    uint32_t seen = DRIVE_STARTING;
    while ((seen & DRIVE_STARTING) && /* unless it has ended already; a second turn finds it ASKED for */
           !rtrcu_compare_exchange(&thread->state, &seen, error ? DRIVE_NONE : DRIVE_RUNNING))
        ;
    return error;
}

bool drive_thread_is_me(const struct drive_thread *thread)
{
    return plat_tid_is(plat_thread_tid(&thread->plat), lock_thread_id());
}

/* ---- the end of the process ----
 *
 * The C library ends a process whose main thread has called pthread_exit() with its last thread, and would wait for
 * ours for ever.  So a thread of ours looks now and then whether any other is left, and ends the process as the last
 * one would have: by exit(0), with the signals blocked that the process blocked at its beginning.  Callbacks that wait
 * are lost, as at every end of a process; one that runs is waited for, since it is the program's.
 */

static bool is_at_work(struct krcud *krcud)
{
    lock_acquire(&krcud->lock);
    bool serving = krcud->serving != 0;
    lock_release(&krcud->lock);
    return serving;
}

bool drive_anybody_at_work(struct drive *drive)
{
    bool found = is_at_work(&drive->aside);
    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX && !found; cpu++)
        found = rtrcu_load_acquire(&drive->krcud[cpu].thread.state) != DRIVE_NONE && is_at_work(&drive->krcud[cpu]);
    return found;
}

/* The number is read before the kernel's: so nobody else's thread is taken for one of ours that was made meanwhile; and
 * it must not have changed behind that, lest one is taken for one of ours that has gone. */
static bool only_ours_are_left(struct drive *drive)
{
    uint64_t ours = rtrcu_load_acquire(&drive->threads);
    int left = plat_threads_left();
    if (left < 0 || (uint32_t)ours != (uint32_t)left || drive_anybody_at_work(drive))
        return false;

    rtrcu_fence_full();
    return rtrcu_load_relaxed(&drive->threads) == ours;
}

static void *end_body(void *argument)
{
    struct drive *drive = argument;
    uint32_t never = 0;
    while (!only_ours_are_left(drive)) /* ends with the program's last thread */
        drive_sleep(drive, &never, 0, LOOK_NS);
    plat_signals_home(rtrcu_load_acquire(&drive->home));
    reader_self_clear(READER_STATE_OURS); /* what exit() calls may block signals, and fork */
    call_end();
    exit(0);
}

/* Where it is refused, the next thread of ours that is made tries again. */
static void watch_end(struct drive *drive)
{
    struct drive_thread *thread = &drive->end;
    sigset_t saved;
    if (!rtrcu_load_relaxed(&drive->main_ended))
        return;

    plat_signals_block(&saved);
    if (drive_thread_claim(drive, thread) > 0)
        (void)make(drive, thread,
                   &(struct drive_thread_spec){.name = "rtrcu-end", .body = end_body, .argument = drive});
    plat_signals_restore(&saved);
}

/* The flag is stored, then the number is read; the maker of a thread counts it, then reads the flag: both by updates.
 * */
void drive_main_ends(struct drive *drive)
{
    rtrcu_exchange(&drive->main_ended, 1);
    if ((uint32_t)rtrcu_load_relaxed(&drive->threads) != 0)
        watch_end(drive);
}

int drive_thread_make(struct drive *drive, struct drive_thread *thread, const struct drive_thread_spec *start)
{
    int error = make(drive, thread, start);
    if (!error)
        watch_end(drive);
    return error;
}

int drive_thread_start(struct drive *drive, struct drive_thread *thread, const struct drive_thread_spec *start)
{
    sigset_t saved;
    plat_signals_block(&saved);
    int error = drive_thread_claim(drive, thread);
    if (error > 0)
        error = drive_thread_make(drive, thread, start);
    plat_signals_restore(&saved);
    return error;
}

void drive_thread_ended(struct drive *drive, struct drive_thread *thread)
{
    rtrcu_fetch_add(&drive->threads, DRIVE_THREADS_CHANGE - 1);
    plat_thread_renumber(&thread->plat, PLAT_NOBODY); /* the number may be another thread's next */
    uint32_t before = rtrcu_exchange(&thread->state, DRIVE_NONE);
    invariant("INV-DR2", before != DRIVE_NONE);
    (void)before;
}

/* ---- sleeping and waking ---- */

void drive_thread_wake(struct drive_thread *thread)
{
    rtrcu_fetch_add(&thread->event, 1);
    plat_futex_wake(&thread->event, 1);
}

void drive_thread_sleep(struct drive *drive, struct drive_thread *thread, uint32_t event, int64_t timeout_ns)
{
    drive_sleep(drive, &thread->event, event, timeout_ns);
}

void drive_thread_lies_down(struct drive_thread *thread, enum drive_sleep how)
{
    uint32_t before = rtrcu_exchange(&thread->sleeping, how);
    invariant("INV-DR3", before == DRIVE_AWAKE);
    (void)before;
}

void drive_thread_ticks(struct drive_thread *thread)
{
    invariant("INV-DR3", drive_thread_sleeps(thread) == DRIVE_IDLE);
    rtrcu_store_relaxed(&thread->sleeping, DRIVE_TICKING);
}

void drive_thread_gets_up(struct drive_thread *thread)
{
    rtrcu_store_release(&thread->sleeping, DRIVE_AWAKE);
}

bool drive_thread_after_fork(struct drive_thread *thread, struct plat_tid old_thread_id)
{
    bool survives = !plat_tid_is_nobody(old_thread_id) && plat_tid_is(plat_thread_tid(&thread->plat), old_thread_id);
    thread->state = survives ? DRIVE_RUNNING : DRIVE_NONE;
    plat_thread_renumber(&thread->plat, survives ? lock_thread_id() : PLAT_NOBODY);
    thread->event = 0;
    thread->sleeping = DRIVE_AWAKE;
    return survives;
}
