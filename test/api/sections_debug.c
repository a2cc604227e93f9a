/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sections of code that is built with RTRCU_DEBUG, in every variant; part of the test in sections.cc. */
#ifndef RTRCU_DEBUG
#define RTRCU_DEBUG 1
#endif
#include <rtrcu/rcu.h>

void sections_debug_lock(void);
void sections_debug_unlock(void);
void sections_debug_around(int64_t (*body)(int64_t ns), int64_t ns);

void sections_debug_lock(void)
{
    rcu_read_lock();
}

void sections_debug_unlock(void)
{
    rcu_read_unlock();
}

/* Two nested sections. */
void sections_debug_around(int64_t (*body)(int64_t ns), int64_t ns)
{
    rcu_read_lock();
    rcu_read_lock();
    body(ns);
    rcu_read_unlock();
    rcu_read_unlock();
}
