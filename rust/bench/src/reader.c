/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The loops of a C reader, beside which those in Rust are measured. */
#include <rtrcu/rcu.h>

void bench_c_sections(uint64_t count);
uint64_t bench_c_loads(uint64_t count, uint64_t **cell);

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
