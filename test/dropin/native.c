/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The installed liburcu-cds over this library's own readers: a table that resizes automatically, a queue, forks; and
 * the other calls of <rtrcu/urcu.h>. */
#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rtrcu/detail/flavor.h>
#include <rtrcu/urcu.h>
#include <urcu/flavor.h>
#include <urcu/rculfqueue.h>

#include "entries.h"

static struct cds_lfht *new_table(void)
{
    struct cds_lfht *made =
        cds_lfht_new_flavor(1, 1, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, &rtrcu_flavor, NULL);
    EXPECT(made);
    return made;
}

static void add(unsigned long key)
{
    add_entry(key);
    rcu_quiescent_state();
}

static void take_out(unsigned long key)
{
    take_entry_out(key);
    rcu_quiescent_state();
}

static void *reader(void *quiesces)
{
    if (quiesces)
        EXPECT(rcu_register_thread_qsbr() == 0);
    for (unsigned long key = 0; !rtrcu_load_relaxed(&done); key = (key + 1) % KEYS) {
        rcu_read_lock();
        (void)find(key);
        rcu_read_unlock();
        rcu_quiescent_state();
    }
    return NULL;
}

static void test_table(void *quiesces)
{
    pthread_t thread;
    rtrcu_store_relaxed(&done, 0);
    table = new_table();
    EXPECT(pthread_create(&thread, NULL, reader, quiesces) == 0);
    for (int round = 0; round < 2; round++) {
        for (unsigned long key = 0; key < KEYS; key++)
            add(key);
        for (unsigned long key = 0; key < KEYS; key++)
            take_out(key);
    }
    rtrcu_store_relaxed(&done, 1);
    pthread_join(thread, NULL);
    EXPECT(cds_lfht_destroy(table, NULL) == 0);
    rcu_barrier();
}

/* A flavour with the members that the installed liburcu does not know yet. */
static const struct rtrcu_flavor_0_15 *from_0_15(void)
{
    const void *volatile table = &rtrcu_flavor;
    return table;
}

static const struct rtrcu_flavor *whole(void)
{
    return &from_0_15()->first;
}

static int rested, resumed;

static void rest(void *p)
{
    EXPECT(p == &rested);
    rested++;
}

static void resume(void *p)
{
    EXPECT(p == &rested);
    resumed++;
}

static void resume_in_child(void *p)
{
    EXPECT(p == &rested);
    resumed += 100;
}

/* Returns whether hooks of tables run for a fork inside a section, in the parent or in the child; they must not. */
static bool hooks_run_inside(void)
{
    rested = resumed = 0;
    rcu_read_lock();
    pid_t child = fork();
    if (child == 0)
        _exit(rested != 0 || resumed != 0);
    int status;
    EXPECT(waitpid(child, &status, 0) == child);
    rcu_read_unlock();
    return status != 0 || rested != 0 || resumed != 0;
}

static void fork_and_expect(int rests, int resumes)
{
    pid_t child = fork();
    if (child == 0)
        _exit(rested != rests || resumed != (resumes ? 100 : 0) || hooks_run_inside());
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(rested == rests && resumed == resumes);
    rested = resumed = 0;
}

/* A fork inside a section does not pause tables, whose threads may be waiting for a grace period. */
static void test_hooks(void)
{
    struct rtrcu_fork_hooks hooks = {rest, resume, resume_in_child, &rested};
    whole()->register_rculfhash_atfork(&hooks);
    fork_and_expect(1, 1);
    rcu_read_lock();
    fork_and_expect(0, 0);
    rcu_read_unlock();
    whole()->register_rculfhash_atfork(&hooks);
    fork_and_expect(1, 1);
    whole()->unregister_rculfhash_atfork(&hooks);
    fork_and_expect(1, 1);
    whole()->unregister_rculfhash_atfork(&hooks);
    fork_and_expect(0, 0);
}

static void *fork_inside_a_section(void *nothing)
{
    rcu_read_lock();
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    rcu_read_unlock();
    return nothing;
}

