// SPDX-License-Identifier: MIT OR Apache-2.0
// Domains that a program creates, compared with atomic additions, a reader-writer lock, a reference count, liburcu-bp
// and one membarrier call.
//
// Each figure is the median of short blocks; the sides of a figure alternate, block by block.  "beside" means beside a
// thread on the other CPU that does the same continuously; a block in which that thread did nothing is discarded.
//
// usage: bench_domain [ROUNDS]
#include <dirent.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rtrcu/srcu.h>

#include "domain_peer.h"

#define ROUNDS_MAX 10000

DEFINE_STATIC_SRCU(alone);
DEFINE_STATIC_SRCU(shared);
DEFINE_STATIC_SRCU(held);

static struct {
    _Alignas(64) uint64_t first;
    _Alignas(64) uint64_t second;
} own;
static _Alignas(64) uint64_t both;
static pthread_rwlock_t lock_alone = PTHREAD_RWLOCK_INITIALIZER;
static _Alignas(64) pthread_rwlock_t lock_shared = PTHREAD_RWLOCK_INITIALIZER;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void bind_to(int cpu)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    (void)sched_setaffinity(0, sizeof(cpus), &cpus);
}

// ---- what is timed ----

static void none_pairs(unsigned int count)
{
    for (unsigned int i = 0; i < count; i++)
        __asm__ __volatile__("" ::: "memory");
}

static void srcu_pairs_of(struct srcu_struct *domain, unsigned int count)
{
    for (unsigned int i = 0; i < count; i++)
        srcu_read_unlock(domain, srcu_read_lock(domain));
}

static void srcu_pairs(unsigned int count)
{
    srcu_pairs_of(&alone, count);
}

static void srcu_pairs_shared(unsigned int count)
{
    srcu_pairs_of(&shared, count);
}

static void atomic_pairs(unsigned int count)
{
    for (unsigned int i = 0; i < count; i++) {
        rtrcu_fetch_add(&own.first, 1);
        rtrcu_fetch_add(&own.second, 1);
    }
}

static void atomic_pairs_shared(unsigned int count)
{
    for (unsigned int i = 0; i < count; i++) {
        rtrcu_fetch_add(&both, 1);
        rtrcu_fetch_add(&both, (uint64_t)-1);
    }
}

static void lock_pairs(unsigned int count)
{
    for (unsigned int i = 0; i < count; i++) {
        pthread_rwlock_rdlock(&lock_alone);
        pthread_rwlock_unlock(&lock_alone);
    }
}

static void lock_pairs_shared(unsigned int count)
{
    for (unsigned int i = 0; i < count; i++) {
        pthread_rwlock_rdlock(&lock_shared);
        pthread_rwlock_unlock(&lock_shared);
    }
}

static void synchronize(unsigned int count)
{
    for (unsigned int i = 0; i < count; i++)
        synchronize_srcu(&alone);
}

static void synchronize_shared(unsigned int count)
{
    for (unsigned int i = 0; i < count; i++)
        synchronize_srcu(&shared);
}

static void synchronize_native(unsigned int count)
{
    for (unsigned int i = 0; i < count; i++)
        synchronize_rcu();
}

