/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Grace periods that are asked for and looked at later.
 */
#ifndef RTRCU_LIBURCU_POLL_H
#define RTRCU_LIBURCU_POLL_H

/* What urcu_memb_start_poll_synchronize_rcu() and its kin give, for urcu_memb_poll_state_synchronize_rcu(). */
struct urcu_gp_poll_state {
    unsigned long grace_period_id;
};

#endif
