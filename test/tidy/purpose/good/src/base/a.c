/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counts the things that this file counts.
 */
int base_a(void);
