/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
/* INV-GP1 is looked at elsewhere. */
void gp_a(void)
{
    invariant("INV-GP7", 1);
}
