/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Short names for the flavour that the program has chosen, as <urcu/urcu.h> has it.
 */
#if defined(RCU_MB) && !defined(RCU_MEMBARRIER)
#include <urcu/map/urcu-mb.h>
#else
#include <urcu/map/urcu-memb.h>
#endif
