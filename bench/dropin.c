/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program built for liburcu that times the operations of the libraries with which it is started: one figure per line.
 * The read side is inlined if _LGPL_SOURCE is defined, else it consists of calls.
 *
 * Each figure is the median of short blocks, so that preempted blocks do not count.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <urcu.h>

#include <rtrcu/detail/atomic.h>

#define BLOCKS 400

static int busy;
static volatile int sink;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(const char *name, int count, void (*once)(int count))
{
    double each[BLOCKS];
    once(count);
    for (int i = 0; i < BLOCKS; i++) {
        double began = now_ns();
        once(count);
        each[i] = (now_ns() - began) / count;
    }
    qsort(each, BLOCKS, sizeof(each[0]), ascending);
    printf("%s %.2f\n", name, each[BLOCKS / 2]);
}

static void sections(int count)
{
    for (int i = 0; i < count; i++) {
        rcu_read_lock();
        sink = i;
        rcu_read_unlock();
    }
}

static void nested(int count)
{
    rcu_read_lock();
    sections(count);
    rcu_read_unlock();
}

static void waits(int count)
{
    for (int i = 0; i < count; i++)
        synchronize_rcu();
}

static void free_it(struct rcu_head *head)
{
    free(head);
}

static void calls(int count)
{
    for (int i = 0; i < count; i++) {
        struct rcu_head *head = malloc(sizeof(*head));
        if (!head)
            abort();
        call_rcu(head, free_it);
    }
    rcu_barrier();
}

static void *read_all_the_time(void *unused)
{
    (void)unused;
    rcu_register_thread();
    while (rtrcu_load_relaxed(&busy))
        sections(100);
    rcu_unregister_thread();
    return NULL;
}

static void beside(void *(*other)(void *), const char *name, int count, void (*once)(int count))
{
    pthread_t thread;
    rtrcu_store_relaxed(&busy, 1);
    if (pthread_create(&thread, NULL, other, NULL) != 0)
        exit(1);
    measure(name, count, once);
    rtrcu_store_relaxed(&busy, 0);
    pthread_join(thread, NULL);
}

int main(void)
{
    rcu_register_thread();
    measure("section", 10000, sections);
    measure("nested", 10000, nested);
    measure("wait-alone", 20, waits);
    beside(read_all_the_time, "wait-busy", 20, waits);
    measure("call-to-barrier", 10000, calls);
    rcu_unregister_thread();
    return 0;
}
