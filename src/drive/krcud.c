/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* krcud/N: a daemon a CPU that invokes callbacks preemptibly, queue by queue.
 *
 * tested by: test/api/callbacks.cc
 */
#include <stdio.h>

#include "drive/drive.h"

/* A queue's turn before the next queue's; the daemon is preemptible, so this bounds unfairness, not latency. */
#define TURN_CALLBACKS 4096
#define FLOOD_NS 10000000 /* a backlog at qmax counts as a flood for so long */
#define LIFTED_NICE -15

static struct reader_record *take(struct krcud *krcud)
{
    lock_acquire(&krcud->lock);
    struct reader_record *record = krcud->first;
    if (record) {
        rtrcu_store_relaxed(&krcud->first, record->next_ready);
        if (!krcud->first)
            krcud->last = NULL;
        record->next_ready = NULL;
    }
    lock_release(&krcud->lock);
    return record;
}

static void append(struct krcud *krcud, struct reader_record *record, bool in_front)
{
    lock_acquire(&krcud->lock);
    invariant("INV-DR1", record->next_ready == NULL && rtrcu_load_relaxed(&record->listed));
    if (in_front && krcud->first) {
        record->next_ready = krcud->first;
        rtrcu_store_relaxed(&krcud->first, record);
        lock_release(&krcud->lock);
        return;
    }
    if (krcud->last)
        krcud->last->next_ready = record;
    else
        rtrcu_store_relaxed(&krcud->first, record);
    krcud->last = record;
    lock_release(&krcud->lock);
}

/* A cpuset that shrank took our CPU away, and may have given it back. */
static void stay_home(struct krcud *krcud)
{
    if (krcud->bound && plat_cpu_current() != (int)krcud->cpu)
        krcud->bound = plat_cpu_bind((int)krcud->cpu) == 0;
}

/* Above ordinary threads while a backlog is at qmax, as far as we may be. */
static void lift(struct krcud *krcud)
{
    const struct rtrcu_config *config = callback_config(krcud->drive->cb);
    bool flood = plat_clock_now() - rtrcu_load_relaxed(&krcud->drive->flooded_ns) < FLOOD_NS;
    if (config->krcud_rtprio > 0 || flood == krcud->lifted)
        return;
    krcud->lifted = flood;
    (void)plat_sched_set(0, flood ? LIFTED_NICE : config->krcud_nice);
}

/* One turn of a queue.  It goes to the end of the list if it has more, or is given back. */
static void serve(struct krcud *krcud, struct reader_record *record)
{
    struct callback_budget budget = {.count_max = TURN_CALLBACKS, .may_wait = true};
    stay_home(krcud);
    lift(krcud);
    uint64_t done = callback_invoke(krcud->drive->cb, record, &budget);
    drive_progress(krcud->drive);
    if (done && callback_has_ready(record)) {
        append(krcud, record, false);
        return;
    }
    /* Empty, or its owner has the claim, or a link is unfinished: the driver's next tick gives it again.  [O8] the
     * word is exchanged, then the hint is read; callback_advance() stores the hint, then drive_krcud_give() exchanges
     * the word. */
    rtrcu_exchange(&record->listed, 0);
    if (done && callback_has_ready(record) && !rtrcu_exchange(&record->listed, 1))
        append(krcud, record, false);
    else
        callback_release_slot(record);
}

static void set_scheduling(struct krcud *krcud)
{
    const struct rtrcu_config *config = callback_config(krcud->drive->cb);
    if (plat_sched_set(config->krcud_rtprio, config->krcud_nice) != 0) {
        rtrcu_fetch_add(&krcud->drive->rt_refused, 1);
        plat_sched_set(0, 0);
    }
    krcud->bound = plat_cpu_bind((int)krcud->cpu) == 0; /* a CPU that is not in our set: run where we may */
}

static void *body(void *argument)
{
    struct krcud *krcud = argument;
    set_scheduling(krcud);
    for (;;) { /* for the life of the process */
        uint32_t event = rtrcu_load_acquire(&krcud->event);
        struct reader_record *record = take(krcud);
        if (record) {
            serve(krcud, record);
            continue;
        }
        rtrcu_exchange(&krcud->sleeping, 1);
        if (!rtrcu_load_acquire(&krcud->first))
            plat_futex_wait(&krcud->event, event, PLAT_FOREVER);
        rtrcu_store_release(&krcud->sleeping, 0);
    }
    return NULL;
}

static int start(struct krcud *krcud)
{
    uint32_t none = DRIVE_NONE;
    struct plat_thread thread;
    char name[16];
    if (rtrcu_load_acquire(&krcud->state) != DRIVE_NONE)
        return 0;
    if (!rtrcu_compare_exchange(&krcud->state, &none, DRIVE_STARTING))
        return 0;
    snprintf(name, sizeof(name), "krcud/%u", krcud->cpu);
    int error = plat_thread_create(&thread, name, body, krcud);
    if (!error)
        plat_thread_detach(&thread);
    rtrcu_store_release(&krcud->state, error ? DRIVE_NONE : DRIVE_RUNNING);
    return error;
}

void drive_krcud_serve_here(struct drive *drive, struct reader_record *record)
{
    const struct reader_record *own = rtrcu_self.record;
    struct callback_budget budget = {.count_max = TURN_CALLBACKS, .may_wait = true};
    if (own) /* another thread's callbacks must not overrun our deadline either */
        budget.deadline_ns = own->deadline_ns;
    if (rtrcu_exchange(&record->listed, 1))
        return;
    callback_invoke(drive->cb, record, &budget);
    drive_progress(drive);
    rtrcu_exchange(&record->listed, 0);
    callback_release_slot(record);
}

void drive_krcud_give(struct drive *drive, struct reader_record *record, uint32_t cpu, bool urgent)
{
    struct krcud *krcud = &drive->krcud[cpu % PLAT_CPU_MAX];
    if (rtrcu_load_relaxed(&record->listed) || rtrcu_exchange(&record->listed, 1))
        return;
    rtrcu_fetch_add(&drive->krcud_given, 1);
    append(krcud, record, urgent);
    if (start(krcud) != 0) { /* no thread to be had now: the driver, who is preemptible too, does it */
        struct reader_record *own = take(krcud);
        if (own)
            serve(krcud, own);
        return;
    }
    rtrcu_fence_full();
    if (rtrcu_load_relaxed(&krcud->sleeping)) {
        rtrcu_fetch_add(&krcud->event, 1);
        plat_futex_wake(&krcud->event, 1);
    }
}

int drive_krcud_start_all(struct drive *drive)
{
    int error = 0;
    for (int cpu = 0; cpu < plat_cpu_highest() && !error; cpu++) {
        if (plat_cpu_allowed(cpu))
            error = start(&drive->krcud[cpu]);
    }
    return error;
}
