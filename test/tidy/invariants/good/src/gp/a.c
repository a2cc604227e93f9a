/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
void gp_a(void)
{
    invariant("INV-GP1", 1);
}
