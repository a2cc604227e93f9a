/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The inline read side of all flavours: the generation, a thread's block, checks.
 *
 * Programs use only the named fields; the other fields belong to the library, as they belonged to liburcu.
 */
#ifndef RTRCU_LIBURCU_STATIC_COMMON_H
#define RTRCU_LIBURCU_STATIC_COMMON_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <urcu/static/pointer.h>

#ifdef _LGPL_SOURCE /* programs expect these from this header: thread-local variables, lists, assertions */
#include <urcu/debug.h>
#include <urcu/list.h>
#include <urcu/tls-compat.h>
#endif

#include <rtrcu/detail/nesting.h>

struct urcu_gp {
    unsigned long ctr; /* atomic */
    int32_t futex;     /* atomic: -1 while a thread sleeps until readers leave */
} __attribute__((aligned(128)));

/* A thread's block in memb and mb. */
struct urcu_reader {
    unsigned long ctr; /* atomic; written by its thread alone */
    unsigned long unused[18];
    unsigned int registered : 1;
    unsigned long unused_too[12];
};

/* The libraries' blocks are in the thread's static TLS, in whichever object the reader is compiled. */
#define URCU_READER_BLOCK __attribute__((tls_model("initial-exec")))

#if defined(DEBUG_RCU) || defined(RCU_DEBUG) || defined(CONFIG_RCU_DEBUG)
#include <assert.h>
#define URCU_READER_CHECK(condition) assert(condition)
#else
#define URCU_READER_CHECK(condition) ((void)0)
#endif

#endif