static void membarriers(unsigned int count)
{
    for (unsigned int i = 0; i < count; i++)
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static void nothing(struct rcu_head *head)
{
    (void)head;
}

// Queue a callback and wait until it has returned.
static void call_and_wait(unsigned int count)
{
    static struct rcu_head head;
    for (unsigned int i = 0; i < count; i++) {
        call_srcu(&alone, &head, nothing);
        srcu_barrier(&alone);
    }
}

struct replaced {
    struct rcu_head head; // first
    int value;
};

static void free_replaced(struct rcu_head *head)
{
    free(head);
}

// Replace a value; at the end of the block wait until all old values have been freed.
static void updates_of(struct srcu_struct *domain, struct replaced **current, unsigned int count)
{
    for (unsigned int i = 0; i < count; i++) {
        struct replaced *old = rcu_xchg_pointer(current, calloc(1, sizeof(struct replaced)));
        if (old)
            call_srcu(domain, &old->head, free_replaced);
    }
    srcu_barrier(domain);
}

static void updates(unsigned int count)
{
    static struct replaced *current;
    updates_of(&alone, &current, count);
}

static void updates_shared(unsigned int count)
{
    static struct replaced *current;
    updates_of(&shared, &current, count);
}

// ---- the thread on the other CPU ----

typedef void work_t(unsigned int count);
static work_t *beside; // atomic, as the two variables below
static uint64_t beside_blocks;
static bool stop;

#define BESIDE_BLOCK 16

static void *run_beside(void *unused)
{
    (void)unused;
    bind_to(1);
    while (!rtrcu_load_relaxed(&stop)) {
        work_t *work = rtrcu_load_relaxed(&beside);
        if (work)
            work(BESIDE_BLOCK);
        else
            usleep(1000);
        rtrcu_count_add(&beside_blocks, 1);
    }
    return NULL;
}

// ---- the table ----

struct side {
    const char *name;
    work_t *work;
    work_t *beside;
    double bar; // the largest allowed ratio of the first side's time to this side's; 0 = no bar
};

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median(double *values, unsigned int count)
{
    qsort(values, count, sizeof(*values), compare);
    return count ? values[count / 2] : 0;
}

// Run a block; returns the nanoseconds of one operation, or -1 if the thread on the other CPU has not run.
static double block(const struct side *side, unsigned int count)
{
    rtrcu_store_relaxed(&beside, side->beside);
    if (side->beside) {
        for (uint64_t before = rtrcu_load_relaxed(&beside_blocks); rtrcu_load_relaxed(&beside_blocks) < before + 4;)
            sched_yield();
    }
    uint64_t before = rtrcu_load_relaxed(&beside_blocks);
    double began = now_ns();
    side->work(count);
    double took = now_ns() - began;
    bool ran = !side->beside || rtrcu_load_relaxed(&beside_blocks) > before;
    return ran ? took / count : -1;
}

#define SIDES_MAX 8

static void figure(const char *name, const struct side *sides, unsigned int count, unsigned int rounds)
{
    static double values[SIDES_MAX][ROUNDS_MAX];
    unsigned int used[SIDES_MAX] = {0}, number = 0;
    while (sides[number].name)
        number++;
    for (unsigned int round = 0; round < rounds; round++) {
        for (unsigned int i = 0; i < number; i++) {
            double value = block(&sides[i], count);
            if (value >= 0)
                values[i][used[i]++] = value;
        }
    }
    rtrcu_store_relaxed(&beside, (work_t *)NULL);

    double ours = median(values[0], used[0]);
    printf("%-34s %-22s %9.1f ns  (%u blocks)\n", name, sides[0].name, ours, used[0]);
    for (unsigned int i = 1; i < number; i++) {
        double theirs = median(values[i], used[i]);
        printf("%-34s %-22s %9.1f ns  ratio %5.2f", "", sides[i].name, theirs, ours / theirs);
        if (sides[i].bar != 0)
            printf("  bar %.2f %s", sides[i].bar, ours / theirs <= sides[i].bar ? "held" : "missed");
        printf("\n");
    }
}

// ---- a reader that sleeps inside its section ----

static bool asleep; // atomic

static void *sleep_inside(void *unused)
{
    (void)unused;
    int index = srcu_read_lock(&held);
    rtrcu_store_relaxed(&asleep, true);
    while (!rtrcu_load_relaxed(&stop))
        usleep(10000);
    srcu_read_unlock(&held, index);
    return NULL;
}

// ---- a thousand domains ----

// Returns the number of voluntary context switches of the thread of that name, which are its wake-ups.
static long wakeups(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    long found = -1;
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300], line[200] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
        FILE *file = fopen(path, "r");
        bool is_it = file && fgets(line, sizeof(line), file) && strstr(line, name);
        while (is_it && fgets(line, sizeof(line), file))
            (void)sscanf(line, "voluntary_ctxt_switches: %ld", &found);
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

static void thousand(void)
{
    static struct srcu_struct domains[1000];
    for (int i = 0; i < 1000; i++) {
        (void)init_srcu_struct(&domains[i]);
        synchronize_srcu(&domains[i]);
    }
    usleep(100000);
    long before = wakeups("rtrcu-srcu");
    sleep(2);
    printf("%-34s %zu bytes each, %ld wake-ups in 2 s\n", "1,000 domains, idle", sizeof(domains[0]),
           wakeups("rtrcu-srcu") - before);
}

static void figures_of_replacing(unsigned int rounds)
{
    const struct side replacing[] = {{"call_srcu", updates, NULL, 0},
                                     {"liburcu-bp", bp_updates, NULL, 0},
                                     {"atomic shared_ptr", counted_updates, NULL, 0},
                                     {0}};
    figure("replace a value and free the old", replacing, 10000, rounds);
    const struct side beside_replacing[] = {{"call_srcu", updates_shared, srcu_pairs_shared, 0},
                                            {"liburcu-bp", bp_updates, bp_pairs, 0},
                                            {"atomic shared_ptr", counted_updates_shared, counted_pairs_shared, 0},
                                            {0}};
    figure("replace a value, beside a busy reader", beside_replacing, 10000, rounds);
}

int main(int argc, char **argv)
{
    unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 2000;
    rounds = rounds < 1 || rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    bind_to(0);
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    pthread_t thread, reader;
    pthread_create(&thread, NULL, run_beside, NULL);

    const struct side pairs[] = {{"srcu", srcu_pairs, NULL, 0},
                                 {"two atomic additions", atomic_pairs, NULL, 1.1},
                                 {"rwlock", lock_pairs, NULL, 0.6},
                                 {"liburcu-bp", bp_pairs, NULL, 0},
                                 {"atomic shared_ptr", counted_pairs, NULL, 0},
                                 {"empty loop", none_pairs, NULL, 0},
                                 {0}};
    figure("lock and unlock, alone", pairs, 1000, rounds);
    const struct side beside_pairs[] = {{"srcu", srcu_pairs_shared, srcu_pairs_shared, 0},
                                        {"two atomic additions", atomic_pairs_shared, atomic_pairs_shared, 0.3},
                                        {"rwlock", lock_pairs_shared, lock_pairs_shared, 0.6},
                                        {"liburcu-bp", bp_pairs, bp_pairs, 0},
                                        {"atomic shared_ptr", counted_pairs_shared, counted_pairs_shared, 0},
                                        {0}};
    figure("lock and unlock, beside a busy reader", beside_pairs, 1000, rounds);
    const struct side waits[] = {{"synchronize_srcu", synchronize, NULL, 0},
                                 {"one membarrier call", membarriers, NULL, 1},
                                 {"synchronize_rcu", synchronize_native, NULL, 0},
                                 {"liburcu-bp", bp_synchronize, NULL, 0},
                                 {0}};
    figure("wait, alone", waits, 20, rounds);
    const struct side beside_waits[] = {{"synchronize_srcu", synchronize_shared, srcu_pairs_shared, 0},
                                        {"one membarrier call", membarriers, srcu_pairs_shared, 1},
                                        {"liburcu-bp", bp_synchronize, bp_pairs, 0},
                                        {0}};
    figure("wait, beside a busy reader", beside_waits, 20, rounds);

    figures_of_replacing(rounds / 10);

    const struct side calls[] = {{"call_srcu, srcu_barrier", call_and_wait, NULL, 0}, {0}};
    figure("no section held", calls, 20, rounds / 10);
    pthread_create(&reader, NULL, sleep_inside, NULL);
    while (!rtrcu_load_relaxed(&asleep))
        sched_yield();
    static struct rcu_head waiting;
    call_srcu(&held, &waiting, nothing);
    figure("a reader asleep in another domain", waits, 20, rounds);
    figure("a reader asleep in another domain", calls, 20, rounds / 10);
    rtrcu_store_relaxed(&stop, true);
    pthread_join(reader, NULL);
    pthread_join(thread, NULL);
    srcu_barrier(&held);
    thousand();
    return 0;
}
