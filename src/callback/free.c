/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rcu_free() and rcu_retire(), which gather pointers in blocks; blocks wait for their grace period like callbacks.
 *
 * A thread's blocks form a ring; slot.free_block is the newest, and its link the oldest.  The thread marks the word to
 * detach the ring, adds to the ring, and attaches it again.  The collector takes an attached ring and appends it to the
 * waiting segments.  So neither the thread nor the collector waits for the other, no block receives a pointer after the
 * cookie of its segment was taken, and blocks wait in the order in which they were filled.
 * A fork's child may find a ring detached by a thread that does not exist.  So each store leaves the ring consistent: a
 * pointer's number is assigned first, the pointer is stored before the block's end includes it, and a further block is
 * linked with its first pointer in it.
 * Pointers are numbered as callbacks are (free_queued, free_started, free_done), but separately, since the collector
 * decides where a block is placed among the callbacks.  A block stores the numbers of its pointers.  The pointers of a
 * queue are freed in the order of their numbers, one at a time: a budget may end between any two.
 * A block holds pointers for free() alone, or pointers each with its function; a block of the second kind may hold
 * pointers for free() too.
 * tested by: test/unit/callback/free.cc
 */
#include <stdlib.h>

#include "callback/callback.h"

struct free_block {
    struct rcu_head head; /* atomic while it is in a ring, for fork; next: the next newer block; later the queue's
                             link */
    uint64_t first;       /* holds the pointers numbered first + 1 to end */
    uint64_t end;         /* atomic while it is in a ring, for fork */
    bool from_pages;
    bool has_functions;
    union {
        void *pointer[CALLBACK_FREE_POINTERS];
        struct callback_retired retired[CALLBACK_FREE_RETIRED];
    };
};

/* A single pointer of a thread without a record: an ordinary callback in the shared record's queue. */
struct free_alone {
    struct rcu_head head;
    struct callback_retired retired;
    bool from_pages;
};

/* Never called: a head with this function belongs to a block. */
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

