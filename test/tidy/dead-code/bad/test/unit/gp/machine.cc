/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
/* Code that only tests use is dead. */
int look(const struct gp *gp)
{
    return gp_seq(gp) + gp_turn(0) + gp->daemon + gp_variable + GP_SECOND;
}
