/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Initialisation and destruction of domains, and their repair in a fork's child.
 *
 * tested by: test/api/srcu.cc
 */
#include <errno.h>
#include <string.h>

#include "srcu/srcu.h"

void srcu_init(struct srcu *all, const struct config *config, struct callback *cb, struct watch *watch,
               struct work *work)
{
    uint32_t cpus = (uint32_t)plat_cpus_configured();
    all->config = config;
    all->registry = callback_registry(cb);
    all->cb = cb;
    all->watch = watch;
    all->work = work;
    work_end_after(work, srcu_is_invoking, all);
    lock_init(&all->lock, LOCK_RANK_DOMAINS);
    for (all->stripes = 1; all->stripes < cpus && all->stripes < RTRCU_SRCU_STRIPES_MAX;) /* up to 64 */
        all->stripes *= 2;
}

void srcu_must_be_initialised(const struct srcu_struct *domain, const char *call)
{
    uintptr_t stripes = rtrcu_load_relaxed(&domain->stripes);
    if (!stripes)
        plat_die("rtrcu: thread %u: %s(): the domain at %p is not initialised, or has been destroyed; call "
                 "init_srcu_struct()"
                 " first\n",
                 lock_thread_number(), call, (const void *)domain);
    if (!(stripes & SRCU_STRIPES_MASK) && stripes != (uintptr_t)srcu_first(domain))
        plat_die("rtrcu: thread %u: %s(): the domain at %p was copied or moved from other memory; a domain must stay"
                 " where init_srcu_struct() initialised it\n",
                 lock_thread_number(), call, (const void *)domain);
}

/* The link to @domain, under the list's lock.  NULL: it is not listed, and its memory is not read. */
static struct srcu_struct **link_to(struct srcu *all, const struct srcu_struct *domain)
{
    for (struct srcu_struct **at = &all->first; *at; at = &(*at)->next) { /* bounded by the list */
        srcu_must_be_intact(all, *at);
        if (*at == domain)
            return at;
    }
    return NULL;
}

/* Initialise a domain that is not listed yet. */
static void domain_init(struct srcu_struct *domain, const char *name)
{
    struct srcu_inner *inner = srcu_inner(domain);
    memset(domain, 0, sizeof(*domain));
    domain->stripes = (uintptr_t)srcu_first(domain);
    domain->name = name;
    lock_init(&inner->lock, LOCK_RANK_DOMAIN);
    cbqueue_init(&inner->queue);
    inner->seq = inner->wanted = SEQ_FIRST;
}

int srcu_domain_init(struct srcu *all, struct srcu_struct *domain, const char *name)
{
    lock_acquire(&all->lock);
    bool initialised = link_to(all, domain) != NULL;
    if (!initialised) {
        uint32_t number = ++all->numbers;
        domain_init(domain, name);
        domain->slot = &all->slots[number % SRCU_SLOTS].word;
        domain->key = number << 1;
        domain->current = all->forks << 1 & INT32_MAX;
        domain->next = all->first;
        all->first = domain;
    }
    lock_release(&all->lock);

    if (!initialised)
        return 0;
    complain(&all->misuse,
             "rtrcu: init_srcu_struct(%s): the domain is initialised already and unchanged; destroy it by"
             " cleanup_srcu_struct() before its memory is used again",
             name);
    return -EBUSY;
}

void srcu_domain_forget(struct srcu *all, struct srcu_struct *domain)
{
    lock_acquire(&all->lock);
    struct srcu_struct **at = link_to(all, domain);
    if (at)
        *at = domain->next;
    lock_release(&all->lock);
}

/* Has the domain open sections, callbacks that have not returned, or waiting calls?  Under both locks. */
static bool is_in_use(struct srcu_struct *domain)
{
    const struct srcu_inner *inner = srcu_inner(domain);
    return !srcu_is_drained(domain, SRCU_BOTH) || srcu_pending(domain) || !plat_tid_is_nobody(inner->runner) ||
           tally_read(&inner->callers);
}

/* Remove @domain from the list.  -EBUSY: it is in use; -EINVAL: it is not listed. */
static int unlist(struct srcu *all, struct srcu_struct *domain)
{
    lock_acquire(&all->lock);
    struct srcu_struct **at = link_to(all, domain);
    int error = at ? 0 : -EINVAL;
    if (at) {
        struct srcu_inner *inner = srcu_inner(domain);
        lock_acquire(&inner->lock);
        error = is_in_use(domain) ? -EBUSY : 0;
        if (!error)
            *at = domain->next;
        lock_release(&inner->lock);
    }
    lock_release(&all->lock);
    return error;
}

