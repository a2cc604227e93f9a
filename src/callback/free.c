/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rcu_free(): pointers gathered in blocks, which wait for their grace period like callbacks.
 *
 * A thread's blocks form a ring; record.free_block is the newest, and its link the oldest.  The thread takes the ring
 * out by exchange, adds to it, and puts it back; the collector takes it out for good and appends it to what waits.  So
 * neither waits for the other, no block gets a pointer after the cookie of its segment was taken, and blocks wait in
 * the order in which they were filled.
 * Pointers are numbered as callbacks are (free_queued, free_started, free_done), apart from them, since the collector
 * says where a block stands among the callbacks.  A block knows the numbers of its pointers, and the pointers of a
 * queue are freed in the order of these, one at a time: a budget may end between any two.
 * tested by: test/unit/callback/free.cc
 */
#include <stdlib.h>

#include "callback/callback.h"

struct free_block {
    struct rcu_head head; /* next: the next newer of the ring; then the link of the queue */
    uint64_t first, end;  /* holds the pointers numbered first + 1 to end */
    bool from_pages;
    void *pointer[CALLBACK_FREE_POINTERS];
};

/* A single pointer of a thread without a record: an ordinary callback of the orphans' queue. */
struct free_alone {
    struct rcu_head head;
    void *memory;
    bool from_pages;
};

/* Never called: its address marks a block's head. */
static void free_block_mark(struct rcu_head *head)
{
    (void)head;
}

static struct free_block *block_of(struct rcu_head *head)
{
    return container_of(head, struct free_block, head);
}

static const struct free_block *block_at(const struct rcu_head *head)
{
    return container_of_const(head, struct free_block, head);
}

bool callback_is_free_block(rcu_callback_t func)
{
    return func == free_block_mark;
}

/* From malloc(), or from the kernel when that has none left. */
static void *note_memory(size_t bytes, bool *from_pages)
{
    int saved = errno;
    void *memory = malloc(bytes);
    *from_pages = !memory;
    if (memory)
        return memory;
    errno = saved;
    return plat_mem_pages(bytes);
}

static void note_release(void *memory, size_t bytes, bool from_pages)
{
    if (from_pages)
        plat_mem_release(memory, bytes);
    else
        free(memory);
}

static void free_alone_run(struct rcu_head *head)
{
    struct free_alone *alone = container_of(head, struct free_alone, head);
    free(alone->memory);
    note_release(alone, sizeof(*alone), alone->from_pages);
}

static int free_without_record(struct callback *cb, void *memory)
{
    bool from_pages;
    struct free_alone *alone = note_memory(sizeof(*alone), &from_pages);
    if (!alone)
        return -ENOMEM;
    alone->memory = memory;
    alone->from_pages = from_pages;
    return (int)callback_enqueue(cb, NULL, &alone->head, free_alone_run);
}

static void put_back(struct reader_record *record, struct free_block *newest)
{
    rtrcu_tsan_release(&callback_slot(record)->free_block);
    void *other = rtrcu_exchange(&callback_slot(record)->free_block, newest);
    check(other == NULL); /* not in signal handlers */
    (void)other;
}

/* Append an empty block to the ring, which is not out meanwhile: the collector may have taken it. */
static struct free_block *grow(struct reader_record *record)
{
    bool from_pages;
    struct free_block *block = note_memory(sizeof(*block), &from_pages);
    if (!block)
        return NULL;
    struct free_block *newest = rtrcu_exchange(&callback_slot(record)->free_block, NULL);
    block->head = (struct rcu_head){.next = newest ? newest->head.next : &block->head, .func = free_block_mark};
    if (newest)
        newest->head.next = &block->head;
    block->first = block->end = rtrcu_load_relaxed(&callback_slot(record)->free_queued);
    block->from_pages = from_pages;
    return block;
}

/* The block that has room for one more, taken out.  NULL: no memory, and nothing is out. */
static struct free_block *take_out(struct reader_record *record)
{
    struct free_block *newest = rtrcu_exchange(&callback_slot(record)->free_block, NULL);
    if (newest && newest->end - newest->first < CALLBACK_FREE_POINTERS)
        return newest;
    if (newest)
        put_back(record, newest);
    return grow(record);
}

int callback_free(struct callback *cb, struct reader_record *record, void *memory)
{
    unsigned int result = 0;
    if (!record)
        return free_without_record(cb, memory);
    struct free_block *block = take_out(record);
    if (!block)
        return -ENOMEM;
    block->pointer[block->end++ - block->first] = memory;
    rtrcu_store_release(&callback_slot(record)->free_queued, block->end); /* before the block can be collected */
    put_back(record, block);                                              /* [O5] as cbqueue_push() */
    /* [O8] The collector may have looked while the block was out: the bit is set again behind the exchange. */
    if (!(rtrcu_load_relaxed(&callback_leaf(reader_leaf_of(record))->dirty) & reader_bit(record))) {
        rtrcu_store_relaxed(&callback_slot(record)->oldest_ns, plat_clock_now());
        rtrcu_fetch_or(&callback_leaf(reader_leaf_of(record))->dirty, reader_bit(record));
        result |= CALLBACK_FIRST;
    }
    if (rtrcu_load_relaxed(&callback_slot(record)->free_queued) >=
        rtrcu_load_relaxed(&callback_slot(record)->free_look_at))
        result |= CALLBACK_LOOK;
    return (int)result;
}

struct cb_chain callback_free_collect(struct reader_record *record)
{
    reader_must_hold(reader_leaf_of(record));
    struct free_block *newest = rtrcu_exchange(&callback_slot(record)->free_block, NULL);
    if (!newest)
        return (struct cb_chain){NULL, NULL};
    rtrcu_tsan_acquire(&callback_slot(record)->free_block);
    struct cb_chain chain = {newest->head.next, &newest->head};
    newest->head.next = NULL;
    return chain;
}

/* The link behind a block is always finished: only consumers write it. */
static void drop_first(struct cb_queue *queue)
{
    struct free_block *block = block_of(cbqueue_pop(&queue->batch));
    note_release(block, sizeof(*block), block->from_pages);
}

/* One store says that the free has begun, which is also the block's position: so a fork's child knows it exactly. */
void callback_free_one(struct reader_record *record)
{
    const struct free_block *block = block_at(callback_slot(record)->queue.batch.first);
    uint64_t number = rtrcu_load_relaxed(&callback_slot(record)->free_done) + 1;
    invariant("INV-CA2", number > block->first && number <= block->end);
    rtrcu_store_release(&callback_slot(record)->free_started, number);
    rtrcu_fence_light();
    free(block->pointer[number - block->first - 1]);
    if (number == block->end)
        drop_first(&callback_slot(record)->queue);
    rtrcu_store_release(&callback_slot(record)->free_done, number);
}

void callback_free_drop_spent(struct reader_record *record)
{
    const struct rcu_head *head = callback_slot(record)->queue.batch.first;
    if (head && callback_is_free_block(head->func) &&
        block_at(head)->end == rtrcu_load_relaxed(&callback_slot(record)->free_done))
        (void)cbqueue_pop(&callback_slot(record)->queue.batch);
}

uint64_t callback_free_count(const struct reader_record *record, const struct rcu_head *head)
{
    const struct free_block *block = block_at(head);
    uint64_t done = rtrcu_load_relaxed(&callback_slot(record)->free_done);
    return block->end - (done > block->first ? done : block->first);
}

uint64_t callback_free_count_open(const struct reader_record *record)
{
    const struct free_block *newest = rtrcu_load_relaxed(&callback_slot(record)->free_block);
    return newest ? newest->end - block_at(newest->head.next)->first : 0;
}
