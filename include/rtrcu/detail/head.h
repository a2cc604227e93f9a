/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The head of a callback: the same for this library's readers and for liburcu's flavours on it. */
#ifndef RTRCU_DETAIL_HEAD_H
#define RTRCU_DETAIL_HEAD_H

/* Embedded in the object to be reclaimed; needs no initialisation. */
struct rcu_head {
    struct rcu_head *next; /* atomic while in an inbox; owned by the library from call_rcu() until @func is called */
    void (*func)(struct rcu_head *head);
};
typedef void (*rcu_callback_t)(struct rcu_head *head);

#endif
