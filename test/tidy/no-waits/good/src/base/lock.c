/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
void lock_acquire(void)
{
    plat_futex_lock_pi(0, 0);
}
