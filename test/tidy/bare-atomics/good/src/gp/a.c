/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
int gp_a(int *p)
{
    return rtrcu_load_relaxed(p); /* not __atomic_load_n */
}
