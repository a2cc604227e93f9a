/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include <rtrcu/thread.h>

struct reader_leaf {
    unsigned int used;
    struct {
        unsigned int parked;
    } tasks;
};

/* Value: the limits of a caller. */
struct reader_budget {
    int count;
};

/* What a macro or an inline function of this header touches, reader/ touches. */
static inline unsigned int reader_used(const struct reader_leaf *leaf)
{
    return leaf->used;
}
#define reader_parked(leaf) ((leaf)->tasks.parked)