static void rest_while_another_forks(void *p)
{
    pthread_t thread;
    rest(p);
    EXPECT(pthread_create(&thread, NULL, fork_inside_a_section, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
}

/* Since glibc 2.36 the fork handlers of several threads run concurrently. */
static void test_hooks_of_two_forks(void)
{
    struct rtrcu_fork_hooks hooks = {rest_while_another_forks, resume, resume_in_child, &rested};
    int minor = 0;
    if (sscanf(gnu_get_libc_version(), "2.%d", &minor) == 1 && minor < 36)
        return;
    whole()->register_rculfhash_atfork(&hooks);
    fork_and_expect(1, 1);
    whole()->unregister_rculfhash_atfork(&hooks);
}

/* Another thread destroys the last table between a fork's hooks. */
static struct rtrcu_fork_hooks *leaving;

static void rest_and_leave(void *count)
{
    rest(count);
    whole()->unregister_rculfhash_atfork(leaving);
}

static void test_hooks_that_leave_during_a_fork(void)
{
    struct rtrcu_fork_hooks hooks = {rest_and_leave, resume, resume_in_child, &rested};
    leaving = &hooks;
    whole()->register_rculfhash_atfork(&hooks);
    fork_and_expect(1, 1);
    fork_and_expect(0, 0);
}

/* In the child, only a thread created by the hooks resizes. */
static void go_on_in_child(unsigned long keys)
{
    alarm(60);
    for (unsigned long key = keys; key < 2 * KEYS; key++)
        add(key);
    for (unsigned long key = 0; key < 2 * KEYS; key++)
        take_out(key);
    EXPECT(cds_lfht_destroy(table, NULL) == 0);
    rcu_barrier();
    _exit(0);
}

static void test_forks(void)
{
    table = new_table();
    for (unsigned long key = 0; key < KEYS; key++) {
        add(key);
        if (key % (KEYS / 4) != KEYS / 8)
            continue;
        pid_t child = fork();
        if (child == 0)
            go_on_in_child(key + 1);
        int status;
        EXPECT(waitpid(child, &status, 0) == child && status == 0);
    }
    for (unsigned long key = 0; key < KEYS; key++)
        take_out(key);
    EXPECT(cds_lfht_destroy(table, NULL) == 0);
}

struct link {
    struct cds_lfq_node_rcu queued;
    int number;
};

static void test_queue(void)
{
    static struct link links[100];
    struct cds_lfq_queue_rcu queue;
    cds_lfq_init_rcu(&queue, rtrcu_call);
    for (int i = 0; i < 100; i++) {
        links[i].number = i;
        cds_lfq_node_init_rcu(&links[i].queued);
        rcu_read_lock();
        cds_lfq_enqueue_rcu(&queue, &links[i].queued);
        rcu_read_unlock();
    }
    for (int i = 0; i < 100; i++) {
        rcu_read_lock();
        struct cds_lfq_node_rcu *first = cds_lfq_dequeue_rcu(&queue);
        EXPECT(first && caa_container_of(first, struct link, queued)->number == i);
        rcu_read_unlock();
    }
    EXPECT(cds_lfq_destroy_rcu(&queue) == 0);
}

static void count(void *p)
{
    (*(int *)p)++;
}

static void test_names(void)
{
    static int a, b, ran;
    static int *place = &a;
    rcu_init();
    /* liburcu 0.15 inlines this as a statement, not as an expression */
    int *found = rcu_cmpxchg_pointer(&place, NULL, &b);
    EXPECT(found == &a && place == &a);
    found = rcu_cmpxchg_pointer(&place, &a, &b);
    EXPECT(found == &a && place == &b);
    rcu_set_pointer(&place, &a);
    EXPECT(place == &a);
    EXPECT(!rcu_read_ongoing());
    rtrcu_read_lock();
    EXPECT(rcu_read_ongoing() && rtrcu_read_lock_held());
    unsigned long cookie = start_poll_synchronize_rcu();
    rcu_read_lock();
    rtrcu_read_unlock();
    EXPECT(rcu_read_ongoing() && !poll_state_synchronize_rcu(cookie));
    rcu_read_unlock();
    EXPECT(!rtrcu_read_lock_held());
    EXPECT(rcu_defer_register_thread() == 0);
    for (int i = 0; i < 1000; i++)
        defer_rcu(count, &ran);
    rcu_defer_barrier();
    EXPECT(ran == 1000);
    rcu_defer_unregister_thread();
}

static void test_polling(void)
{
    struct rtrcu_flavor_cookie before = from_0_15()->update_start_poll_synchronize_rcu();
    rcu_read_lock();
    struct rtrcu_flavor_cookie inside = from_0_15()->update_start_poll_synchronize_rcu();
    EXPECT(!from_0_15()->update_poll_state_synchronize_rcu(inside));
    rcu_read_unlock();
    synchronize_rcu();
    EXPECT(from_0_15()->update_poll_state_synchronize_rcu(before));
}

int main(void)
{
    test_names();
    test_polling();
    test_hooks();
    test_hooks_of_two_forks();
    test_hooks_that_leave_during_a_fork();
    test_queue();
    test_table(NULL);
    test_table(&done);
    test_forks();
    return 0;
}
