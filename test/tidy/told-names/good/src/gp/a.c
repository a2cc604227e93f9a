/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A grace period, whose numbers and names a page repeats.
 */
#define REST_NS 50000000
#define CHILDREN 32

enum kinds { KIND_NORMAL, KIND_EXPEDITED };

void gp_begin(void);
