/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers without a record: counters of those inside a section, in two phases, of which one drains. */
#ifndef RTRCU_READER_ANONYMOUS_H
#define RTRCU_READER_ANONYMOUS_H

#include "reader/self.h"

/* Number of readers without a record that are inside a section, including tasks. */
static inline uint32_t reader_anonymous(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->anonymous);
}

/* The phases in which at least one reader without a record is inside, as bits. */
static inline uint32_t reader_anonymous_phases(const struct reader_registry *registry)
{
    uint32_t groups = 0;
    for (uint32_t phase = 0; phase < READER_PHASES && reader_anonymous(registry); phase++)
        groups |= rtrcu_load_acquire(&registry->anonymous_in[phase]) ? UINT32_C(1) << phase : 0;
    return groups;
}

/* The current phase number; its parity selects the counter of threads that enter now. */
static inline uint32_t reader_anonymous_phase(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->anonymous_phase);
}

/* [O25] If the counter of the next phase is 0, advance from @phase to the next: from then on entering readers count in
 * the next phase, and the counter of @phase drains. */
static inline void reader_anonymous_flip(struct reader_registry *registry, uint32_t phase)
{
    if (rtrcu_load_acquire(&registry->anonymous_in[(phase + 1) & 1]) == 0)
        (void)rtrcu_compare_exchange(&registry->anonymous_phase, &phase, phase + 1);
}

static inline void reader_anonymous_enter(struct reader_registry *registry, enum reader_phase phase)
{
    rtrcu_fetch_add(&registry->anonymous, 1);
    rtrcu_fetch_add(&registry->anonymous_in[phase], 1); /* [O25] */
}

/* Lower the counts for a reader that leaves its section.  True if no reader without a record is left in @phase, or in
 * both phases. */
static inline bool reader_anonymous_leave(struct reader_registry *registry, enum reader_phase phase)
{
    bool last = rtrcu_fetch_add(&registry->anonymous_in[phase], (uint32_t)-1) == 1;
    return rtrcu_fetch_add(&registry->anonymous, (uint32_t)-1) == 1 || last;
}

/* The phase in which the calling thread is counted, or, if it is not counted, would be counted now. */
static inline enum reader_phase reader_self_phase(const struct reader_registry *registry)
{
    uint32_t odd = rtrcu_self.state & READER_STATE_ODD;
    if (!(rtrcu_self.state & READER_STATE_ANONYMOUS))
        odd = reader_anonymous_phase(registry) & 1;
    return odd ? READER_PHASE_ODD : READER_PHASE_EVEN;
}

#endif
