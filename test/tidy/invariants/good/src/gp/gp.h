/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
/*
 * INV-GP1: while idle, no node owes.
 * INV-GP2: told here, checked by a test.
 */
