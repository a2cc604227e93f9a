/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "reader/reader.h"

unsigned int reader_look(struct rtrcu_thread *thread)
{
    return thread->word + thread->slow;
}

/* On the list, but mended: the list is to be shortened. */
unsigned int reader_mended(const struct reader_leaf *leaf)
{
    return reader_used(leaf);
}