/* Allocate with malloc(), or, if it fails, from the kernel. */
static void *note_memory(size_t bytes, bool *from_pages)
{
    int saved = errno;
    void *memory = malloc(bytes);
    errno = saved; /* a malloc() that succeeds at its second attempt changes errno too */
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

static void run_retired(struct callback_retired retired)
{
    CALL_PROGRAM();
    retired.function(retired.object);
}

/* Call the function of @head, after its memory has been freed: the function may end the thread, or throw. */
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

/* ---- changes of the ring by its owner, which is not in a signal handler ---- */

static bool is_out(const void *word)
{
    return (uintptr_t)word & CALLBACK_FREE_OUT;
}

static struct free_block *newest_of(void *word)
{
    return (struct free_block *)((char *)word - ((uintptr_t)word & CALLBACK_FREE_OUT));
}

/* Detach the ring.  NULL: there is none.  One attempt is enough: if it fails, the collector has taken the ring. */
static struct free_block *take_out(struct callback_slot *slot)
{
    void **word = &slot->free_block, *newest = rtrcu_load_relaxed(word);
    check(!is_out(newest));
    if (!newest || !rtrcu_compare_exchange(word, &newest, (char *)newest + CALLBACK_FREE_OUT))
        return NULL;
    return newest;
}

static void put_back(struct callback_slot *slot, struct free_block *newest)
{
    rtrcu_tsan_release(&slot->free_block);
    void *other = rtrcu_exchange(&slot->free_block, newest); /* [O5] as cbqueue_push() */
    check(other == NULL || is_out(other));
    (void)other;
}

static bool has_room(const struct free_block *block, bool for_function)
{
    if (block->has_functions)
        return block->end - block->first < CALLBACK_FREE_RETIRED;
    return !for_function && block->end - block->first < CALLBACK_FREE_POINTERS;
}

static void add(struct callback_slot *slot, struct free_block *block, struct callback_retired retired)
{
    uint64_t number = block->end + 1, at = block->end - block->first;
    rtrcu_store_relaxed(&slot->free_queued, number); /* first, so that no block contains an unassigned number */
    if (block->has_functions)
        block->retired[at] = retired;
    else
        block->pointer[at] = retired.object;
    rtrcu_store_release(&block->end, number);
}

/* Allocate an empty block, and detach the ring, which the block will follow.  While memory was allocated the ring was
 * attached, so the collector may have taken it.  NULL: no memory, and the ring is not detached. */
static struct free_block *new_block(struct callback_slot *slot, bool has_functions, struct free_block **newest)
{
    bool from_pages;
    struct free_block *block = note_memory(sizeof(*block), &from_pages);
    if (!block)
        return NULL;

    *newest = take_out(slot);
    block->head = (struct rcu_head){.next = *newest ? (*newest)->head.next : &block->head, .func = free_block_mark};
    block->first = block->end = rtrcu_load_relaxed(&slot->free_queued);
    block->from_pages = from_pages;
    block->has_functions = has_functions;
    return block;
}

/* Store the pointer in the newest block, or in a new one.  False: no memory. */
static bool note(struct callback_slot *slot, struct callback_retired retired)
{
    struct free_block *newest = take_out(slot), *block = newest;
    bool fits = newest && has_room(newest, retired.function != free);

    if (!fits && newest)
        put_back(slot, newest);
    if (!fits && !(block = new_block(slot, retired.function != free, &newest)))
        return false;

    add(slot, block, retired);
    if (!fits && newest)
        rtrcu_store_release(&newest->head.next, &block->head);
    put_back(slot, block);
    return true;
}

/* Set the owner's dirty bit; true if it was clear.  [O8] The collector may have found the blocks detached, so the owner
 * sets its bit again after the exchange. */
static bool notify_collector(struct callback *cb, struct reader_record *record)
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
    if (CHECK_DEBUG)
        callback_code_note(cb, (rcu_callback_t)retired.function);
    if (!record)
        return free_without_record(cb, retired);

    struct callback_slot *slot = callback_slot(record);
    if (!note(slot, retired))
        result |= CALLBACK_NO_MEMORY;

    if (notify_collector(cb, record))
        result |= CALLBACK_FIRST;
    if (rtrcu_load_relaxed(&slot->free_queued) >= rtrcu_load_relaxed(&slot->free_check_at))
        result |= CALLBACK_CHECK_LIMITS;

    return result;
}

struct cb_chain callback_free_collect(struct reader_record *record)
{
    must_hold(&callback_leaf(reader_leaf_of(record))->lock);
    void **word = &callback_slot(record)->free_block, *seen = rtrcu_load_relaxed(word);
    if (!seen || is_out(seen) || !rtrcu_compare_exchange(word, &seen, NULL))
        return (struct cb_chain){NULL, NULL}; /* if the owner has the ring detached, it notifies the collector
                                                 afterwards */

    rtrcu_tsan_acquire(word);
    struct free_block *newest = seen;
    struct cb_chain chain = {newest->head.next, &newest->head};
    newest->head.next = NULL;
    return chain;
}

/* Remove and free the block at the head of the batch.  Its link is always complete: only consumers write it. */
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

/* One store, to free_started, records both that the free has begun and how much of the block is used, so a fork's child
 * knows both exactly.  The function may end its thread, or throw, so the block of the last pointer is freed before the
 * call. */
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
    run_retired(retired);
    rtrcu_store_release(&slot->free_done, number); /* a release: a thread that reads this number runs after the free */
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

/* Attaches the ring.  A further block may be linked but not published yet: then the newest block's link leads to that
 * block, not to the oldest. */
void callback_free_repair(struct reader_record *record)
{
    void **word = &callback_slot(record)->free_block;
    if (!is_out(*word))
        return;

    struct free_block *newest = newest_of(*word), *behind = block_of(newest->head.next);
    *word = behind->first > newest->first ? behind : newest;
}

uint64_t callback_free_count_open(const struct reader_record *record)
{
    const struct free_block *newest = rtrcu_load_relaxed(&callback_slot(record)->free_block);
    return newest ? newest->end - block_at(newest->head.next)->first : 0;
}
