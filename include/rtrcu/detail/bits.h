/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counting of bits, by the processor's instruction if the program is built for it.
 */
#ifndef RTRCU_DETAIL_BITS_H
#define RTRCU_DETAIL_BITS_H

#include <stdint.h>

/* Number of bits set in @bits.  x86-64 without an option such as -mpopcnt has no instruction, and the compiler's
 * substitute is a call. */
static inline unsigned int rtrcu_popcount(uint64_t bits)
{
#if defined(__x86_64__) && !defined(__POPCNT__)
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned int)(bits * UINT64_C(0x0101010101010101) >> 56);
#else
    return (unsigned int)__builtin_popcountll(bits);
#endif
}

#endif
