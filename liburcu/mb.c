/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of mb: full fences on both sides.
 */
#include "nesting.h"

extern EXPORT __thread struct rtrcu_adopted_reader urcu_mb_reader;
EXPORT void urcu_mb_register_thread(void);
EXPORT void urcu_mb_unregister_thread(void);
EXPORT void urcu_mb_init(void);

__thread struct rtrcu_adopted_reader urcu_mb_reader;
struct shim_gp urcu_mb_gp = {.generation = 1};

static struct rtrcu_adopted_reader *self_of_thread(void)
{
    return &urcu_mb_reader;
}

const struct rtrcu_adopt_flavour shim_flavour = {
    .kind = RTRCU_ADOPT_MB,
    .name = "urcu-mb",
    .generation = &urcu_mb_gp.generation,
    .futex = &urcu_mb_gp.futex,
    .self = self_of_thread,
};

static __attribute__((noinline)) void register_at_first_use(void)
{
    rtrcu_adopt_register(shim_domain());
}

void urcu_mb_read_lock(void)
{
    struct rtrcu_adopted_reader *self = &urcu_mb_reader;
    if (unlikely(!self->record))
        register_at_first_use();
    shim_enter(self, &urcu_mb_gp, NULL);
}

void urcu_mb_read_unlock(void)
{
    bool left = shim_leave(&urcu_mb_reader, NULL);
    if (left && unlikely(rtrcu_load_relaxed(&urcu_mb_gp.futex) == SHIM_ASLEEP))
        rtrcu_adopt_wake(shim_domain());
}

int urcu_mb_read_ongoing(void)
{
    return (uint32_t)urcu_mb_reader.word != 0;
}

void urcu_mb_register_thread(void)
{
    rtrcu_adopt_register(shim_domain());
}

void urcu_mb_unregister_thread(void)
{
    rtrcu_adopt_unregister(shim_domain());
}

void urcu_mb_init(void)
{
    (void)shim_domain();
}

void shim_quiescent_state(void)
{
}

void shim_thread_offline(void)
{
}

void shim_thread_online(void)
{
}

void shim_register_thread(void)
{
    urcu_mb_register_thread();
}

void shim_unregister_thread(void)
{
    urcu_mb_unregister_thread();
}
