/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heads and handles of callbacks.  The functions belong to a flavour, and are declared in its header. */
#ifndef RTRCU_LIBURCU_CALL_RCU_H
#define RTRCU_LIBURCU_CALL_RCU_H

#include <pthread.h>
#include <stdlib.h>

#include <rtrcu/detail/head.h>
#include <urcu/wfcqueue.h> /* programs expect it from this header */

struct call_rcu_data;

/* A handle whose callers never wake its thread. */
#define URCU_CALL_RCU_RT (1U << 0)

#endif
