/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"
#define TICK_NS 1 /* not FLOOD_NS */
int gp_a(void)
{
    return TICK_NS + GP_BATCH + GP_LEVELS;
}
