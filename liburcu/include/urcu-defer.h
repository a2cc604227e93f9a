/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* defer_rcu(), under the older name of its header.
 */
#include <urcu/defer.h>
