/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What call_rcu() hangs in its queue: the same for this library's readers and for liburcu's flavours on it.
 */
#ifndef RTRCU_DETAIL_HEAD_H
#define RTRCU_DETAIL_HEAD_H

/* Part of the object that is to be reclaimed; needs no initialisation. */
struct rcu_head {
    struct rcu_head *next; /* atomic while in an inbox; the library's from call_rcu() until @func is called */
    void (*func)(struct rcu_head *head);
};
typedef void (*rcu_callback_t)(struct rcu_head *head);

#endif
