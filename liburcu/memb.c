/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of memb: light fences while the kernel has membarrier().
 */
#include "nesting.h"

extern EXPORT __thread struct rtrcu_adopted_reader urcu_memb_reader;
extern EXPORT uint32_t urcu_memb_has_sys_membarrier;
EXPORT void urcu_memb_register_thread(void);
EXPORT void urcu_memb_unregister_thread(void);
EXPORT void urcu_memb_init(void);

__thread struct rtrcu_adopted_reader urcu_memb_reader;
struct shim_gp urcu_memb_gp = {.generation = 1};
uint32_t urcu_memb_has_sys_membarrier;

static struct rtrcu_adopted_reader *self_of_thread(void)
{
    return &urcu_memb_reader;
}

const struct rtrcu_adopt_flavour shim_flavour = {
    .kind = RTRCU_ADOPT_MEMB,
    .name = "urcu-memb",
    .generation = &urcu_memb_gp.generation,
    .futex = &urcu_memb_gp.futex,
    .light = &urcu_memb_has_sys_membarrier,
    .self = self_of_thread,
};

static __attribute__((noinline)) void register_at_first_use(void)
{
    rtrcu_adopt_register(shim_domain());
}

void urcu_memb_read_lock(void)
{
    struct rtrcu_adopted_reader *self = &urcu_memb_reader;
    if (unlikely(!self->record))
        register_at_first_use();
    shim_enter(self, &urcu_memb_gp, &urcu_memb_has_sys_membarrier);
}

void urcu_memb_read_unlock(void)
{
    bool left = shim_leave(&urcu_memb_reader, &urcu_memb_has_sys_membarrier);
    if (left && unlikely(rtrcu_load_relaxed(&urcu_memb_gp.futex) == SHIM_ASLEEP))
        rtrcu_adopt_wake(shim_domain());
}

int urcu_memb_read_ongoing(void)
{
    return (uint32_t)urcu_memb_reader.word != 0;
}

void urcu_memb_register_thread(void)
{
    rtrcu_adopt_register(shim_domain());
}

void urcu_memb_unregister_thread(void)
{
    rtrcu_adopt_unregister(shim_domain());
}

void urcu_memb_init(void)
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
    urcu_memb_register_thread();
}

void shim_unregister_thread(void)
{
    urcu_memb_unregister_thread();
}
