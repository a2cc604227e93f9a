/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
void watch_start(void)
{
    pthread_create(0, 0, 0, 0);
}
