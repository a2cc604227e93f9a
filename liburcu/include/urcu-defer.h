/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* <urcu/defer.h> under its older name: defer_rcu(). */
#include <urcu/defer.h>
