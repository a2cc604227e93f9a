/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of the library: made when first needed, by one maker at a time; one that is refused is tried again.
 *
 * tested by: test/api/threads.cc
 */
#include "drive/drive.h"

const struct plat_home *drive_home_on(struct drive *drive, const char *cpus)
{
    if (!cpus[0])
        return &drive->process;
    struct plat_home *home = plat_mem_pages(sizeof(*home)); /* never freed: who makes a thread may still look at it */
    if (!home)
        return NULL;
    *home = drive->process;
    (void)plat_cpus_parse(cpus, &home->cpus); /* it was checked */
    return home;
}

void drive_home_discard(struct drive *drive, const struct plat_home *home)
{
    if (home && home != &drive->process)
        plat_mem_release((void *)(uintptr_t)home, sizeof(*home));
}

bool drive_thread_hold(struct drive_thread *thread)
{
    uint32_t none = DRIVE_NONE;
    return rtrcu_compare_exchange(&thread->state, &none, DRIVE_STARTING);
}

bool drive_thread_let(struct drive_thread *thread)
{
    return rtrcu_exchange(&thread->state, DRIVE_NONE) & DRIVE_ASKED;
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

int drive_thread_make(struct drive *drive, struct drive_thread *thread)
{
    int error = thread->plat.body ? plat_thread_create(&thread->plat, rtrcu_load_acquire(&drive->home)) : 0;
    if (error) {
        rtrcu_store_relaxed(&drive->refused_ns, plat_clock_now());
        rtrcu_fetch_add(&drive->threads_refused, 1);
    }
    uint32_t seen = DRIVE_STARTING;
    while ((seen & DRIVE_STARTING) && /* unless it has ended already; a second turn finds it ASKED for */
           !rtrcu_compare_exchange(&thread->state, &seen, error ? DRIVE_NONE : DRIVE_RUNNING))
        ;
    return error;
}

bool drive_thread_is_me(const struct drive_thread *thread)
{
    return rtrcu_load_acquire(&thread->plat.thread_id) == lock_thread_id();
}

void drive_thread_ended(struct drive_thread *thread)
{
    rtrcu_exchange(&thread->state, DRIVE_NONE);
}

bool drive_thread_after_fork(struct drive_thread *thread, uint32_t old_thread_id)
{
    bool survives = old_thread_id != 0 && thread->plat.thread_id == old_thread_id;
    thread->state = survives ? DRIVE_RUNNING : DRIVE_NONE;
    thread->plat.thread_id = survives ? lock_thread_id() : 0;
    return survives;
}
