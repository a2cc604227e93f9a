/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The fiber's code in one function, so that a compiler that keeps the thread's address across the park is detected. */
#include "park.h"

#include <rtrcu/rcu.h>

void park_body(void (*park)(void), struct park_seen *seen)
{
    for (int i = 0; i < PARK_ROUNDS; i++) {
        rcu_read_lock();
        seen[i].locked = rtrcu_word_read();
        park();
        seen[i].resumed = rtrcu_word_read();
        rcu_read_unlock();
        seen[i].unlocked = rtrcu_word_read();
        seen[i].held = rcu_read_lock_held();
        park();
    }
}

void park_body_broken(void (*park)(void))
{
    uint32_t *word = &rtrcu_self.word;
    __asm__("" : "+r"(word)); /* hides from the compiler how the address was computed */
    *word = *word + 1;
    park();
    *word = *word - 1;
    park();
}
