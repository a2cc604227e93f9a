/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include <rtrcu/detail/atomic.h>

struct gp {
    unsigned int event; /* atomic: futex, counts wake-ups */
    unsigned int words[4]; /* atomic: written by the owner of each */
    unsigned long count;
    unsigned int seq; /* the comment tells of atomic accesses, and does not begin with it */
    struct rtrcu_word asked;
    unsigned int turns; /* atomic for others */
};
