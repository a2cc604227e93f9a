/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads and handles that end too early: a reader inside a section, and a handle whose callbacks queue themselves
 * again. */
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include HEADER

#include "dropin.h"

static void *leave_inside(void *side)
{
    const struct side *own = side;
    rcu_register_thread();
    own->enter();
    return NULL;
}

static void *leave_registered(void *nothing)
{
    rcu_register_thread();
    rcu_read_lock();
    rcu_read_unlock();
    return nothing;
}

/* The reader's section ends with its thread: no thread waits for ever. */
static void test_reader(void *(*body)(void *), const struct side *side)
{
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, body, (void *)(uintptr_t)side) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    synchronize_rcu();
}

static struct rcu_head endless;
static unsigned int rounds, stop;

static void again(struct rcu_head *head)
{
    rtrcu_fetch_add(&rounds, 1);
    if (!rtrcu_load_acquire(&stop))
        call_rcu(head, again);
}

/* Wait until the callback has run @count more times. */
static void let_it_go_round(unsigned int count)
{
    unsigned int before = rtrcu_load_relaxed(&rounds);
    while (rtrcu_load_relaxed(&rounds) - before < count)
        rcu_barrier();
}

/* A callback that queues itself again does not prevent the end of its handle: it continues on the default handle. */
static void test_handle(void)
{
    struct call_rcu_data *own = create_call_rcu_data(0, -1);
    EXPECT(own);
    set_thread_call_rcu_data(own);
    call_rcu(&endless, again);
    set_thread_call_rcu_data(NULL);
    let_it_go_round(10);
    call_rcu_data_free(own);
    let_it_go_round(10);
    rtrcu_store_release(&stop, 1);
    rcu_barrier();
    rcu_barrier();
    unsigned int last = rtrcu_load_relaxed(&rounds);
    synchronize_rcu();
    rcu_barrier();
    EXPECT(rtrcu_load_relaxed(&rounds) == last);
}

/* A CPU that does not exist: a handle for it serves callbacks on any CPU, and no thread uses it by default. */
static void test_cpus(void)
{
    struct call_rcu_data *own = create_call_rcu_data(0, 1 << 20);
    EXPECT(own);
    EXPECT(get_cpu_call_rcu_data(-1) == NULL && get_cpu_call_rcu_data(1 << 20) == NULL);
    set_thread_call_rcu_data(own);
    rtrcu_store_relaxed(&rounds, 0);
    call_rcu(&endless, again);
    rcu_barrier();
    EXPECT(rtrcu_load_relaxed(&rounds) == 1);
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(own);
}

int main(void)
{
    expect_ours();
    alarm(60);
    rcu_register_thread();
    test_reader(leave_inside, &inlined);
    test_reader(leave_inside, &called);
    test_reader(leave_registered, NULL);
    test_handle();
    test_cpus();
    rcu_unregister_thread();
    return 0;
}
