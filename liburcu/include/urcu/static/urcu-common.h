/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What readers of all flavours have compiled in: the generation, a thread's block, checks.
 *
 * Of both programs know what is named here; the rest is the library's, and was liburcu's.
 */
#ifndef RTRCU_LIBURCU_STATIC_COMMON_H
#define RTRCU_LIBURCU_STATIC_COMMON_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <urcu/static/pointer.h>

#ifdef _LGPL_SOURCE /* programs have these from here: thread-local variables, lists, assertions */
#include <urcu/debug.h>
#include <urcu/list.h>
#include <urcu/tls-compat.h>
#endif

#include <rtrcu/detail/nesting.h>

struct urcu_gp {
    unsigned long ctr; /* atomic */
    int32_t futex;     /* atomic: -1: somebody sleeps until readers leave */
} __attribute__((aligned(128)));

/* memb, mb */
struct urcu_reader {
    unsigned long ctr; /* atomic; by its thread alone */
    unsigned long unused[18];
    unsigned int registered : 1;
    unsigned long unused_too[12];
};

/* The libraries' blocks are in the thread's own memory from its beginning, wherever the reader is compiled. */
#define URCU_READER_BLOCK __attribute__((tls_model("initial-exec")))

#if defined(DEBUG_RCU) || defined(RCU_DEBUG) || defined(CONFIG_RCU_DEBUG)
#include <assert.h>
#define URCU_READER_CHECK(condition) assert(condition)
#else
#define URCU_READER_CHECK(condition) ((void)0)
#endif

#endif
