/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rcu_free(): pointers gathered in blocks, one callback a block.
 *
 * The thread takes its block out by exchange, adds to it, and puts it back; the collector takes it out for good when it
 * closes it.  So neither waits for the other, and a block is closed before the cookie of its segment is taken.
 * Frees have numbers of their own (free_queued, free_done), since a block is closed by another thread than the one that
 * numbers callbacks. tested by: test/unit/callback/callback.cc
 */
#include <stdlib.h>

#include "callback/callback.h"

#define BLOCK_POINTERS 500

struct free_block {
    struct rcu_head head;
    uint64_t count;
    void *pointer[BLOCK_POINTERS];
};

/* Never called: its address marks a block's head. */
static void free_block_mark(struct rcu_head *head)
{
    (void)head;
}

bool callback_is_free_block(rcu_callback_t func)
{
    return func == free_block_mark;
}

static unsigned int queue_block(struct reader_record *record, struct free_block *block, enum cb_producer producer)
{
    block->head.func = free_block_mark;
    (void)cbqueue_push(&record->queue, &block->head, producer);
    return CALLBACK_FIRST;
}

int callback_free(struct callback *cb, struct reader_record *record, void *memory)
{
    unsigned int result = 0;
    if (!record)
        return -ENOMEM;
    struct free_block *block = rtrcu_exchange(&record->free_block, NULL);
    if (!block) {
        block = malloc(sizeof(*block));
        if (!block)
            return -ENOMEM;
        block->count = 0;
    }
    block->pointer[block->count++] = memory;
    rtrcu_store_release(&record->free_queued, record->free_queued + 1);
    if (block->count == BLOCK_POINTERS) {
        result |= queue_block(record, block, CB_OWNER_BLOCK);
    } else {
        rtrcu_tsan_release(&record->free_block);
        void *other = rtrcu_exchange(&record->free_block, block);
        check(other == NULL); /* not in signal handlers */
        (void)other;
    }
    /* [O8] The collector may have looked while the block was out: the bit is set again behind the exchange. */
    if (!(rtrcu_load_relaxed(&record->leaf->dirty) & reader_bit(record))) {
        rtrcu_fetch_or(&record->leaf->dirty, reader_bit(record));
        result |= CALLBACK_FIRST;
    }
    if (callback_pending(record) >= (uint64_t)callback_config(cb)->qmax)
        result |= CALLBACK_LOOK;
    return (int)result;
}

void callback_free_close(struct reader_record *record)
{
    must_hold(&record->leaf->lock);
    struct free_block *block = rtrcu_exchange(&record->free_block, NULL);
    if (block) {
        rtrcu_tsan_acquire(&record->free_block);
        queue_block(record, block, CB_COLLECTOR_BLOCK);
    }
}

void callback_free_run(struct rcu_head *head)
{
    struct free_block *block = container_of(head, struct free_block, head);
    for (uint64_t i = 0; i < block->count; i++)
        free(block->pointer[i]);
    free(block);
}

uint64_t callback_free_count(const struct rcu_head *head)
{
    return container_of(head, struct free_block, head)->count;
}

uint64_t callback_free_count_open(const void *block)
{
    return block ? ((const struct free_block *)block)->count : 0;
}
