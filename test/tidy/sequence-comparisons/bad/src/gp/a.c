/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
bool gp_a(struct gp *gp, uint64_t seq, uint64_t cookie)
{
    if (gp->seq >= cookie)
        return true;
    if (cookie < gp->done_seq)
        return true;
    return cookie <= seq;
}
