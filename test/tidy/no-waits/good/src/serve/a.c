/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
void serve_rest(void)
{
    plat_clock_sleep(1000);
}
