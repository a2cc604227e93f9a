/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
int gp_a(int *p)
{
    __sync_synchronize();
    return __atomic_load_n(p, 0);
}
