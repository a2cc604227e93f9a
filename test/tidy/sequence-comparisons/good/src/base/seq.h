/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
static inline bool seq_before(uint64_t seq, uint64_t other)
{
    return seq < other;
}
