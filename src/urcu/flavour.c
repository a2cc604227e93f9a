/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The flavours of the process: their list, and initialisation of one.
 *
 * tested by: test/dropin/together.c
 */
#include <string.h>

#include "urcu/urcu.h"

struct rtrcu_adopted *urcu_named(struct urcu *all, const char *name)
{
    struct rtrcu_adopted *adopted = rtrcu_load_acquire(&all->first);
    while (adopted && strcmp(adopted->flavour.name, name) != 0)
        adopted = adopted->next;
    return adopted;
}

struct rtrcu_adopted *urcu_flavour(struct urcu *all, const struct rtrcu_adopt_flavour *flavour)
{
    for (struct rtrcu_adopted *adopted = rtrcu_load_acquire(&all->first); adopted; adopted = adopted->next) {
        if (adopted->flavour.kind == flavour->kind)
            return adopted;
    }

    struct rtrcu_adopted *adopted = plat_mem_pages(sizeof(*adopted));
    if (!adopted)
        return NULL;

    adopted->flavour = *flavour;
    adopted->kind = &urcu_kinds[flavour->kind];
    adopted->all = all;
    if (!urcu_alloc_blocks(adopted, &adopted->first)) {
        plat_mem_release(adopted, sizeof(*adopted));
        return NULL;
    }

    rtrcu_store_relaxed(&adopted->seq, SEQ_FIRST);
    rtrcu_store_relaxed(&adopted->wanted, SEQ_FIRST);
    lock_init(&adopted->gp_lock, LOCK_RANK_GP);
    lock_init(&adopted->words_lock, LOCK_RANK_WORDS);
    lock_init(&adopted->servers_lock, LOCK_RANK_SERVERS);
    urcu_server_init(&adopted->ordinary, adopted, 0, -1);

    bool may_interrupt = config_now(all->config)->membarrier != RTRCU_MEMBARRIER_OFF;
    if (flavour->light && may_interrupt && plat_fence_prepare() == 0)
        rtrcu_store_relaxed(flavour->light, 1);

    adopted->next = rtrcu_load_relaxed(&all->first);
    rtrcu_store_release(&all->first, adopted);
    return adopted;
}

void urcu_init(struct urcu *all, const struct config *config, struct reader_registry *registry, struct watch *watch,
               struct work *work)
{
    all->config = config;
    all->registry = registry;
    all->watch = watch;
    all->work = work;
    all->exit_error = -ENOSYS;
}

void urcu_hook_exits(struct urcu *all, void (*on_exit)(void *))
{
    if (all->exit_error)
        all->exit_error = plat_thread_exit_prepare(&all->exit_key, on_exit);
}
