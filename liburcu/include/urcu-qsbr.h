/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The flavour qsbr, under short names: rcu_read_lock() and the others.
 */
#ifndef URCU_API_MAP
#define URCU_API_MAP
#endif
#include <urcu/urcu-qsbr.h>
