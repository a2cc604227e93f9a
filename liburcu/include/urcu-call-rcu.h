/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* <urcu/call-rcu.h> under its older name: heads and handles of callbacks. */
#include <urcu/call-rcu.h>
