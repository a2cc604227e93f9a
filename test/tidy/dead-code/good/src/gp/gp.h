/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include <stddef.h>

enum gp_step { GP_FIRST, GP_SECOND };

struct gp {
    int seq;
    int position; /* found by its offset */
    int started;  /* only ever set */
    char pad[4];
};

int gp_turn(struct gp *gp);
int gp_look(const struct gp *gp, enum gp_step step);
int rtrcu_entry(void);

static inline int gp_seq(const struct gp *gp)
{
    return gp->seq;
}
