/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver kthread: a thread of its own, asleep on a futex while there is nothing to do.
 *
 * Grace periods that only callbacks wait for begin at most once a tick, so that they share one; a flood, a barrier or a
 * polled cookie is in a hurry and does not wait for it.
 * tested by: test/api/drivers.cc
 */
#include "drive/drive.h"

static bool anything_new(struct drive *drive)
{
    if (rtrcu_load_acquire(&drive->urgent) || gp_is_needed(drive->gp, GP_NORMAL))
        return true;
    struct reader_registry *registry = drive->gp->registry;
    for (uint32_t i = 0; i < reader_leaf_count(registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(registry, i);
        if (leaf && rtrcu_load_acquire(&leaf->dirty))
            return true;
    }
    return false;
}

/* [O8] Driver half: the flag is stored, then we look for what is new. */
static void sleep_idle(struct drive *drive, uint32_t event, int64_t timeout_ns)
{
    rtrcu_exchange(&drive->sleeping, DRIVE_IDLE);
    if (!anything_new(drive))
        plat_futex_wait(&drive->event, event, timeout_ns);
    rtrcu_store_release(&drive->sleeping, DRIVE_AWAKE);
}

static void sleep_until_tick(struct drive *drive, uint32_t event, int64_t timeout_ns)
{
    rtrcu_exchange(&drive->sleeping, DRIVE_PACING);
    if (!rtrcu_load_acquire(&drive->urgent))
        plat_futex_wait(&drive->event, event, timeout_ns);
    rtrcu_store_release(&drive->sleeping, DRIVE_AWAKE);
}

static void set_scheduling(struct drive *drive)
{
    int priority = drive->config->kthread_prio;
    if (priority > 0 && plat_sched_set(priority, 0) != 0)
        rtrcu_fetch_add(&drive->rt_refused, 1);
}

static void *body(void *argument)
{
    struct drive *drive = argument;
    int64_t turned_ns = plat_clock_now() - drive_tick_ns(drive);
    set_scheduling(drive);
    while (!rtrcu_load_acquire(&drive->stop)) { /* for the life of the process */
        rtrcu_fetch_add(&drive->passes, 1);
        uint32_t event = rtrcu_load_acquire(&drive->event);
        bool urgent = rtrcu_load_relaxed(&drive->urgent) && rtrcu_exchange(&drive->urgent, 0);
        int64_t now = plat_clock_now(), due = turned_ns + drive_tick_ns(drive);
        drive_collect(drive);
        if (gp_is_needed(drive->gp, GP_NORMAL)) {
            if (!urgent && now < due) {
                sleep_until_tick(drive, event, due - now);
                continue;
            }
            turned_ns = now;
            drive_turn_if_needed(drive, GP_NORMAL);
        }
        bool ready = drive_dispatch(drive);
        if (gp_is_needed(drive->gp, GP_NORMAL))
            continue;
        bool tick = ready || rtrcu_load_relaxed(&drive->gp->registry->deadline_count) > 0;
        sleep_idle(drive, event, tick ? drive_tick_ns(drive) : PLAT_FOREVER);
    }
    return NULL;
}

const struct drive_driver drive_driver_kthread = {.name = "kthread", .has_thread = true, .body = body};
