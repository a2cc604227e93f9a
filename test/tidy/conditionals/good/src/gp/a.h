/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#ifndef RTRCU_GP_A_H
#define RTRCU_GP_A_H
/* never #ifdef here */
#endif
