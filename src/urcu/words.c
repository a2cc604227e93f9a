/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of adopted flavours: the words that scans read, and the owners' operations on them.
 *
 * tested by: test/explore/scenarios/adopted.cc, test/dropin/readers.c
 */
#include <stdlib.h>

#include "urcu/urcu.h"

#define NESTING UINT64_C(0xffffffff)
/* Rounds of destructors at a thread's exit that the exit hook lets pass: all of the C library's four but the last. */
#define EARLY_ROUNDS 3

const struct urcu_kind urcu_kinds[RTRCU_ADOPT_FLAVOURS] = {
    [RTRCU_ADOPT_MEMB] = {.inside = NESTING, .section = ~NESTING, .step = NESTING + 1, .wakes = true},
    [RTRCU_ADOPT_MB] = {.inside = NESTING, .section = ~NESTING, .step = NESTING + 1, .wakes = true},
    [RTRCU_ADOPT_QSBR] = {.inside = UINT64_MAX, .section = UINT64_MAX, .step = 2, .wakes = true},
    [RTRCU_ADOPT_BP] = {.inside = NESTING, .section = ~NESTING, .step = NESTING + 1},
};

static bool has_own_blocks(const struct rtrcu_adopted *adopted)
{
    return adopted->flavour.be != NULL;
}

bool urcu_alloc_blocks(struct rtrcu_adopted *adopted, struct urcu_chunk *chunk)
{
    if (has_own_blocks(adopted))
        chunk->own = plat_mem_pages(URCU_RECORDS * sizeof(struct rtrcu_adopted_reader));
    return !has_own_blocks(adopted) || chunk->own;
}

/* The chunk after @chunk, created if it does not exist.  NULL: no memory. */
static struct urcu_chunk *chunk_behind(struct rtrcu_adopted *adopted, struct urcu_chunk *chunk)
{
    struct urcu_chunk *next = rtrcu_load_acquire(&chunk->next);
    if (next)
        return next;

    struct urcu_chunk *fresh = plat_mem_pages(sizeof(*fresh));
    if (!fresh)
        return NULL;

    /* If the exchange fails, `next` is the chunk that another thread has added meanwhile. */
    if (urcu_alloc_blocks(adopted, fresh) && rtrcu_compare_exchange(&chunk->next, &next, fresh))
        return fresh;

    if (fresh->own)
        plat_mem_release(fresh->own, URCU_RECORDS * sizeof(struct rtrcu_adopted_reader));
    plat_mem_release(fresh, sizeof(*fresh));
    return next;
}

struct adopt_record *urcu_next_record(struct rtrcu_adopted *adopted, struct urcu_chunk **chunk, uint32_t *at)
{
    if (!*chunk) {
        *chunk = &adopted->first;
        *at = 0;
    } else if (++*at == URCU_RECORDS) {
        *chunk = rtrcu_load_acquire(&(*chunk)->next);
        *at = 0;
    }
    return *chunk ? &(*chunk)->record[*at] : NULL;
}

/* Claim a record for the caller alone, and its block if the flavour has blocks of its own. */
static struct adopt_record *claim(struct rtrcu_adopted *adopted, struct rtrcu_adopted_reader **block)
{
    struct urcu_chunk *chunk = &adopted->first;
    for (; chunk; chunk = chunk_behind(adopted, chunk)) { /* bounded: a new chunk has a free record */
        for (uint32_t at = 0; at < URCU_RECORDS; at++) {
            uint32_t unused = 0;
            if (rtrcu_load_relaxed(&chunk->record[at].used) ||
                !rtrcu_compare_exchange(&chunk->record[at].used, &unused, 1))
                continue;

            if (chunk->own)
                *block = &chunk->own[at];
            return &chunk->record[at];
        }
    }
    return NULL;
}

/* [O24] New reader's half; the scan is urcu_scan().  The record is stored before any word, so the fence that makes the
 * word of the reader's first section visible also makes the record visible. */
static void publish(struct adopt_record *record, struct rtrcu_adopted_reader *self)
{
    rtrcu_store_relaxed(&record->thread_id, lock_thread_number());
    rtrcu_store_release(&record->reader, self);
}

/* Arm the exit hook, which alone releases the records of bp's threads.  For a key with a high number the C library may
 * allocate memory, as it may for liburcu's own key. */
void urcu_arm_exit(struct urcu *all)
{
    if (all->exit_error == 0 && plat_thread_exit_arm(all->exit_key, all) != 0)
        (void)plat_thread_exit_reserve(all->exit_key, all);
}

