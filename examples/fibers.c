/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fibers that keep a read section while they are parked: a small scheduler over ucontext, with two threads.
 *
 * A fiber looks up the route, waits for something (its scheduler runs other fibers meanwhile) and continues with the
 * same route, on any free thread.  For this the scheduler calls rcu_task_park() before the fiber leaves its thread, and
 * rcu_task_resume() before it continues.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <rtrcu/rcu.h>

#define FIBERS 16
#define THREADS 2
#define ROUNDS 2000 /* of each fiber */
#define STACK_BYTES 65536

struct route {
    int port; /* 0: freed; a reader that sees 0 counts an error */
};

struct fiber {
    struct rcu_task task;
    ucontext_t context, *thread; /* thread: the thread that runs the fiber at present */
    int runs_on;                 /* number of the thread that runs the fiber */
    bool done;
    int moved, bad; /* sections that continued on another thread; sections that saw a freed route */
    struct fiber *next;
};

static struct route *current;

/* Fibers that may run, first in first out. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fiber *first, **last = &first;
static int alive = FIBERS;

static void queue_add(struct fiber *fiber)
{
    fiber->next = NULL;
    pthread_mutex_lock(&lock);
    *last = fiber;
    last = &fiber->next;
    pthread_mutex_unlock(&lock);
}

/* Take the first fiber that may run; NULL: no fiber may run at present. *@left: how many fibers have not ended. */
static struct fiber *queue_take(int *left)
{
    pthread_mutex_lock(&lock);
    struct fiber *fiber = first;
    if (fiber) {
        first = fiber->next;
        if (!first)
            last = &first;
    }
    *left = alive;
    pthread_mutex_unlock(&lock);
    return fiber;
}

/* Called by a fiber: leave the thread. After the call the fiber may run on another thread. */
static void park(struct fiber *fiber)
{
    rcu_task_park(&fiber->task);
    swapcontext(&fiber->context, fiber->thread);
}

static void fiber_body(unsigned int high, unsigned int low)
{
    struct fiber *fiber = (struct fiber *)((uintptr_t)high << 32 | low);
    for (int round = 0; round < ROUNDS; round++) {
        rcu_read_lock();
        struct route *route = rcu_dereference(current);
        int port = route->port, began_on = fiber->runs_on;
        park(fiber); /* inside the section */
        fiber->bad += port == 0 || route->port != port;
        rcu_read_unlock();
        fiber->moved += fiber->runs_on != began_on;
    }
    rcu_task_exit(&fiber->task);
    fiber->done = true;
    swapcontext(&fiber->context, fiber->thread);
}

static void *run_fibers(void *number)
{
    ucontext_t here;
    int left;
    do {
        struct fiber *fiber = queue_take(&left);
        if (!fiber) {
            sched_yield();
            continue;
        }
        fiber->thread = &here;
        fiber->runs_on = *(int *)number;
        rcu_task_resume(&fiber->task);
        swapcontext(&here, &fiber->context);
        if (!fiber->done) {
            queue_add(fiber);
            continue;
        }
        pthread_mutex_lock(&lock);
        alive--;
        pthread_mutex_unlock(&lock);
    } while (left > 0);
    return NULL;
}

static void fiber_init(struct fiber *fiber, char *stack)
{
    uintptr_t address = (uintptr_t)fiber; /* makecontext() passes ints */
    rcu_task_init(&fiber->task, "fiber");
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stack;
    fiber->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&fiber->context, (void (*)(void))fiber_body, 2, (unsigned int)(address >> 32), (unsigned int)address);
    queue_add(fiber);
}

/* Publish new routes until all fibers have ended.  Returns the number of new routes. */
static int replace_routes(void)
{
    int replaced = 0, left = FIBERS;
    while (left > 0) {
        struct route *fresh = malloc(sizeof(*fresh)), *old = current;
        if (!fresh)
            exit(1);
        fresh->port = ++replaced;
        rcu_assign_pointer(current, fresh);
        if (old) {
            synchronize_rcu(); /* waits for fibers inside a section, parked or not */
            old->port = 0;
            free(old);
        }
        pthread_mutex_lock(&lock);
        left = alive;
        pthread_mutex_unlock(&lock);
    }
    return replaced;
}

int main(void)
{
    static struct fiber fibers[FIBERS];
    static int numbers[THREADS];
    char *stacks = malloc((size_t)FIBERS * STACK_BYTES);
    pthread_t threads[THREADS];
    current = calloc(1, sizeof(*current));
    if (!stacks || !current)
        return 1;
    current->port = -1;
    for (int i = 0; i < FIBERS; i++)
        fiber_init(&fibers[i], stacks + (size_t)i * STACK_BYTES);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, run_fibers, &numbers[i]) != 0)
            return 1;
    }
    int replaced = replace_routes();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    int moved = 0, bad = 0;
    for (int i = 0; i < FIBERS; i++) {
        moved += fibers[i].moved;
        bad += fibers[i].bad;
    }
    printf(
        "%d fibers, %d sections each; %d sections continued on another thread; %d routes replaced; %d sections saw a "
        "freed route\n",
        FIBERS, ROUNDS, moved, replaced, bad);
    free(current);
    free(stacks);
    return bad == 0 && moved > 0 && replaced > 1 ? 0 : 1;
}
