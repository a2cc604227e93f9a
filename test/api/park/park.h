/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code that leaves its thread inside a section. It is compiled separately with -O2 -fPIC, like a library of a
 * program. */
#ifndef RTRCU_TEST_API_PARK_H
#define RTRCU_TEST_API_PARK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values that the fiber saw: the reader word of the thread it ran on, before and after each of its steps. */
struct park_seen {
    uint32_t locked;   /* after rcu_read_lock() */
    uint32_t resumed;  /* after the park, on the other thread */
    uint32_t unlocked; /* after rcu_read_unlock() */
    int held;          /* rcu_read_lock_held() after that */
};

enum { PARK_ROUNDS = 4 };

/* Lock, @park(), unlock, @park(), PARK_ROUNDS times. */
void park_body(void (*park)(void), struct park_seen *seen);

/* A faulty park_body(): keeps the address of the word across the park, as a compiler might. */
void park_body_broken(void (*park)(void));

#ifdef __cplusplus
}
#endif

#endif
