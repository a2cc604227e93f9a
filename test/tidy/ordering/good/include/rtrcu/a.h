/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
/*
 * rcu_a - do.
 * Context:  any.
 * Blocks:   never.
 * Ordering: as told. [O1]
 * Returns:  nothing.
 */
void rcu_a(void);
