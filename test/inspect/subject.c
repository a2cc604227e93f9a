/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Program to be inspected: a reader, a quiescent-state thread and parked tasks hold up an updater.
 * usage: subject [rounds | counters | COUNT]
 * Prints facts about itself, one per line, then "ready"; exits at the end of its standard input.  With rounds it has no
 * holdouts, and updates continue.  With counters it prints all counters for each line of its input, and makes no
 * updates.  With a number it makes that many updates beside a reader, prints its counters and exits. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rtrcu/detail/word.h>
#include <rtrcu/rcu.h>

#define CALLBACKS 7

static pthread_barrier_t began, end, known;
static struct rcu_head heads[CALLBACKS];
static uint32_t ended; /* atomic */
static uint32_t slept; /* atomic: slow() has slept */

static void name_self(const char *name)
{
    pthread_setname_np(pthread_self(), name);
    printf("thread %s %ld\n", name, syscall(SYS_gettid));
    fflush(stdout);
}

static void nothing(struct rcu_head *head)
{
    (void)head;
}

static void slow(struct rcu_head *head)
{
    (void)head;
    usleep(30000);
    rtrcu_store_release(&slept, 1);
}

/* Print what the library has taken from the calling thread. */
static void say_thread_stats(void)
{
    struct rtrcu_thread_stats stats = {.size = sizeof(stats)};
    rtrcu_thread_stats(&stats);
    printf("thread_slow_paths %llu\n", (unsigned long long)stats.slow_paths);
    printf("thread_system_calls %llu\n", (unsigned long long)stats.system_calls);
    printf("thread_lock_waits %llu\n", (unsigned long long)stats.lock_waits);
}

static void *read_for_long(void *unused)
{
    name_self("a-reader");
    rcu_read_lock();
    rcu_read_lock();
    say_thread_stats(); /* the thread makes no further call of the library until the end */
    pthread_barrier_wait(&began);
    pthread_barrier_wait(&end);
    rcu_read_unlock();
    rcu_read_unlock();
    return unused;
}

static void *stay_online(void *unused)
{
    name_self("a-loop");
    rcu_register_thread_qsbr();
    pthread_barrier_wait(&began);
    pthread_barrier_wait(&end);
    rcu_thread_offline();
    return unused;
}

static void *park(void *unused)
{
    static struct rcu_task first, second;
    name_self("a-scheduler");
    rcu_task_init(&first, "first-task");
    rcu_task_init(&second, "second-task");
    for (struct rcu_task *task = &first; task; task = task == &first ? &second : NULL) {
        rcu_task_resume(task);
        rcu_read_lock();
        rcu_task_park(task);
    }
    pthread_barrier_wait(&began);
    pthread_barrier_wait(&end);
    for (struct rcu_task *task = &first; task; task = task == &first ? &second : NULL) {
        rcu_task_resume(task);
        rcu_read_unlock();
        rcu_task_park(task);
        rcu_task_exit(task);
    }
    return unused;
}

static void *update(void *unused)
{
    name_self("an-updater");
    pthread_barrier_wait(&known);
    for (int i = 0; i < CALLBACKS; i++)
        call_rcu(&heads[i], nothing);
    synchronize_rcu();
    return unused;
}

static void *update_on_and_on(void *unused)
{
    static struct rcu_head head;
    name_self("an-updater");
    pthread_barrier_wait(&known);
    while (!rtrcu_load_acquire(&ended)) {
        rcu_read_lock();
        rcu_read_unlock();
        call_rcu(&head, nothing);
        rcu_barrier();
    }
    return unused;
}

static void say_counters(void)
{
    struct rtrcu_stats stats = {.size = sizeof(stats)};
    rtrcu_stats(&stats);
    printf("completed %llu\n", (unsigned long long)stats.gp_completed);
    printf("expedited %llu\n", (unsigned long long)stats.exp_completed);
    printf("invoked %llu\n", (unsigned long long)stats.callbacks_invoked);
    printf("over_qmax %llu\n", (unsigned long long)stats.over_qmax);
    printf("limit_raised %llu\n", (unsigned long long)stats.limit_raised);
    printf("boosts %llu\n", (unsigned long long)stats.boosts);
    printf("stall_reports %llu\n", (unsigned long long)stats.stall_reports);
}

