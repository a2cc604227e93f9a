/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
void look()
{
    expect("INV-GP2", true);
}
