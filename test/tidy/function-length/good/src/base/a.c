/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
int base_a(int value)
{
    value++; // times 56
    return value;
}
