/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A backlog of callbacks at qmax: how long a producer waits, and at what priority the backlog is served meanwhile. */
#ifndef RTRCU_WORK_BACKLOG_H
#define RTRCU_WORK_BACKLOG_H

#include "base/base.h"

/* Nice value of invokers while a backlog is at qmax, if permitted. */
#define WORK_LIFTED_NICE -15
/* How long blocking backpressure waits while no callback of the process returns, and while none of the queue does. */
#define WORK_PATIENCE_NS 100000000
#define WORK_PATIENCE_QUEUE_NS 1000000000

/* State of a waiting producer: what it saw last.  Initially zero. */
struct work_patience {
    uint64_t returned, all_returned;
    int64_t moved_ns, all_moved_ns;
};

/* Remaining time for which the producer waits, given that @returned callbacks of its queue and @all_returned of the
 * process have returned; below 0: no callback of the process has returned for WORK_PATIENCE_NS, or none of the queue
 * for WORK_PATIENCE_QUEUE_NS. */
int64_t work_patience_left(struct work_patience *patience, uint64_t returned, uint64_t all_returned);

/* Set the calling invoker's nice value: WORK_LIFTED_NICE, if permitted, while its backlog is at qmax (@full), else
 * @nice.  *@lifted: whether the invoker is raised.  Returns true if this call raised it. */
bool work_backlog_lift(bool full, bool *lifted, int nice);

#endif
