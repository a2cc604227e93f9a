/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A reader that leaves wakes the grace period that sleeps for it, whether its read side is inlined, called, or from
 * this library's replacement headers: the futex shows it immediately.
 * A grace period also polls from time to time, so the futex may be found in either state.  The majority of the rounds
 * decides. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include HEADER

#include "dropin.h"

#define ROUNDS 40
#define ENOUGH 30

/* The data that every program of a flavour has compiled in. */
struct gp {
    unsigned long generation;
    uint32_t futex;
};

static struct gp *gp;
static int asked, passed;

static void *updater(void *unused)
{
    (void)unused;
    for (int round = 1; round <= 3 * ROUNDS; round++) {
        while (rtrcu_load_acquire(&asked) < round)
            sched_yield();
        synchronize_rcu();
        rtrcu_store_release(&passed, round);
    }
    return NULL;
}

static int rounds_that_wake(const struct side *side)
{
    int woken = 0;
    for (int i = 0; i < ROUNDS; i++) {
        side->enter();
        int round = asked + 1;
        rtrcu_store_release(&asked, round);
        while (rtrcu_load_acquire(&gp->futex) != UINT32_MAX)
            sched_yield();
        side->leave();
        side->quiescent();
        woken += rtrcu_load_acquire(&gp->futex) != UINT32_MAX;
        while (rtrcu_load_acquire(&passed) < round) {
            side->quiescent();
            sched_yield();
        }
    }
    return woken;
}

int main(void)
{
    static const char *const names[] = {"urcu_memb_gp", "urcu_mb_gp", "urcu_qsbr_gp"};
    pthread_t thread;
    expect_ours();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !gp; i++)
        gp = dlsym(RTLD_DEFAULT, names[i]);
    EXPECT(gp);
    rcu_register_thread();
    EXPECT(pthread_create(&thread, NULL, updater, NULL) == 0);
    int by_inlined = rounds_that_wake(&inlined), by_called = rounds_that_wake(&called);
    int by_own = rounds_that_wake(&own);
    rcu_unregister_thread();
    pthread_join(thread, NULL);
    printf("of %d rounds %d, %d and %d wake\n", ROUNDS, by_inlined, by_called, by_own);
    EXPECT(by_inlined >= ENOUGH && by_called >= ENOUGH && by_own >= ENOUGH);
    return 0;
}
