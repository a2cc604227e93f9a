/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A bitmap of leaves with pending work: one 64-bit word covers 2,048 threads.
 *
 * No other code writes the words.  By leaf:
 *
 *  before  transition         after
 *  CLEAR   callback_mark()    MARKED
 *  MARKED  callback_mark()    MARKED
 *  MARKED  callback_unmark()  CLEAR
 *  CLEAR   callback_unmark()  CLEAR
 *
 * A leaf gets its work before its mark, and the mark is cleared before the work is read, or both happen under the
 * queues lock.  Setting a mark twice does no harm, and marks are not counted: see callback_mark().
 */
#ifndef RTRCU_CALLBACK_MARKS_H
#define RTRCU_CALLBACK_MARKS_H

#include "reader/reader.h"

#define CALLBACK_MARKS 64 /* leaves per word */

/* The marks of 64 leaves, on a cache line of their own, which 2,048 threads share. */
struct callback_mark_line {
    uint64_t leaves; /* atomic: [O27] */
} __attribute__((aligned(BASE_CACHE_LINE)));

struct callback_marks {
    struct callback_mark_line line[READER_LEAVES / CALLBACK_MARKS];
};

/* Mark @leaf.  Wait-free, and async-signal-safe.  A full fence if the leaf was not marked. */
void callback_mark(struct callback_marks *marks, const struct reader_leaf *leaf);
void callback_unmark(struct callback_marks *marks, const struct reader_leaf *leaf);
/* In a fork's child: clear the marks of the first @leaves leaves. */
void callback_marks_forget(struct callback_marks *marks, uint32_t leaves);
/* Iterate over marked leaves: the next after @leaf, the first for NULL; NULL: none. */
struct reader_leaf *callback_next_marked(const struct callback_marks *marks, struct reader_registry *registry,
                                         const struct reader_leaf *leaf);

#endif
