/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks of debug builds: a programming error aborts with a message that explains it; release builds omit them. */
#ifndef RTRCU_BASE_CHECK_H
#define RTRCU_BASE_CHECK_H

#include "plat/plat.h"

#ifdef RTRCU_DEBUG
#define CHECK_DEBUG 1
#else
#define CHECK_DEBUG 0
#endif

/* Every build compiles the condition, so that a check that no longer compiles is noticed. */
#define check(condition)                                                                                               \
    do {                                                                                                               \
        if (CHECK_DEBUG && !(condition))                                                                               \
            plat_die("rtrcu: check failed: %s (%s:%d)\n", #condition, __FILE__, __LINE__);                             \
    } while (0)

/* Check a named invariant: a room's header has the id with its sentence. */
#define invariant(id, condition)                                                                                       \
    do {                                                                                                               \
        if (CHECK_DEBUG && !(condition))                                                                               \
            plat_die("rtrcu: invariant %s broken: %s (%s:%d)\n", id, #condition, __FILE__, __LINE__);                  \
    } while (0)

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#define container_of_const(pointer, type, member) ((const type *)((const char *)(pointer)-offsetof(type, member)))
#define BASE_CACHE_LINE 64

#endif
