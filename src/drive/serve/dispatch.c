/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ready callbacks: to whom they go.
 *
 * tested by: test/unit/drive/driver.cc
 */
#include "drive/drive.h"

/* Where its owner runs, whose caches may still hold what its callbacks touch.  A slot whose callbacks have all returned
 * meanwhile may be another thread's, which is just coming. */
uint32_t drive_cpu_of(const struct drive *drive, const struct reader_record *record)
{
    uint32_t cpu = reader_is_registered(record) ? reader_cpu(record) : UINT32_MAX;
    return plat_cpus_pick(&rtrcu_load_acquire(&drive->home)->cpus, cpu == UINT32_MAX ? reader_slot(record) : cpu);
}

static bool dispatch_leaf(struct drive *drive, struct reader_leaf *leaf, int64_t now, struct drive_share *share)
{
    struct reader_record *give[READER_FANOUT];
    uint32_t cpu[READER_FANOUT], count = 0;
    bool punts = callback_punts(drive->cb);

    callback_queues_lock(leaf);
    reader_lock(leaf);
    struct reader_record *record;
    for (uint32_t left = callback_at_work(leaf); (record = reader_next(leaf, &left));) {
        if (callback_advance(drive->cb, record, now) != CALLBACK_DAEMON)
            continue;
        give[count] = record;
        cpu[count++] = drive_cpu_of(drive, record);
    }

    bool ready = callback_ready(leaf) != 0;
    callback_rest(drive->cb, leaf);
    reader_unlock(leaf);
    callback_queues_unlock(leaf);

    /* The queues are given once no lock is held: a daemon may have to be made, or the callbacks run here. */
    for (uint32_t i = 0; i < count; i++) {
        /* Where no daemon may be, or none can, the next pass tries again. */
        if (!drive_row(drive)->body || !drive_krcud_give(drive, give[i], cpu[i], punts))
            drive_krcud_serve_here(drive, give[i], share);
    }

    return ready;
}

bool drive_dispatch_within(struct drive *drive, struct drive_share *share)
{
    bool ready = false;
    int64_t now = plat_clock_now();
    drive_message(drive);
    /* The collector asks for a grace period behind the mark: a thread that finds it asked for finds the mark. */
    for (struct reader_leaf *leaf = NULL; (leaf = callback_next_at_work(drive->cb, leaf));)
        ready |= dispatch_leaf(drive, leaf, now, share);
    return ready;
}

bool drive_dispatch(struct drive *drive)
{
    return drive_dispatch_within(drive, &(struct drive_share){.ns = PLAT_FOREVER});
}
