/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of memb and mb, registered by their first section unless they registered themselves.
 */
#include "nesting.h"

extern EXPORT __thread struct rtrcu_adopted_reader NAME(reader);
EXPORT void NAME(unregister_thread)(void);
EXPORT void NAME(init)(void);
EXPORT void NAME(exit)(void);

__thread struct rtrcu_adopted_reader NAME(reader);
struct shim_gp NAME(gp) = {.generation = 1};

struct rtrcu_adopted_reader *shim_self(void)
{
    return &NAME(reader);
}

void NAME(read_lock)(void)
{
    struct rtrcu_adopted_reader *self = &NAME(reader);
    if (unlikely(!self->record))
        NAME(register_thread)();
    shim_enter(self);
}

void NAME(read_unlock)(void)
{
    bool left = shim_leave(&NAME(reader));
    if (left && unlikely(rtrcu_load_relaxed(&NAME(gp).futex) == SHIM_ASLEEP))
        rtrcu_adopt_wake(shim_domain());
}

int NAME(read_ongoing)(void)
{
    return rtrcu_adopted_is_inside(&NAME(reader).word);
}

void NAME(unregister_thread)(void)
{
    rtrcu_adopt_unregister(shim_domain());
}

void NAME(init)(void)
{
    (void)shim_domain();
}

/* Does nothing: grace periods and callbacks continue until the process ends. */
void NAME(exit)(void)
{
}
