/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include <sys/seq.h>
bool gp_a(struct gp *gp, uint64_t seq, int count)
{
    for (int i = 0; i < count; i++)
        gp->seq = seq << 2;
    return seq_reached(gp->seq, seq) && gp->seq == seq;
}