/* Destroys the domain, and clears `stripes`, by which a later call sees that the domain has been destroyed. */
int srcu_domain_destroy(struct srcu *all, struct srcu_struct *domain)
{
    int error = unlist(all, domain);
    if (error == -EINVAL)
        complain(&all->misuse,
                 "rtrcu: cleanup_srcu_struct(): the domain at %p is not initialised, or has been destroyed;"
                 " call it once for each init_srcu_struct()",
                 (void *)domain);
    if (error == -EBUSY)
        complain(&all->misuse,
                 "rtrcu: cleanup_srcu_struct(%s): the domain is in use and not destroyed: %llu sections, %llu "
                 "callbacks, %u waiting"
                 " calls; end them and call srcu_barrier() first",
                 domain->name, (unsigned long long)srcu_inside(domain), (unsigned long long)srcu_pending(domain),
                 tally_read(&srcu_inner(domain)->callers));
    if (error)
        return error;

    uintptr_t stripes = rtrcu_load_relaxed(&domain->stripes);
    rtrcu_store_relaxed(&domain->stripes, 0);
    if (stripes & SRCU_STRIPES_MASK)
        plat_mem_release((void *)(stripes & ~SRCU_STRIPES_MASK), all->stripes * sizeof(struct rtrcu_srcu_stripe));
    return 0;
}

/* ---- fork ---- */

void srcu_before_fork(struct srcu *all)
{
    lock_acquire(&all->lock);
}

void srcu_after_fork_parent(struct srcu *all)
{
    lock_release(&all->lock);
}

/* Reset a domain in the child.  Its sections and callbacks continue only in the parent, so in the child the domain has
 * neither, and a grace period in progress has ended. */
static void domain_after_fork(struct srcu *all, struct srcu_struct *domain, struct plat_tid old_thread_id)
{
    struct srcu_inner *inner = srcu_inner(domain);
    bool runs = !plat_tid_is_nobody(old_thread_id) && plat_tid_is(inner->runner, old_thread_id);
    uintptr_t stripes = domain->stripes;

    memset(srcu_first(domain), 0, sizeof(struct rtrcu_srcu_stripe));
    if (stripes & SRCU_STRIPES_MASK)
        memset((void *)(stripes & ~SRCU_STRIPES_MASK), 0, all->stripes * sizeof(struct rtrcu_srcu_stripe));

    uint64_t seq = seq_is_running(inner->seq) ? seq_ended(inner->seq) : inner->seq, wanted = inner->wanted;
    memset(inner, 0, sizeof(*inner));
    lock_init(&inner->lock, LOCK_RANK_DOMAIN);
    cbqueue_init(&inner->queue);
    inner->seq = seq;
    inner->wanted = wanted;
    if (runs) { /* a callback forked: it continues here, and its return raises `invoked` to 0 */
        inner->runner = lock_thread_id();
        inner->invoked = UINT64_MAX;
    }
    domain->current = all->forks << 1 & INT32_MAX;
}

void srcu_after_fork_child(struct srcu *all, struct plat_tid old_thread_id)
{
    lock_reset(&all->lock);
    all->forks++;
    for (struct srcu_slot *slot = all->slots; slot < all->slots + SRCU_SLOTS; slot++)
        slot->word = 0;
    memset(all->notes, 0, sizeof(all->notes));
    callback_double_after_fork(all->cb);
    for (struct srcu_struct *domain = all->first; domain; domain = domain->next) {
        srcu_must_be_intact(all, domain);
        domain_after_fork(all, domain, old_thread_id);
    }
    (void)work_thread_after_fork(all->work, &all->thread, old_thread_id);
}

/* Ignores an unlock of a section from before a fork: the child does not have that section, but code that forked inside
 * it unlocks in both processes.  Reports any other index. */
void srcu_stale(struct srcu *all, const struct srcu_struct *domain, int index)
{
    uint32_t forks = rtrcu_load_relaxed(&domain->current) >> 1;
    if (index < 0 || (uint32_t)index >> 1 > forks)
        complain(&all->misuse, "rtrcu: srcu_read_unlock(%s): %d is no index that srcu_read_lock() returned",
                 domain->name, index);
}
