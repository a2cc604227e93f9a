/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of bp: registered by their first section, even in a handler; they never wake a waiter.
 */
#include "nesting.h"

extern EXPORT __thread struct rtrcu_adopted_reader *urcu_bp_reader;
EXPORT void urcu_bp_register(void);
EXPORT void urcu_bp_before_fork(void);
EXPORT void urcu_bp_after_fork_parent(void);
EXPORT void urcu_bp_after_fork_child(void);
EXPORT void *urcu_bp_dereference_sym(void *p);
EXPORT void *urcu_bp_set_pointer_sym(void **p, void *v);
EXPORT void *urcu_bp_xchg_pointer_sym(void **p, void *v);
EXPORT void *urcu_bp_cmpxchg_pointer_sym(void **p, void *old, void *fresh);

__thread struct rtrcu_adopted_reader *urcu_bp_reader;
struct shim_gp urcu_bp_gp = {.generation = 1};
EXPORT uint32_t urcu_bp_has_sys_membarrier;

struct rtrcu_adopted_reader *shim_self(void)
{
    return urcu_bp_reader;
}

static void be(struct rtrcu_adopted_reader *own)
{
    urcu_bp_reader = own;
}

const struct rtrcu_adopt_flavour shim_flavour = {
    .kind = RTRCU_ADOPT_BP,
    .name = "urcu-bp",
    .generation = &urcu_bp_gp.generation,
    .futex = &urcu_bp_gp.futex,
    .light = &urcu_bp_has_sys_membarrier,
    .self = shim_self,
    .be = be,
    .ring = shim_ring,
};

void urcu_bp_register(void)
{
    urcu_bp_register_thread();
}

void urcu_bp_unregister_thread(void)
{
    rtrcu_adopt_unregister(shim_domain());
}

void urcu_bp_read_lock(void)
{
    if (unlikely(!urcu_bp_reader))
        urcu_bp_register();
    shim_enter(urcu_bp_reader);
}

void urcu_bp_read_unlock(void)
{
    (void)shim_leave(urcu_bp_reader);
}

int urcu_bp_read_ongoing(void)
{
    if (unlikely(!urcu_bp_reader))
        urcu_bp_register();
    return rtrcu_adopted_is_inside(&urcu_bp_reader->word);
}

/* Do nothing: the library's pthread_atfork() handlers do what is needed. */
void urcu_bp_before_fork(void)
{
}

void urcu_bp_after_fork_parent(void)
{
}

void urcu_bp_after_fork_child(void)
{
}

/* ---- pointers, under bp's own names ---- */

void *urcu_bp_dereference_sym(void *p)
{
    return rcu_dereference_sym(p);
}

void *urcu_bp_set_pointer_sym(void **p, void *v)
{
    return rcu_set_pointer_sym(p, v);
}

void *urcu_bp_xchg_pointer_sym(void **p, void *v)
{
    return rcu_xchg_pointer_sym(p, v);
}

void *urcu_bp_cmpxchg_pointer_sym(void **p, void *old, void *fresh)
{
    return rcu_cmpxchg_pointer_sym(p, old, fresh);
}
