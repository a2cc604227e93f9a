/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heads and handles of callbacks, by the header's older name.
 */
#include <urcu/call-rcu.h>
