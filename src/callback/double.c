/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A head queued twice: debug builds name it at the second call_rcu(), others say what was lost when the list breaks,
 * and go on.
 *
 * Debug builds keep a set of queued heads: open addressing, a slot is taken by compare-and-swap.  When a neighbourhood
 * is full the head is not tracked, so a crowded table misses faults but never invents one.
 * tested by: test/unit/callback/double.cc
 */
#include "callback/callback.h"

static struct rcu_head **slot_of(struct callback *cb, struct rcu_head *head, uint32_t probe)
{
    uint64_t hash = (uint64_t)(uintptr_t)head * UINT64_C(0x9e3779b97f4a7c15);
    return &cb->queued[((hash >> 40) + probe) % CALLBACK_DOUBLE_SLOTS];
}

void callback_double_enter(struct callback *cb, struct rcu_head *head)
{
    for (uint32_t probe = 0; probe < cb->double_probes; probe++) {
        if (rtrcu_load_relaxed(slot_of(cb, head, probe)) == head)
            plat_die("rtrcu: call_rcu(): head %p is queued already and its callback has not begun\n", (void *)head);
    }

    for (uint32_t probe = 0; probe < cb->double_probes; probe++) {
        struct rcu_head *empty = NULL;
        if (rtrcu_compare_exchange(slot_of(cb, head, probe), &empty, head))
            return;
    }
}

void callback_double_leave(struct callback *cb, struct rcu_head *head)
{
    for (uint32_t probe = 0; probe < cb->double_probes; probe++) {
        struct rcu_head *expected = head;
        if (rtrcu_compare_exchange(slot_of(cb, head, probe), &expected, NULL))
            return;
    }
}

/* The orphans' queue has many producers, which do not show what is under way. */
static bool is_exact(const struct callback *cb, const struct reader_record *record)
{
    return record != reader_orphan(cb->registry);
}

static void say_twice(struct callback *cb, const struct reader_record *record, const struct rcu_head *head)
{
    complain_by(&cb->said_twice, callback_message_box(cb),
                "rtrcu: call_rcu(): head %p of thread %u was queued twice, or overwritten while it was queued",
                (const void *)head, reader_thread_id(record).number);
}

bool callback_may_begin(struct callback *cb, struct reader_record *record)
{
    struct cb_queue *queue = &callback_slot(record)->queue;
    queue->known = rtrcu_load_acquire(&queue->enqueued);
    if ((int64_t)(queue->known - queue->invoked) > 0)
        return true;

    say_twice(cb, record, queue->batch.first);
    queue->batch = (struct cb_chain){NULL, NULL};
    return false;
}

bool callback_mend(struct callback *cb, struct reader_record *record)
{
    struct cb_queue *queue = &callback_slot(record)->queue;
    if (!is_exact(cb, record) || !cbqueue_is_broken(queue))
        return false;

    say_twice(cb, record, queue->batch.first);
    queue->batch.last = queue->batch.first;
    return true;
}

uint64_t callback_lost(const struct callback *cb, const struct reader_record *record)
{
    return is_exact(cb, record) ? cbqueue_lost(&callback_slot(record)->queue) : 0;
}

void callback_write_off(struct callback *cb, struct reader_record *record, uint64_t lost)
{
    struct cb_queue *queue = &callback_slot(record)->queue;
    counter_add(&cb->lost, lost);
    complain_by(&cb->said_lost, callback_message_box(cb),
                "rtrcu: %llu callbacks of thread %u are lost: a head was queued twice, or overwritten while it was"
                " queued",
                (unsigned long long)lost, reader_thread_id(record).number);

    /* The count comes last: a thread that waits for them finds them said and counted. */
    rtrcu_store_release(&queue->started, queue->invoked + lost);
    rtrcu_store_release(&queue->invoked, queue->started);
}
