/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callbacks of a domain: its queue, the grace period that they wait for, and the thread that runs them.
 *
 * tested by: test/api/srcu.cc
 */
#include "srcu/srcu.h"

/* Maximum number of callbacks of one domain that run before the next domain is served. */
#define DOMAIN_BATCH 256

uint64_t srcu_pending(const struct srcu_struct *domain)
{
    const struct srcu_inner *inner = srcu_inner_const(domain);
    uint64_t invoked =
        rtrcu_load_acquire(&inner->invoked); /* read before the number enqueued, so the difference is not negative */
    return cbqueue_enqueued(&inner->queue) - invoked;
}

bool srcu_call(struct srcu *all, struct srcu_struct *domain, struct rcu_head *head)
{
    struct srcu_inner *inner = srcu_inner(domain);
    if (CHECK_DEBUG)
        callback_double_enter(all->cb, head, CALLBACK_OF_DOMAIN);
    bool first = cbqueue_push(&inner->queue, head, CB_ANYBODY);
    if (first)
        rtrcu_store_relaxed(&inner->inbox_ns, plat_clock_now());
    return first || !work_thread_runs(&all->thread);
}

/* Move callbacks of the waiting chain whose gp has ended to the ready chain, and the inbox to the waiting chain.  Under
 * the lock, while no thread runs callbacks. */
static void move_on(struct srcu_struct *domain)
{
    struct srcu_inner *inner = srcu_inner(domain);
    if (!cbchain_is_empty(&inner->waiting) && srcu_reached(domain, inner->cookie)) {
        if (cbchain_is_empty(&inner->ready))
            rtrcu_store_relaxed(&inner->ready_ns, inner->waiting_ns);
        cbqueue_join(&inner->ready, inner->waiting);
        inner->waiting = (struct cb_chain){NULL, NULL};
        rtrcu_store_relaxed(&inner->waiting_ns, 0);
    }
    if (!cbchain_is_empty(&inner->waiting))
        return;

    inner->waiting = cbqueue_take_inbox(&inner->queue);
    if (cbchain_is_empty(&inner->waiting))
        return;
    int64_t since_ns = rtrcu_exchange(&inner->inbox_ns, 0); /* 0: the producer has not stored the time yet */
    rtrcu_store_relaxed(&inner->waiting_ns, since_ns ? since_ns : plat_clock_now());
    inner->cookie = srcu_snap(domain);
    srcu_want(domain, inner->cookie);
}

bool srcu_collect(struct srcu_struct *domain)
{
    struct srcu_inner *inner = srcu_inner(domain);
    bool runs = false;

    lock_acquire(&inner->lock);
    if (plat_tid_is_nobody(inner->runner)) {
        move_on(domain);
        runs = !cbchain_is_empty(&inner->ready);
        inner->runner = runs ? lock_thread_id() : PLAT_NOBODY;
    }
    lock_release(&inner->lock);
    return runs;
}

/* Never called: its address identifies the marker of a barrier. */
static void marker_function(struct rcu_head *head)
{
    (void)head;
}

bool srcu_is_invoking(void *at)
{
    struct srcu *all = at;
    bool found = false;
    lock_acquire(&all->lock);
    for (struct srcu_struct *domain = all->first; domain && !found; domain = domain->next) {
        struct srcu_inner *inner = srcu_inner(domain);
        srcu_must_be_intact(all, domain);
        lock_acquire(&inner->lock);
        found = !plat_tid_is_nobody(inner->runner);
        lock_release(&inner->lock);
    }
    lock_release(&all->lock);
    return found;
}

bool srcu_runner_is_me(struct srcu_struct *domain)
{
    struct srcu_inner *inner = srcu_inner(domain);
    lock_acquire(&inner->lock);
    bool is_me = plat_tid_is(inner->runner, lock_thread_id());
    lock_release(&inner->lock);
    return is_me;
}

void srcu_marker_queue(struct srcu_struct *domain, struct srcu_marker *marker)
{
    *marker = (struct srcu_marker){.head.func = marker_function};
    (void)cbqueue_push(&srcu_inner(domain)->queue, &marker->head, CB_ANYBODY);
}

static void invoke(struct rcu_head *head)
{
    CALL_PROGRAM();
    head->func(head);
}

/* Run a batch, and return the linked list of its markers.  The batch ends early at a link that its producer has not
 * finished. */
static struct rcu_head *run_batch(struct callback *cb, struct srcu_inner *inner)
{
    struct rcu_head *markers = NULL, *head;
    for (uint32_t count = 0; count < DOMAIN_BATCH && (head = cbqueue_pop(&inner->ready)); count++) {
        if (head->func == marker_function) {
            head->next = markers;
            markers = head;
        } else {
            if (CHECK_DEBUG)
                callback_double_leave(cb, head, CALLBACK_OF_DOMAIN);
            invoke(head);
        }
        rtrcu_store_release(&inner->invoked, inner->invoked + 1);
    }
    return markers;
}

/* Runs a batch, and marks barriers' markers as done last, since a barrier's caller may destroy the domain when its
 * marker is done. */
bool srcu_run(struct srcu *all, struct srcu_struct *domain)
{
    struct srcu_inner *inner = srcu_inner(domain);
    uint64_t before = inner->invoked;
    struct rcu_head *markers = run_batch(all->cb, inner), *next;
    bool ran = inner->invoked != before;

    lock_acquire(&inner->lock);
    inner->runner = PLAT_NOBODY;
    if (cbchain_is_empty(&inner->ready))
        rtrcu_store_relaxed(&inner->ready_ns, 0);
    lock_release(&inner->lock);

    if (!markers)
        return ran;
    for (struct rcu_head *head = markers; head; head = next) {
        next = head->next;
        rtrcu_store_release(&container_of(head, struct srcu_marker, head)->is_done, 1);
    }
    rtrcu_fetch_add(&all->batches, 1);
    (void)plat_futex_wake(&all->batches, INT32_MAX);
    return ran;
}
