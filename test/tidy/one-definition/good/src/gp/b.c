/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"
#define FLOOD_NS 2
int gp_b(void)
{
    return FLOOD_NS;
}
