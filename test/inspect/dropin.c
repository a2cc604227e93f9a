/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unmodified program of liburcu: a reader inside its section holds up an updater until standard input ends.
 *  thread NAME NUMBER    a thread and its id from gettid(2)
 *  ready                 printed when all are set up */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <urcu.h>

static pthread_barrier_t begun, end;

static void *read_for_long(void *unused)
{
    rcu_register_thread();
    rcu_read_lock();
    pthread_setname_np(pthread_self(), "a-reader");
    printf("thread a-reader %ld\n", syscall(SYS_gettid));
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&end);
    rcu_read_unlock();
    rcu_unregister_thread();
    return unused;
}

static struct rcu_head head;

static void nothing(struct rcu_head *unused)
{
    (void)unused;
}

static void *update(void *unused)
{
    synchronize_rcu();
    return unused;
}

int main(void)
{
    pthread_t reader, updater;
    char byte;
    pthread_barrier_init(&begun, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    pthread_create(&reader, NULL, read_for_long, NULL);
    pthread_barrier_wait(&begun);
    pthread_create(&updater, NULL, update, NULL);
    call_rcu(&head, nothing);
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0) /* until the pipe has no writer */
        ;
    pthread_barrier_wait(&end);
    pthread_join(reader, NULL);
    pthread_join(updater, NULL);
    return 0;
}
