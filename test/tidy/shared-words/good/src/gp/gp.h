/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include <rtrcu/detail/atomic.h>

struct gp {
    unsigned int event; /* atomic: futex, counts wake-ups */
    /* atomic: written by the owner of each,
     * read by all threads */
    unsigned int words[4];
    unsigned long count; /* atomic counter */
    struct rtrcu_word asked;
    unsigned int turns; /* atomic for others: turns that have been taken */
    unsigned int plain; /* under the lock: not atomic */
    struct {
        unsigned int event; /* atomic */
    } inner;
};
