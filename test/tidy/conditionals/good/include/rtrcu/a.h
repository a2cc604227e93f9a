/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#ifndef RTRCU_A_H
#define RTRCU_A_H
#ifdef __cplusplus
extern "C" {
#endif
#ifdef RTRCU_DEBUG
#endif
#ifdef __cplusplus
}
#endif
#endif
