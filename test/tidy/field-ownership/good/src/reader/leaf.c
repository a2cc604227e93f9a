/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "reader/reader.h"

unsigned int reader_look(struct reader_leaf *leaf, struct rtrcu_thread *thread)
{
    leaf->used = thread->word + thread->state;
    return leaf->tasks.parked + offsetof(struct reader_leaf, tasks);
}
