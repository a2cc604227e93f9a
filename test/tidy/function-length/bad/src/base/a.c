/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
int base_short(int value)
{
    value++; // times 6
    return value;
}

int base_a(int value)
{
    value++; // times 57
    return value;
}
