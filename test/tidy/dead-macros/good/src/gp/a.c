/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#define GP_LIMIT 4
int gp_a(void)
{
    return GP_LIMIT;
}
