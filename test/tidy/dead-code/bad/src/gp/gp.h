/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
enum gp_step { GP_FIRST, GP_SECOND };

struct gp {
    int seq;
    int daemon;
};

int gp_turn(struct gp *gp);
int gp_forgotten(void);
int gp_tested(const struct gp *gp);
extern int gp_variable;

static inline int gp_seq(const struct gp *gp)
{
    return gp->seq;
}
