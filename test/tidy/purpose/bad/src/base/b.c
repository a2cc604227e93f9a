/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* todo */
int base_b(void);
