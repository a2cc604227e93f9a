/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
/* The driver calls plat_futex_wait() for us. */
unsigned int gp_actions(void)
{
    return 1;
}
