/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
void rtrcu_one(void);

/*
 * rcu_one - do the thing.
 * Context:  any thread.
 * Blocks:   never.
 * Ordering: none.
 * Returns:  nothing.
 */
static inline void rcu_one(void)
{
    rtrcu_one();
}
/* As rcu_one(), twice. */
static inline void rcu_two(void)
{
    rtrcu_one();
}
void rcu_three(void);

static inline void rcu_four(void)
{
    rcu_one();
}

void rtrcu_failed(const char *what);
#define RCU_CHECK(c) ((c) ? (void)0 : rtrcu_failed(#c))
typedef void (*rcu_func_t)(int);
struct rcu_thing {
    void (*func)(int);
};
