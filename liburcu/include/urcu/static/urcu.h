/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of the flavour that the program has chosen, as <urcu/urcu.h> has it.
 */
#ifndef RTRCU_LIBURCU_STATIC_URCU_H
#define RTRCU_LIBURCU_STATIC_URCU_H

#if !defined(RCU_MEMBARRIER) && !defined(RCU_MB)
#define RCU_MEMBARRIER
#endif

#ifndef RCU_MEMBARRIER
#include <urcu/static/urcu-mb.h>
#else
#include <urcu/static/urcu-memb.h>
#endif

#endif
