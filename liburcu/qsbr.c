/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of qsbr: an online thread is inside until its next quiescent state, or until it goes offline. */
#include "shim.h"

extern EXPORT __thread struct rtrcu_adopted_reader urcu_qsbr_reader;
EXPORT void urcu_qsbr_unregister_thread(void);
EXPORT void urcu_qsbr_quiescent_state(void);
EXPORT void urcu_qsbr_thread_offline(void);
EXPORT void urcu_qsbr_thread_online(void);
EXPORT void urcu_qsbr_exit(void);

__thread struct rtrcu_adopted_reader urcu_qsbr_reader;
struct shim_gp urcu_qsbr_gp = {.generation = 1};

struct rtrcu_adopted_reader *shim_self(void)
{
    return &urcu_qsbr_reader;
}

const struct rtrcu_adopt_flavour shim_flavour = {
    .kind = RTRCU_ADOPT_QSBR,
    .name = "urcu-qsbr",
    .generation = &urcu_qsbr_gp.generation,
    .futex = &urcu_qsbr_gp.futex,
    .self = shim_self,
    .ring = shim_ring,
};

void urcu_qsbr_read_lock(void)
{
}

void urcu_qsbr_read_unlock(void)
{
}

int urcu_qsbr_read_ongoing(void)
{
    return urcu_qsbr_reader.word != 0;
}

static __attribute__((noinline)) void wake(struct rtrcu_adopted_reader *self)
{
    rtrcu_store_relaxed(&self->waiting, 0);
    rtrcu_fence_full();
    rtrcu_adopt_wake(shim_domain());
}

/* Returns early if the word has the current generation: no grace period that has advanced the generation waits for this
 * thread. */
void urcu_qsbr_quiescent_state(void)
{
    struct rtrcu_adopted_reader *self = &urcu_qsbr_reader;
    uint64_t generation = rtrcu_load_relaxed(&urcu_qsbr_gp.generation);
    if (self->word == generation)
        return;
    rtrcu_tsan_release(&urcu_qsbr_gp.generation);
    rtrcu_fence_full();
    rtrcu_store_release(&self->word, generation);
    rtrcu_fence_full();
    if (unlikely(rtrcu_load_relaxed(&self->waiting)))
        wake(self);
}

void urcu_qsbr_thread_offline(void)
{
    rtrcu_adopt_offline(shim_domain());
}

void urcu_qsbr_thread_online(void)
{
    rtrcu_adopt_online(shim_domain());
}

void urcu_qsbr_unregister_thread(void)
{
    rtrcu_adopt_unregister(shim_domain());
}

void urcu_qsbr_exit(void)
{
}
