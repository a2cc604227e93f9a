/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Program that gives itself, a thread and a parked task the names of its command line, which may have any bytes.
 * usage: names PROCESS THREAD TASK
 * Prints "ready", and exits at the end of its standard input. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include <rtrcu/rcu.h>

static pthread_barrier_t inside, end;

static void *read_for_long(void *name)
{
    prctl(PR_SET_NAME, name);
    rcu_read_lock();
    pthread_barrier_wait(&inside);
    pthread_barrier_wait(&end);
    rcu_read_unlock();
    return NULL;
}

static void nothing(struct rcu_head *head)
{
    (void)head;
}

int main(int argc, char **argv)
{
    static struct rcu_task task;
    static struct rcu_head head;
    pthread_t reader;
    if (argc != 4)
        return 2;

    prctl(PR_SET_NAME, argv[1]);
    pthread_barrier_init(&inside, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    if (pthread_create(&reader, NULL, read_for_long, argv[2]) != 0)
        return 1;
    rcu_task_init(&task, argv[3]);
    rcu_task_resume(&task);
    rcu_read_lock();
    rcu_task_park(&task);
    pthread_barrier_wait(&inside);
    call_rcu(&head, nothing);

    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    rcu_task_resume(&task);
    rcu_read_unlock();
    rcu_task_park(&task);
    rcu_task_exit(&task);
    pthread_barrier_wait(&end);
    pthread_join(reader, NULL);
    rcu_barrier();
    return 0;
}
