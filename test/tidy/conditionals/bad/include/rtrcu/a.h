/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#ifndef RTRCU_A_H
#define RTRCU_A_H
#ifdef __x86_64__
#endif
#endif
