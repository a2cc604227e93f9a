/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sequence numbers of grace periods, and the only code that compares them.
 *
 * 64 bits; the low two are a state, 0 idle and 1 in progress, the rest counts grace periods.  A cookie is a number
 * whose state is 0 and which the sequence will reach when a full grace period has passed.  Numbers wrap and are
 * compared by the sign of their difference.
 */
#ifndef RTRCU_BASE_SEQ_H
#define RTRCU_BASE_SEQ_H

#include "base/check.h"

#define SEQ_STATE_MASK UINT64_C(3)
#define SEQ_STEP (SEQ_STATE_MASK + 1)
/* Debug builds start a few grace periods before the wrap, so that the wrap is common. */
#define SEQ_FIRST (CHECK_DEBUG ? (uint64_t)0 - 300 * SEQ_STEP : UINT64_C(0))

static inline bool seq_is_running(uint64_t seq)
{
    return (seq & SEQ_STATE_MASK) != 0;
}

/* idle -> in progress */
static inline uint64_t seq_started(uint64_t seq)
{
    return seq + 1;
}

/* in progress -> idle, next number */
static inline uint64_t seq_ended(uint64_t seq)
{
    return (seq | SEQ_STATE_MASK) + 1;
}

/* The cookie that is reached when a full grace period has passed after @seq; a grace period in progress at @seq does
 * not count. */
static inline uint64_t seq_snap(uint64_t seq)
{
    return (seq + 2 * SEQ_STATE_MASK + 1) & ~SEQ_STATE_MASK;
}

static inline bool seq_reached(uint64_t seq, uint64_t cookie)
{
    return (int64_t)(seq - cookie) >= 0;
}

static inline bool seq_before(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) < 0;
}

#endif
