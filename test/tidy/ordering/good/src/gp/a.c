/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
/* [O1] Publishing half; the scan's half is in gp_scan().
 *  - our store first: the scan sees it;
 * Forbidden: neither sees the other. */
void gp_publish(int *p)
{
    *p = 1;
}

void gp_scan(int *p)
{
    *p = 2; /* [O1] the publisher is gp_publish() */
}

/* [O2] see gp_end().
 * Forbidden: both. */
void gp_begin(void)
{
}
/* [O2] see gp_begin(). */
void gp_end(void)
{
}
