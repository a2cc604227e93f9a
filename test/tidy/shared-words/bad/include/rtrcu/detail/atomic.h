/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#define rtrcu_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define rtrcu_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define rtrcu_fetch_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)

struct rtrcu_word {
    unsigned int value;
};

static inline void rtrcu_count_owner(unsigned long *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELEASE);
}