/* The second section lasts until a grace period has set the reader's flag; the first one has registered the thread. */
static void *read_again_and_again(void *unused)
{
    name_self("a-reader");
    rcu_read_lock();
    rcu_read_unlock();
    rcu_read_lock();
    pthread_barrier_wait(&known);
    while (rtrcu_word_of(&rtrcu_self) >> 24 == RTRCU_FLAG_FAST)
        usleep(100);
    rcu_read_unlock();
    while (!rtrcu_load_acquire(&ended)) {
        rcu_read_lock();
        usleep(200);
        rcu_read_unlock();
    }
    return unused;
}

static void park_once(void)
{
    struct rcu_task task;
    rcu_task_init(&task, "a-task");
    rcu_task_resume(&task);
    rcu_read_lock();
    rcu_task_park(&task);
    rcu_task_resume(&task);
    rcu_read_unlock();
    rcu_task_exit(&task);
}

/* Cause each event that has a trace point @count times, and a flood at the end. */
static void update_often(int count)
{
    static struct rcu_head flood[1000];
    pthread_t reader;
    pthread_barrier_init(&known, NULL, 2);
    pthread_create(&reader, NULL, read_again_and_again, NULL);
    pthread_barrier_wait(&known);
    for (int i = 0; i < count; i++) {
        call_rcu(&heads[0], nothing);
        rcu_barrier();
        synchronize_rcu();
        synchronize_rcu_expedited();
        park_once();
    }
    for (int i = 0; i < 1000; i++)
        call_rcu(&flood[i], nothing);
    rcu_barrier();
    rtrcu_store_release(&ended, 1);
    pthread_join(reader, NULL);
    say_counters();
}

/* Run grace periods and a slow callback before any inspection; print the times of the callback. */
static void prepare(void)
{
    static struct rcu_head head;
    if (getenv("RTRCU_POLICY")) /* inline: a deadline thread runs its own callbacks */
        rtrcu_register_thread(RTRCU_DEADLINE);
    for (int i = 0; i < 5; i++)
        synchronize_rcu();
    for (int i = 0; i < 3; i++)
        synchronize_rcu_expedited();
    call_rcu(&head, slow);
    if (getenv("RTRCU_POLICY"))
        while (!rtrcu_load_acquire(&slept)) /* ends when this thread or a daemon has run the callback */
            rcu_process_callbacks(-1);
    rcu_barrier();
    struct rtrcu_thread_stats stats = {.size = sizeof(stats)};
    rtrcu_thread_stats(&stats);
    printf("main_callback_ns %llu\nmain_batch_ns_max %llu\n", (unsigned long long)stats.callback_ns,
           (unsigned long long)stats.batch_ns_max);
}

/* Print all counters, which are 64 bits wide, in their order. */
static void say_words(void)
{
    struct rtrcu_stats stats = {.size = sizeof(stats)};
    rtrcu_stats(&stats);
    printf("words");
    for (const uint64_t *word = &stats.gp_completed; word < (const uint64_t *)(&stats + 1); word++)
        printf(" %llu", (unsigned long long)*word);
    printf("\n");
}

static void wait_for_end(void (*answer)(void))
{
    char text[16];
    printf("ready\n");
    while (read(STDIN_FILENO, text, sizeof(text)) > 0) /* until the pipe has no writer */
        answer();
}

int main(int argc, char **argv)
{
    void *(*const body[])(void *) = {read_for_long, stay_online, park};
    pthread_t thread[3], updater;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && atoi(argv[1]) > 0) {
        update_often(atoi(argv[1]));
        return 0;
    }
    prepare();
    if (argc > 1 && strcmp(argv[1], "counters") == 0) {
        update_often(50);
        wait_for_end(say_words);
        return 0;
    }
    pthread_barrier_init(&known, NULL, 2);
    if (argc > 1) {
        say_counters();
        pthread_create(&updater, NULL, update_on_and_on, NULL);
        pthread_barrier_wait(&known);
        wait_for_end(say_counters);
        rtrcu_store_release(&ended, 1);
        pthread_join(updater, NULL);
        return 0;
    }
    pthread_barrier_init(&began, NULL, 4);
    pthread_barrier_init(&end, NULL, 4);
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, body[i], NULL);
    pthread_barrier_wait(&began);
    say_counters();
    pthread_create(&updater, NULL, update, NULL);
    pthread_barrier_wait(&known);
    wait_for_end(say_counters);
    pthread_barrier_wait(&end);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    pthread_join(updater, NULL);
    rcu_barrier();
    return 0;
}
