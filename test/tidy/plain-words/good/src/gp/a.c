/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The thread that waits for readers. */
int after; /* the thread that holds the lock runs after it */
