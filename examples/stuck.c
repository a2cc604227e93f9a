/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A grace period that does not end; docs/stuck.md explains how to find the cause.
 *
 * A reader waits for an answer inside its section, a task is parked inside its own, and an updater waits for both.
 * usage: stuck [SECONDS]   The answer arrives after SECONDS, 1 by default.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rtrcu/rcu.h>

struct table {
    int routes;
    struct rcu_head rcu;
};

static struct table *current_table;
static int answer[2], began[2];
static struct rcu_task session;

static void free_table(struct rcu_head *head)
{
    free((char *)head - offsetof(struct table, rcu));
}

static __attribute__((noinline)) void wait_for_answer(void)
{
    char byte;
    (void)!read(answer[0], &byte, 1);
}

/* The fault: a system call that waits, inside a section. */
static void *look_up(void *unused)
{
    pthread_setname_np(pthread_self(), "look-up");
    rcu_read_lock();
    struct table *table = rcu_dereference(current_table);
    (void)!write(began[1], "", 1);
    wait_for_answer();
    printf("%d routes\n", table->routes);
    rcu_read_unlock();
    return unused;
}

static void *serve_sessions(void *unused)
{
    pthread_setname_np(pthread_self(), "sessions");
    rcu_task_init(&session, "session-17");
    rcu_task_resume(&session);
    rcu_read_lock();
    rcu_task_park(&session);
    (void)!write(began[1], "", 1);
    wait_for_answer();
    rcu_task_resume(&session);
    rcu_read_unlock();
    rcu_task_exit(&session);
    return unused;
}

static void *reload(void *unused)
{
    struct table *old = current_table, *new = malloc(sizeof(*new));
    assert(new);
    pthread_setname_np(pthread_self(), "reload");
    new->routes = old->routes + 1;
    rcu_assign_pointer(current_table, new);
    call_rcu(&old->rcu, free_table);
    synchronize_rcu();
    printf("reloaded\n");
    return unused;
}

int main(int argc, char **argv)
{
    void *(*const body[])(void *) = {look_up, serve_sessions, reload};
    pthread_t thread[3];
    char byte;
    if (pipe(answer) != 0 || pipe(began) != 0)
        return 1;
    current_table = calloc(1, sizeof(*current_table));
    assert(current_table);
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread[i], NULL, body[i], NULL);
        if (i < 2 && read(began[0], &byte, 1) != 1)
            return 1;
    }
    sleep(argc > 1 ? (unsigned int)atoi(argv[1]) : 1);
    (void)!write(answer[1], "..", 2);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    rcu_barrier();
    free(current_table);
    return 0;
}
