/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */

void rcu_bare(void);

/*
 * rcu_one - do the thing.
 * Context:  any thread.
 * Blocks:   never.
 * Returns:  nothing.
 */
void rcu_one(void);

/*
 * rcu_two - do the thing.
 * Context:  any thread.
 * Ordering: none.
 * Blocks:   never.
 * Returns:  nothing.
 */
void rcu_two(void);

/* This comment goes on
 * and on
 * and on
 * without lines. */
void rcu_three(void);
