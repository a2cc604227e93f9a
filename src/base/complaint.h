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

#endif
