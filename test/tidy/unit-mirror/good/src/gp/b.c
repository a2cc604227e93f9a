/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample of the other way.
 *
 * tested by: test/unit/gp/a.cc
 */
int gp_b(void);
