/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How urgent expedited grace periods are: for each number that is waited for, the highest priority that waits, so that
 * nothing that is done for it falls below, nor stays above for ever.
 *
 * tested by: test/api/expedited.cc
 */
#include "drive/drive.h"

static uint32_t *word_of(struct drive *drive, uint64_t seq)
{
    return &drive->exp_priority[seq / SEQ_STEP % 4];
}

void drive_expedited_raise(struct drive *drive, uint64_t cookie, uint32_t priority)
{
    uint32_t *word = word_of(drive, cookie), waits = rtrcu_load_relaxed(word);
    while (waits < priority && !rtrcu_compare_exchange(word, &waits, priority))
        ; /* each failure means that another waits for it */
}

void drive_expedited_drop(struct drive *drive, uint64_t seq)
{
    rtrcu_store_relaxed(word_of(drive, seq), 0);
}

int drive_expedited_priority(struct drive *drive)
{
    const struct rtrcu_config *config = config_now(drive->config);
    int highest = config->exp_worker == RTRCU_EXP_WORKER_KTHREAD ? config->kthread_prio : 0;
    bool follows = highest > 0 && gp_is_needed(drive->gp, GP_EXPEDITED);
    for (int i = 0; i < 4 && follows; i++) {
        int waits = (int)rtrcu_load_acquire(&drive->exp_priority[i]);
        highest = waits > highest ? waits : highest;
    }
    return highest;
}
