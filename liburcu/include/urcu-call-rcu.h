/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The older name of <urcu/call-rcu.h>, which declares heads and handles of callbacks. */
#include <urcu/call-rcu.h>
