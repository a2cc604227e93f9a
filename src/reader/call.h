/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The call in which a thread waits for the end of its own section, for stall reports. */
#ifndef RTRCU_READER_CALL_H
#define RTRCU_READER_CALL_H

#include "base/base.h"

struct reader_record;

/* Value: a call that waits for grace periods, and its call site. */
struct reader_call {
    const char *name; /* name of the public function, a string constant; NULL = no call */
    uintptr_t from;
};

/* Record that the calling thread begins @call, which waits for a section that the thread has open.  If @call.name is
 * NULL, record that the call has ended. */
static inline void reader_self_waits(struct reader_call call)
{
    rtrcu_store_relaxed(&rtrcu_self.waits_from, call.from);
    rtrcu_store_relaxed(&rtrcu_self.waits_in, call.name);
}

/* The call in which the owner waits for the end of its own section.  Under the leaf lock; the owner is registered. */
struct reader_call reader_waits(const struct reader_record *record);

#endif
