/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#define FLOOD_NS 1
enum { LEVELS = 4 };
int api_b(void)
{
    return FLOOD_NS + LEVELS;
}
