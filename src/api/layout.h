/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Layouts and numbers compiled into programs: changing one breaks every installed program.
 *
 * A struct whose comment permits it may grow at its end; then the size here grows too.
 */
#ifndef RTRCU_API_LAYOUT_H
#define RTRCU_API_LAYOUT_H

#include <assert.h>

#include <rtrcu/rcu.h>

#define LAYOUT_SIZE(type, bytes) static_assert(sizeof(struct type) == (bytes), "installed: size of " #type)
#define LAYOUT_FIELD(type, field, at)                                                                                  \
    static_assert(offsetof(struct type, field) == (at), "installed: place of " #type "." #field)
#define LAYOUT_NUMBER(name, number) static_assert((name) == (number), "installed: number of " #name)

/* The inline fast paths expect the word and the flag at these offsets; heads and links are in programs' memory. */
LAYOUT_SIZE(rtrcu_thread, 168);
LAYOUT_FIELD(rtrcu_thread, word, 0);
LAYOUT_FIELD(rtrcu_thread, flag, 4);
LAYOUT_FIELD(rtrcu_thread, record, 16);
LAYOUT_FIELD(rtrcu_thread, entered, 48);
LAYOUT_FIELD(rtrcu_thread, mount_id, 76);
LAYOUT_FIELD(rtrcu_thread, bare_base, 88);
LAYOUT_FIELD(rtrcu_thread, entered_ns, 96);
LAYOUT_FIELD(rtrcu_thread, waits_in, 104);
LAYOUT_FIELD(rtrcu_thread, waits_from, 112);
LAYOUT_FIELD(rtrcu_thread, waits_at, 120);
LAYOUT_FIELD(rtrcu_thread, system_calls, 128);
LAYOUT_SIZE(rcu_head, 16);
LAYOUT_FIELD(rcu_head, next, 0);
LAYOUT_FIELD(rcu_head, func, 8);
LAYOUT_SIZE(rtrcu_link, 16);
LAYOUT_SIZE(rcu_task, 80);
LAYOUT_FIELD(rcu_task, record, 16);
LAYOUT_FIELD(rcu_task, name, 40);
LAYOUT_FIELD(rcu_task, where, 56);
LAYOUT_FIELD(rcu_task, mounted, 68);
LAYOUT_FIELD(rcu_task, outer_base, 72);
LAYOUT_SIZE(rtrcu_config, 232);
LAYOUT_FIELD(rtrcu_config, size, 0);
LAYOUT_FIELD(rtrcu_config, boost, 28);
LAYOUT_FIELD(rtrcu_config, budget_ns, 80);
LAYOUT_FIELD(rtrcu_config, krcud_when, 120);
LAYOUT_FIELD(rtrcu_config, cpus, 136);
LAYOUT_FIELD(rtrcu_config, gp_rtprio, 216);
LAYOUT_FIELD(rtrcu_config, qmax_process, 224);
LAYOUT_SIZE(rtrcu_stats, 632);
LAYOUT_FIELD(rtrcu_stats, size, 0);
LAYOUT_FIELD(rtrcu_stats, gp_completed, 8);
LAYOUT_FIELD(rtrcu_stats, latency_us_log2, 288);

LAYOUT_NUMBER(RTRCU_WORD_QUIET, UINT32_C(0x80100000));
LAYOUT_NUMBER(RTRCU_NESTING_MASK, 0xfffff);
LAYOUT_NUMBER(RTRCU_QSBR_ONLINE, RTRCU_NESTING_MASK + 1);

LAYOUT_NUMBER(RTRCU_POLICY_DAEMON, 0);
LAYOUT_NUMBER(RTRCU_POLICY_INLINE, 1);
LAYOUT_NUMBER(RTRCU_POLICY_KRCUD, 2);
LAYOUT_NUMBER(RTRCU_POLICY_THROTTLE, 3);
LAYOUT_NUMBER(RTRCU_POLICY_UNBOUNDED, 4);
LAYOUT_NUMBER(RTRCU_DRIVER_KTHREAD, 0);
LAYOUT_NUMBER(RTRCU_DRIVER_LTIMER, 1);
LAYOUT_NUMBER(RTRCU_DRIVER_SCHED, 2);
LAYOUT_NUMBER(RTRCU_DRIVER_POLL, 3);
LAYOUT_NUMBER(RTRCU_BACKPRESSURE_EXPEDITE, 0);
LAYOUT_NUMBER(RTRCU_BACKPRESSURE_BLOCK, 1);
LAYOUT_NUMBER(RTRCU_BACKPRESSURE_HELP, 2);
LAYOUT_NUMBER(RTRCU_EXP_WORKER_WORKQUEUE, 1);
LAYOUT_NUMBER(RTRCU_EXP_WORKER_KTHREAD_ONLY, 2);
LAYOUT_NUMBER(RTRCU_BLOCKED_LISTS_NODE, 1);
LAYOUT_NUMBER(RTRCU_KRCUD_WHEN_ALWAYS, 1);
LAYOUT_NUMBER(RTRCU_MEMBARRIER_ON, 1);
LAYOUT_NUMBER(RTRCU_MEMBARRIER_OFF, 2);

#endif
