/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#ifndef RTRCU_A_H
#define RTRCU_A_H
#define RCU_FOR_PROGRAMS 1
#endif
