/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Debug builds: detection of callbacks whose code was unloaded by dlclose() while they were queued.
 *
 * call_rcu() records the object that contains the function.  Before a function is called, its code must still be in
 * memory.  Code generated at run time belongs to no object, and is only checked to be in memory.
 * tested by: test/api/unloaded.cc
 */
#include <string.h>

#include "callback/callback.h"

enum { OBJECT_EMPTY, OBJECT_BUSY, OBJECT_NOTED };

/* The newest recorded object that contains @address; an older object at that address was unloaded.  NULL: none. */
static const struct callback_object *noted(const struct callback *cb, uintptr_t address)
{
    for (size_t i = CALLBACK_OBJECTS; i-- > 0;) {
        const struct callback_object *object = &cb->object[i];
        if (rtrcu_load_acquire(&object->state) == OBJECT_NOTED &&
            address - object->plat.begin < object->plat.end - object->plat.begin)
            return object;
    }
    return NULL;
}

/* Record the object that contains @func, unless it is recorded already.  If the table is full, or a handler takes the
 * same place, the object is not recorded, and a report cannot name it. */
void callback_code_note(struct callback *cb, rcu_callback_t func)
{
    struct plat_object found;
    if (callback_is_free_head(func) || !plat_code_object((uintptr_t)func, &found))
        return;

    const struct callback_object *known = noted(cb, (uintptr_t)func);
    if (known && known->plat.base == found.base && strcmp(known->plat.file, found.file) == 0)
        return;

    for (size_t i = 0; i < CALLBACK_OBJECTS; i++) {
        uint32_t empty = OBJECT_EMPTY;
        if (!rtrcu_compare_exchange(&cb->object[i].state, &empty, OBJECT_BUSY))
            continue;
        cb->object[i].plat = found;
        rtrcu_store_release(&cb->object[i].state, OBJECT_NOTED);
        return;
    }
}

/* Used in the message for an address without an object. */
static const struct plat_object nowhere = {.file = "no object is known for the address"};

void callback_code_check(const struct callback *cb, const struct reader_record *record, rcu_callback_t func)
{
    uintptr_t address = (uintptr_t)func;
    struct plat_object found;
    if (callback_is_free_head(func) || plat_code_object(address, &found) || plat_try_read(address) != -EFAULT)
        return;

    const struct callback_object *object = noted(cb, address);
    const struct plat_object *from = object ? &object->plat : &nowhere;
    plat_die("rtrcu: the code of a callback of thread %u is no longer in memory: %s 0x%lx; before dlclose(), unpublish,"
             " call synchronize_rcu(), then rcu_barrier()\n",
             reader_thread_id(record).number, from->file, (unsigned long)(address - from->base));
}
