/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#ifndef RTRCU_A_H
#define RTRCU_A_H
static inline int base_a(void)
{
    return 1;
}
int base_b(void);
#define BASE_C(x) \
    do {          \
    } while (0)
#endif
