/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of memb and mb, who register by their first section where they did not themselves.
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

/* Grace periods and callbacks go on until the process has ended. */
void NAME(exit)(void)
{
}
