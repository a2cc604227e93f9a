/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The flavour that the program has chosen: memb by default or by RCU_MEMBARRIER; mb by RCU_MB. */
#ifndef RTRCU_LIBURCU_URCU_H
#define RTRCU_LIBURCU_URCU_H

#if !defined(RCU_MEMBARRIER) && !defined(RCU_SIGNAL) && !defined(RCU_MB)
#define RCU_MEMBARRIER
#endif

#if defined(RCU_MEMBARRIER)
#include <urcu/urcu-memb.h>
#elif defined(RCU_SIGNAL)
#include <urcu/urcu-signal.h>
#else
#include <urcu/urcu-mb.h>
#endif

#endif
