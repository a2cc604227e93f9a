/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
/* [O1] Publishing half; the scan's half is in gp_scan().
 *  - our store first: the scan sees it;
 * Forbidden: neither sees the other. */
void gp_publish(int *p)
{
    *p = 1;
}

/* [O2] Publishing half; the scan's half is in gp_gone().
 *  - our store first: the scan sees it;
 */
void gp_two(int *p)
{
    *p = 1;
}

void gp_three(void)
{
    /* [O2] with gp_two() */
}

/* [O3] Publishing half; the scan's half is in gp_five().
 *  - our store first: the scan sees it;
 * Forbidden: neither sees the other. */
void gp_four(int *p)
{
    *p = 1;
}

/* [O3] with gp_four() */
void gp_five(void)
{
}

/* [O4] Publishing half; the scan's half is in gp_seven().
 *  - our store first: the scan sees it;
 * Forbidden: neither sees the other. */
void gp_six(int *p)
{
    *p = 1;
}

/* [O4] with gp_six() */
void gp_seven(void)
{
}
