/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#ifndef RTRCU_A_H
#define RTRCU_A_H
int base_a(void)
{
    return 1;
}

static int base_b(void)
{
    return 1;
}
#endif
