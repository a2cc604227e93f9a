/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reader loops in C, which are compared with those in Rust. */
#include <stdlib.h>

#include <rtrcu/rcu.h>

void bench_c_sections(uint64_t count);
uint64_t bench_c_loads(uint64_t count, uint64_t **cell);
void bench_c_updates(uint64_t count, uint64_t *drops);
void bench_c_frees(uint64_t count);

void bench_c_sections(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        rcu_read_lock();
        rcu_read_unlock();
    }
}

uint64_t bench_c_loads(uint64_t count, uint64_t **cell)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        rcu_read_lock();
        sum += *rcu_dereference(*cell);
        rcu_read_unlock();
    }
    return sum;
}

/* A value as on the Rust side; its callback counts drops. */
struct counted {
    struct rcu_head rcu;
    uint64_t number;
    uint64_t *drops;
};

static void drop_counted(struct rcu_head *head)
{
    struct counted *counted = (struct counted *)head;
    rtrcu_fetch_add(counted->drops, 1);
    free(counted);
}

/* Replace a value from malloc() @count times, and wait until every replaced value has been freed. */
void bench_c_updates(uint64_t count, uint64_t *drops)
{
    static struct counted *cell;
    uint64_t first = cell ? 0 : 1;
    for (uint64_t number = 0; number < count + first; number++) {
        struct counted *fresh = malloc(sizeof(*fresh));
        fresh->number = number;
        fresh->drops = drops;
        struct counted *old = rtrcu_exchange(&cell, fresh);
        if (old)
            call_rcu(&old->rcu, drop_counted);
    }
    rcu_barrier();
}

void bench_c_frees(uint64_t count)
{
    static uint64_t *cell;
    for (uint64_t number = 0; number < count; number++) {
        uint64_t *fresh = malloc(2 * sizeof(*fresh));
        *fresh = number;
        rcu_free(rtrcu_exchange(&cell, fresh));
    }
    rcu_barrier();
}
