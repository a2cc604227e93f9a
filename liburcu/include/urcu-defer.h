/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The older name of <urcu/defer.h>, which declares defer_rcu(). */
#include <urcu/defer.h>
