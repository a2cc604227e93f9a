/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers with inlined and with called read sides, and with those of this library's replacement headers, nested in one
 * another, against updaters that wait and call.  With the argument `refuse`, the kernel begins to refuse membarrier()
 * meanwhile. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include HEADER

#include "dropin.h"

struct object {
    struct rcu_head rcu;
    int state;
};

static void *shared;
static int done;
static unsigned long called_back, queued;

static struct object *fresh(void)
{
    struct object *object = malloc(sizeof(*object));
    EXPECT(object);
    object->state = ALIVE;
    return object;
}

/* Marks @object dead, and frees it only after 256 further objects, so that a late reader finds the mark. */
static void destroy(struct object *object)
{
    static struct object *dead[256];
    static unsigned int next;
    rtrcu_store_relaxed(&object->state, DEAD);
    free(rtrcu_exchange(&dead[rtrcu_fetch_add(&next, 1) % 256], object));
}

static __thread unsigned int uses;

static void use(const struct side *outer, const struct side *inner)
{
    outer->enter();
    struct object *object = outer->load(&shared);
    EXPECT(rtrcu_load_relaxed(&object->state) == ALIVE);
    inner->enter();
    struct object *again = inner->load(&shared);
    inner->leave();
    if (++uses % 64 == 0)
        sched_yield();
    for (int i = 0; i < 30; i++)
        EXPECT(rtrcu_load_relaxed(&again->state) == ALIVE);
    EXPECT(rtrcu_load_relaxed(&object->state) == ALIVE);
    outer->leave();
    outer->quiescent();
}

static void *reader(void *unused)
{
    static const struct side *const sides[] = {&inlined, &called, &own};
    (void)unused;
    rcu_register_thread();
    while (!rtrcu_load_relaxed(&done)) {
        for (int i = 0; i < 99; i++)
            use(sides[i % 3], sides[i / 3 % 3]);
    }
    rcu_unregister_thread();
    return NULL;
}

static void reclaim(struct rcu_head *head)
{
    destroy((struct object *)((char *)head - offsetof(struct object, rcu)));
    rtrcu_fetch_add(&called_back, 1);
}

static void *updater(void *unused)
{
    (void)unused;
    rcu_register_thread();
    while (!rtrcu_load_relaxed(&done)) {
        struct object *old = rcu_xchg_pointer((struct object **)&shared, fresh());
        synchronize_rcu();
        destroy(old);
        for (int i = 0; i < 20; i++) {
            old = rcu_xchg_pointer((struct object **)&shared, fresh());
            rtrcu_fetch_add(&queued, 1);
            call_rcu(&old->rcu, reclaim);
        }
        called.quiescent();
    }
    rcu_unregister_thread();
    return NULL;
}

static void refuse_membarrier(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    EXPECT(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

int main(int argc, char **argv)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct timespec part = {.tv_nsec = 400000000};
    expect_ours();
    shared = fresh();
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, i % 2 ? updater : reader, NULL) == 0);
    nanosleep(&part, NULL);
    if (argc > 1 && strcmp(argv[1], "refuse") == 0)
        refuse_membarrier();
    nanosleep(&part, NULL);
    rtrcu_store_relaxed(&done, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rcu_register_thread();
    rcu_barrier();
    rcu_unregister_thread();
    EXPECT(called_back == queued && queued > 0);
    printf("%lu callbacks\n", queued);
    return 0;
}