/* Register the calling thread.  The caller has blocked signals: a handler could register the thread a second time. */
static bool register_blocked(struct rtrcu_adopted *adopted)
{
    struct rtrcu_adopted_reader *self = urcu_self(adopted);
    if (self && self->record)
        return true;

    struct adopt_record *record = claim(adopted, &self);
    if (!record)
        return false;

    if (has_own_blocks(adopted))
        *self = (struct rtrcu_adopted_reader){0}; /* the block may have belonged to another thread, perhaps a
                                                     server's */
    self->record = record;
    self->registered = self->registered_qsbr = 1;

    publish(record, self);
    if (has_own_blocks(adopted))
        adopted->flavour.be(self);

    urcu_arm_exit(adopted->all);
    return true;
}

bool urcu_register(struct rtrcu_adopted *adopted)
{
    sigset_t saved;
    plat_signals_block(&saved);
    bool registered = register_blocked(adopted);
    plat_signals_restore(&saved);

    if (registered && adopted->flavour.kind == RTRCU_ADOPT_QSBR)
        urcu_online(adopted);
    return registered;
}

void urcu_unregister(struct rtrcu_adopted *adopted)
{
    struct rtrcu_adopted_reader *self = urcu_self(adopted);
    struct adopt_record *record = self ? self->record : NULL;
    if (!record)
        return;

    if (adopted->flavour.kind == RTRCU_ADOPT_QSBR)
        urcu_offline(adopted);

    sigset_t saved;
    plat_signals_block(&saved);

    lock_acquire(&adopted->words_lock);
    rtrcu_store_relaxed(&record->reader, NULL);
    adopted->holdouts -= record->is_holdout;
    record->is_holdout = false;
    lock_release(&adopted->words_lock);

    rtrcu_store_relaxed(&self->word, 0);
    self->record = NULL;
    self->registered = self->registered_qsbr = 0;
    self->exit_rounds = 0;
    if (has_own_blocks(adopted))
        adopted->flavour.be(NULL);

    /* The record is released last: from then on another thread may claim it with its block. */
    rtrcu_store_release(&record->used, 0);
    plat_signals_restore(&saved);

    urcu_wake_sleeper(adopted);
}

void urcu_thread_exits(struct urcu *all)
{
    bool waits = false;

    for (struct rtrcu_adopted *adopted = rtrcu_load_acquire(&all->first); adopted; adopted = adopted->next) {
        struct rtrcu_adopted_reader *self = urcu_self(adopted);
        waits |= self && self->record && self->exit_rounds++ < EARLY_ROUNDS;
    }

    if (waits && plat_thread_exit_arm(all->exit_key, all) == 0)
        return;

    for (struct rtrcu_adopted *adopted = rtrcu_load_acquire(&all->first); adopted; adopted = adopted->next)
        urcu_unregister(adopted);
    for (struct rtrcu_adopted *adopted = rtrcu_load_acquire(&all->first); adopted; adopted = adopted->next)
        urcu_ring_leave(adopted);
}

/* ---- the quiescent-state discipline ---- */

void urcu_online(struct rtrcu_adopted *adopted)
{
    struct rtrcu_adopted_reader *self = urcu_self(adopted);
    rtrcu_store_relaxed(&self->word, rtrcu_load_relaxed(adopted->flavour.generation));
    rtrcu_fence_full();
}

/* [O18] A reader's half; the sleeper's half is urcu_sleep().  The sleeper stores the futex, then the reader's flag
 * `waiting`; the reader stores its word, then reads the flag. */
void urcu_offline(struct rtrcu_adopted *adopted)
{
    struct rtrcu_adopted_reader *self = urcu_self(adopted);
    rtrcu_tsan_release(adopted->flavour.generation);
    rtrcu_fence_full();
    rtrcu_store_release(&self->word, 0);
    rtrcu_fence_full();

    if (rtrcu_load_relaxed(&self->waiting)) {
        rtrcu_store_relaxed(&self->waiting, 0);
        rtrcu_fence_full();
        urcu_wake_sleeper(adopted);
    }
}

/* ---- the program's futex ---- */

void urcu_wake_sleeper(struct rtrcu_adopted *adopted)
{
    if (rtrcu_load_relaxed(adopted->flavour.futex) == 0)
        return;

    rtrcu_store_relaxed(adopted->flavour.futex, 0);
    plat_futex_wake_shared(adopted->flavour.futex, 1);
}
