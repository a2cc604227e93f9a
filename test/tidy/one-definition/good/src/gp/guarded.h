/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#ifndef GP_GUARDED_H
#define GP_GUARDED_H
#endif
