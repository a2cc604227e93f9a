/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Leaves where there is something of one kind: a bit for each, 64 in a word: who looks for it reads a word for each
 * 2,048 threads, and goes to these leaves alone.
 *
 * Nobody else writes the words.  By leaf:
 *
 *  before  transition         after
 *  CLEAR   callback_mark()    MARKED
 *  MARKED  callback_mark()    MARKED
 *  MARKED  callback_unmark()  CLEAR
 *  CLEAR   callback_unmark()  CLEAR
 *
 * A mark says: look there.  The thing itself is there before its mark, and the mark is taken before the thing is looked
 * at, or both under the queues lock.  Setting one twice is no harm, and nothing counts them: see callback_mark().
 */
#ifndef RTRCU_CALLBACK_MARKS_H
#define RTRCU_CALLBACK_MARKS_H

#include "reader/reader.h"

#define CALLBACK_MARKS 64 /* in a word */

/* The marks of so many leaves, on a line of their own: 2,048 threads share it. */
struct callback_mark_line {
    uint64_t leaves; /* atomic: [O27] */
} __attribute__((aligned(BASE_CACHE_LINE)));

struct callback_marks {
    struct callback_mark_line line[READER_LEAVES / CALLBACK_MARKS];
};

/* Wait-free, and async-signal-safe.  A full fence if it was not marked. */
void callback_mark(struct callback_marks *marks, const struct reader_leaf *leaf);
void callback_unmark(struct callback_marks *marks, const struct reader_leaf *leaf);
/* In a fork's child, for so many leaves: none is marked. */
void callback_marks_forget(struct callback_marks *marks, uint32_t leaves);
/* The way through the leaves that are marked: the next behind @leaf, the first behind NULL; NULL: none is. */
struct reader_leaf *callback_next_marked(const struct callback_marks *marks, struct reader_registry *registry,
                                         const struct reader_leaf *leaf);

#endif
