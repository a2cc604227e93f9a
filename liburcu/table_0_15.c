/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The flavour's table for liburcu-cds, as programs know it that were built for liburcu since 0.15.
 */
#include "shim.h"

extern EXPORT const struct rtrcu_flavor_0_15 NAME(flavor);
const struct rtrcu_flavor_0_15 NAME(flavor) = {
    .first = SHIM_TABLE,
    .update_start_poll_synchronize_rcu = NAME(start_poll_synchronize_rcu),
    .update_poll_state_synchronize_rcu = NAME(poll_state_synchronize_rcu),
};
