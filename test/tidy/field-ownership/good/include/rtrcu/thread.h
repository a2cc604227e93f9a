/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include <stddef.h>

struct rcu_head {
    struct rcu_head *next;
};

struct rtrcu_config {
    int tick_us;
};

struct rtrcu_thread {
    unsigned int word;  /* the reader word; @room reader */
    unsigned int state; /* @room reader, gp */
    unsigned int slow;  /* slow paths under way */
};
