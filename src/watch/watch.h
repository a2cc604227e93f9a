/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Watching: grace periods that do not end, and the counters.
 *
 * Knows: grace periods, records, callbacks (it reads their counters).  Must not know: drivers.
 * States: a stall is reported when a grace period is stall_timeout_ms old, then at three times the age each time.
 */
#ifndef RTRCU_WATCH_WATCH_H
#define RTRCU_WATCH_WATCH_H

#include "callback/callback.h"

struct watch {
    struct gp *gp;
    struct callback *cb;
    void (*handler)(const char *line); /* atomic: where reports go, NULL = standard error */
    uint64_t stall_reports;            /* atomic */
};

/* How old a grace period may become before the next report, nanoseconds; @previous 0 for the first. */
int64_t watch_next_report(const struct watch *watch, int64_t previous);
/* Name the grace period, every reader in its way, and what is queued behind it.  Under the crank. */
void watch_stall_report(struct watch *watch, enum gp_kind kind, int64_t now);
/* Grace periods cannot end since no fence is to be had. */
void watch_fence_report(struct watch *watch, int error);

/* Fill in everything of @stats that the rooms below know. */
void watch_stats(const struct watch *watch, struct rtrcu_stats *stats);

#endif
