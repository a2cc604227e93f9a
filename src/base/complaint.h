/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A rate limit for messages about misuse that a program may repeat for ever.
 *
 * The first 8 messages of a kind are printed, then the 16th, the 32nd and so on.  The later ones contain their number,
 * so a log has few lines, and shows how often the misuse occurred.  Each message contains the name of the thread that
 * caused it; the first message of a kind is followed by that thread's stack.
 */
#ifndef RTRCU_BASE_COMPLAINT_H
#define RTRCU_BASE_COMPLAINT_H

#include "base/check.h"

#define COMPLAINT_FIRST 8

/* One kind of message.  All zero: never printed. */
struct complaint {
    uint64_t count; /* atomic */
};

/* Count the message, and print it as plat_print() does if it is due.  @format ends without a newline.
 * Async-signal-safe. */
void complain(struct complaint *complaint, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A box for one message: a thread that must not make system calls leaves it there, and another thread prints it.  While
 * the box is full, further messages are only counted.  All zero: empty.
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
    uint32_t thread; /* written by the thread that has made the box BUSY, like the fields below */
    uint64_t number;
    char text[512];
};
enum complaint_box_state { COMPLAINT_BOX_EMPTY, COMPLAINT_BOX_BUSY, COMPLAINT_BOX_FULL };

/* Like complain(); but if @box is not NULL, leave the message there, without its stack and without a system call. */
void complain_by(struct complaint *complaint, struct complaint_box *box, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline bool complaint_box_is_full(const struct complaint_box *box)
{
    return rtrcu_load_relaxed(&box->state) == COMPLAINT_BOX_FULL;
}
/* Print the message in the box, as plat_print() does.  False: the box is empty. */
bool complaint_box_write(struct complaint_box *box);
void complaint_box_forget(struct complaint_box *box);

#endif
