/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The flavour's table for liburcu-cds, as programs know it that were built for liburcu up to 0.14.
 */
#include "shim.h"

extern EXPORT const struct rtrcu_flavor NAME(flavor);
const struct rtrcu_flavor NAME(flavor) = SHIM_TABLE;
