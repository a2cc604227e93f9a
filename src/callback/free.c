/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rcu_free() and rcu_retire(): pointers gathered in blocks, which wait for their grace period like callbacks.
 *
 * A thread's blocks form a ring; record.free_block is the newest, and its link the oldest.  The thread takes the ring
 * out by exchange, adds to it, and puts it back; the collector takes it out for good and appends it to what waits.  So
 * neither waits for the other, no block gets a pointer after the cookie of its segment was taken, and blocks wait in
 * the order in which they were filled.
 * Pointers are numbered as callbacks are (free_queued, free_started, free_done), apart from them, since the collector
 * says where a block stands among the callbacks.  A block knows the numbers of its pointers, and the pointers of a
 * queue are freed in the order of these, one at a time: a budget may end between any two.
 * A block has pointers for free() alone, or each with the function that takes it; the latter has room for both.
 * tested by: test/unit/callback/free.cc
 */
#include <stdlib.h>

#include "callback/callback.h"

struct free_block {
    struct rcu_head head; /* next: the next newer of the ring; then the link of the queue */
    uint64_t first, end;  /* holds the pointers numbered first + 1 to end */
    bool from_pages;
    bool has_functions;
    union {
        void *pointer[CALLBACK_FREE_POINTERS];
        struct callback_retired retired[CALLBACK_FREE_RETIRED];
    };
};

/* A single pointer of a thread without a record: an ordinary callback of the orphans' queue. */
struct free_alone {
    struct rcu_head head;
    struct callback_retired retired;
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
    errno = saved; /* which a malloc() that finds memory at its second attempt changes too */
    *from_pages = !memory;
    return memory ? memory : plat_mem_pages(bytes);
}

static void note_release(void *memory, size_t bytes, bool from_pages)
{
    if (from_pages)
        plat_mem_release(memory, bytes);
    else
        free(memory);
}

/* The function may end its thread, or throw: the memory that kept it goes first. */
static void free_alone_run(struct rcu_head *head)
{
    struct free_alone *alone = container_of(head, struct free_alone, head);
    struct callback_retired retired = alone->retired;
    note_release(alone, sizeof(*alone), alone->from_pages);
    retired.function(retired.object);
}

static enum callback_enqueued free_without_record(struct callback *cb, struct callback_retired retired)
{
    bool from_pages;
    struct free_alone *alone = note_memory(sizeof(*alone), &from_pages);
    if (!alone)
        return CALLBACK_NO_MEMORY;
    alone->retired = retired;
    alone->from_pages = from_pages;
    return callback_enqueue(cb, NULL, &alone->head, free_alone_run);
}

static void put_back(struct reader_record *record, struct free_block *newest)
{
    rtrcu_tsan_release(&callback_slot(record)->free_block);
    void *other = rtrcu_exchange(&callback_slot(record)->free_block, newest);
    check(other == NULL); /* not in signal handlers */
    (void)other;
}

/* Append an empty block to the ring, which is not out meanwhile: the collector may have taken it. */
static struct free_block *grow(struct reader_record *record, bool has_functions)
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
    block->has_functions = has_functions;
    return block;
}

static bool has_room(const struct free_block *block, bool for_function)
{
    if (block->has_functions)
        return block->end - block->first < CALLBACK_FREE_RETIRED;
    return !for_function && block->end - block->first < CALLBACK_FREE_POINTERS;
}

/* The block that has room for one more, taken out.  NULL: no memory, and nothing is out. */
static struct free_block *take_out(struct reader_record *record, bool for_function)
{
    struct free_block *newest = rtrcu_exchange(&callback_slot(record)->free_block, NULL);
    if (newest && has_room(newest, for_function))
        return newest;
    if (newest)
        put_back(record, newest);
    return grow(record, for_function);
}

static void add(struct reader_record *record, struct free_block *block, struct callback_retired retired)
{
    uint64_t at = block->end++ - block->first;
    if (block->has_functions)
        block->retired[at] = retired;
    else
        block->pointer[at] = retired.object;
    rtrcu_store_release(&callback_slot(record)->free_queued, block->end); /* before the block can be collected */
    put_back(record, block);                                              /* [O5] as cbqueue_push() */
}

/* [O8] The collector may have looked while the blocks were out: the bit is set again behind the exchange. */
static bool tell_collector(struct callback *cb, struct reader_record *record)
{
    if (rtrcu_load_relaxed(&callback_leaf(reader_leaf_of(record))->dirty) & reader_bit(record))
        return false;
    rtrcu_store_relaxed(&callback_slot(record)->oldest_ns, plat_clock_now());
    callback_mark_new(cb, record);
    return true;
}

enum callback_enqueued callback_free(struct callback *cb, struct reader_record *record, struct callback_retired retired)
{
    enum callback_enqueued result = CALLBACK_DONE;
    if (!record)
        return free_without_record(cb, retired);
    struct free_block *block = take_out(record, retired.function != free);
    if (block)
        add(record, block, retired);
    else
        result |= CALLBACK_NO_MEMORY;
    if (tell_collector(cb, record))
        result |= CALLBACK_FIRST;
    if (rtrcu_load_relaxed(&callback_slot(record)->free_queued) >=
        rtrcu_load_relaxed(&callback_slot(record)->free_look_at))
        result |= CALLBACK_LOOK;
    return result;
}

struct cb_chain callback_free_collect(struct reader_record *record)
{
    must_hold(&callback_leaf(reader_leaf_of(record))->lock);
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

static struct callback_retired retired_at(const struct free_block *block, uint64_t number)
{
    uint64_t at = number - block->first - 1;
    invariant("INV-CA2", number > block->first && number <= block->end);
    return block->has_functions ? block->retired[at] : (struct callback_retired){block->pointer[at], free};
}

callback_retire_t callback_free_next(const struct reader_record *record)
{
    const struct callback_slot *slot = callback_slot(record);
    return retired_at(block_at(slot->queue.batch.first), rtrcu_load_relaxed(&slot->free_done) + 1).function;
}

/* One store says that the free has begun, which is also the block's position: so a fork's child knows it exactly.  The
 * function may end its thread, or throw: the block of the last pointer goes first. */
void callback_free_one(struct reader_record *record)
{
    struct callback_slot *slot = callback_slot(record);
    const struct free_block *block = block_at(slot->queue.batch.first);
    uint64_t number = rtrcu_load_relaxed(&slot->free_done) + 1;
    struct callback_retired retired = retired_at(block, number);
    rtrcu_store_release(&slot->free_started, number);
    rtrcu_fence_light();
    rtrcu_store_relaxed(&slot->queue.function, (rcu_callback_t)retired.function);
    if (number == block->end)
        drop_first(&slot->queue);
    retired.function(retired.object);
    rtrcu_store_release(&slot->free_done, number); /* a thread that waits for it comes behind the free */
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
    uint64_t begun = rtrcu_load_relaxed(&callback_slot(record)->free_started);
    return block->end - (begun > block->first ? begun : block->first);
}

uint64_t callback_free_count_open(const struct reader_record *record)
{
    const struct free_block *newest = rtrcu_load_relaxed(&callback_slot(record)->free_block);
    return newest ? newest->end - block_at(newest->head.next)->first : 0;
}
