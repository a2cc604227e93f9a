/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Grace periods that are requested now and polled later. */
#ifndef RTRCU_LIBURCU_POLL_H
#define RTRCU_LIBURCU_POLL_H

/* The cookie that urcu_memb_start_poll_synchronize_rcu() and the like return, for the poll function of the same
 * flavour. */
struct urcu_gp_poll_state {
    unsigned long grace_period_id;
};

#endif
