/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages about what a program does wrong and may do for ever: the first are said, then the 16th, the 32nd and so on,
 * each with its number.  So however many there are, a log holds a few lines, and says how many there were.  Each has
 * the name of the thread that says it, and the first of its kind the stack.
 */
#ifndef RTRCU_BASE_COMPLAINT_H
#define RTRCU_BASE_COMPLAINT_H

#include "base/check.h"

#define COMPLAINT_FIRST 8

/* One kind of message.  All zero: never said. */
struct complaint {
    uint64_t count; /* atomic */
};

/* Count, and say it as plat_print() does if it is due.  @format ends without a newline.  Async-signal-safe. */
void complain(struct complaint *complaint, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A message of a thread that must not write, for another thread that may.  It holds one: while that waits, further ones
 * are only counted.  All zero: empty.
 *
 *  before   transition               after
 *  EMPTY    complain_by()            BUSY
 *  BUSY     complain_by()            FULL    the message is complete
 *  FULL     complaint_box_write()    BUSY
 *  BUSY     complaint_box_write()    EMPTY   the message has been copied
 *
 * A fork's child begins with an empty box: complaint_box_forget().
 */
struct complaint_box {
    uint32_t state;  /* atomic: enum complaint_box_state */
    uint32_t thread; /* by the thread that has made the box BUSY, as those below */
    uint64_t number;
    char text[512];
};
enum complaint_box_state { COMPLAINT_BOX_EMPTY, COMPLAINT_BOX_BUSY, COMPLAINT_BOX_FULL };

/* As complain(); with a @box, no system call: the message waits there, and has no stack.  NULL: as complain(). */
void complain_by(struct complaint *complaint, struct complaint_box *box, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline bool complaint_box_is_full(const struct complaint_box *box)
{
    return rtrcu_load_relaxed(&box->state) == COMPLAINT_BOX_FULL;
}
/* Write the message that waits, as plat_print() does.  False: none does. */
bool complaint_box_write(struct complaint_box *box);
void complaint_box_forget(struct complaint_box *box);

#endif
