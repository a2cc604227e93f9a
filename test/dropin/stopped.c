/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A reader that is stopped inside its section: grace periods wait for it, and the report names it. */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include HEADER

#include "dropin.h"

static int reader_id, inside, stopped_ms = 400, looks = 9; /* so many polls take half a second */

static void *reader(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "held-up");
    rcu_register_thread();
    rcu_read_lock();
    rtrcu_store_release(&reader_id, (int)syscall(SYS_gettid));
    while (rtrcu_load_acquire(&inside))
        ;
    rcu_read_unlock();
    rcu_unregister_thread();
    return NULL;
}

/* How often the main thread of @process has gone to sleep. */
static long sleeps_of(pid_t process)
{
    char line[256];
    long sleeps = 0;
    snprintf(line, sizeof(line), "/proc/%d/status", (int)process);
    FILE *file = fopen(line, "r");
    while (file && fgets(line, sizeof(line), file) && sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps) != 1)
        ;
    if (file)
        fclose(file);
    return sleeps;
}

/* Body of another process: stops the reader's thread alone, and continues it when the waiter has polled often enough,
 * however long that takes on a busy machine. */
static void hold(int ready, int go)
{
    char byte;
    struct timespec held = {.tv_nsec = stopped_ms * 1000000L}, nap = {.tv_nsec = 10000000};
    pid_t waiter = getppid();
    EXPECT(read(go, &byte, 1) == 1);
    EXPECT(ptrace(PTRACE_SEIZE, reader_id, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, reader_id, 0, 0) == 0);
    EXPECT(waitpid(reader_id, NULL, __WALL) == reader_id);
    EXPECT(write(ready, "x", 1) == 1);
    long before = sleeps_of(waiter);
    nanosleep(&held, NULL);
    for (int naps = 0; naps < 2000 && sleeps_of(waiter) < before + looks; naps++)
        nanosleep(&nap, NULL);
    _exit(0); /* the end of the tracing process continues the stopped thread */
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(void)
{
    pthread_t thread;
    int ready[2], go[2];
    char byte;
    expect_ours();
    inside = 1;
    EXPECT(pipe(ready) == 0 && pipe(go) == 0);
    EXPECT(pthread_create(&thread, NULL, reader, NULL) == 0);
    while (!rtrcu_load_acquire(&reader_id))
        ;
    pid_t tracer = fork();
    if (tracer == 0)
        hold(ready[1], go[0]);
    prctl(PR_SET_PTRACER, tracer);
    EXPECT(write(go[1], "x", 1) == 1 && read(ready[0], &byte, 1) == 1);
    long began = now_ms();
    rtrcu_store_release(&inside, 0);
    synchronize_rcu();
    EXPECT(now_ms() - began >= stopped_ms / 2);
    fprintf(stderr, "waited %ld ms\n", now_ms() - began);
    pthread_join(thread, NULL);
    EXPECT(waitpid(tracer, NULL, 0) == tracer);
    return 0;
}
