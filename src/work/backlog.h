/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A backlog of callbacks at qmax: how long a producer waits for it, and at what priority it is served meanwhile.
 */
#ifndef RTRCU_WORK_BACKLOG_H
#define RTRCU_WORK_BACKLOG_H

#include "base/base.h"

/* At which invokers run while a backlog is at qmax, where they may. */
#define WORK_LIFTED_NICE -15
/* How long blocking backpressure waits for a backlog that stands still. */
#define WORK_PATIENCE_NS 100000000

/* Of a producer that waits: what it saw last.  Zeroed at first. */
struct work_patience {
    uint64_t returned;
    int64_t moved_ns;
};

/* How long the producer still waits, where @returned callbacks have returned by now; below 0: the backlog has stood
 * still for WORK_PATIENCE_NS. */
int64_t work_patience_left(struct work_patience *patience, uint64_t returned);

/* The calling invoker runs above ordinary threads while its backlog is at qmax, as far as it may, and else at @nice;
 * *@lifted: does it?  True if it has been lifted now. */
bool work_backlog_lift(bool full, bool *lifted, int nice);

#endif
